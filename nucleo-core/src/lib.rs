//! The vocabulary of nucleo and its decisions: who may go when, and what may be spent.
//!
//! Everything here is a value or a pure state machine: inputs are methods, outputs are polled, time
//! is an argument. There is no clock, no I/O, no async and no randomness in this crate, so every
//! decision can be replayed from its inputs.
//!
//! - [`admission`]: the monitor, the one place where a job waits;
//! - [`limits`]: the accounts; [`memory`]: the gate before them;
//! - [`spend`]: the money wall;
//! - [`plan`]: the same monitor in virtual time.
//!
//! Not here: running anything (`nucleo-harness`), prompts and providers (`nucleo-agents`).
#![forbid(unsafe_code)]

mod account;
pub mod admission;
mod demand;
mod error;
mod event;
mod id;
pub mod limits;
pub mod memory;
mod money;
pub mod plan;
pub mod spend;
mod time;
mod tokens;

pub use account::{Account, AccountId, AccountState, Horizon, Kind, Reason, Verdict};
pub use admission::{Action, Admitted, Charge, Monitor, Order, Settlement, Ticket, WaitedOn};
pub use demand::{Demand, MAX_WAIT_DEFAULT, Need};
pub use error::AdmitError;
pub use event::{LimiterEvent, LimiterWhat};
pub use id::{AttemptKey, JobId, WorkflowId};
pub use money::{Currency, CurrencyMismatch, Money, MoneyError, PICO, parse_pico};
pub use time::{Span, Time};
pub use tokens::{Reserved, Usage};
