//! The vocabulary of nucleo and its decisions: who may go when, and what may be spent.
//!
//! Everything here is a value or a pure state machine: inputs are methods, outputs are polled, time
//! is an argument. There is no clock, no I/O, no async and no randomness in this crate, so every
//! decision can be replayed from its inputs.
//!
//! Not here: running anything (`nucleo-harness`), prompts and providers (`nucleo-agents`).
#![forbid(unsafe_code)]

mod id;
mod money;
mod time;
mod tokens;

pub use id::{AttemptKey, JobId, WorkflowId};
pub use money::{Currency, CurrencyMismatch, Money, MoneyError, PICO, parse_pico};
pub use time::{Span, Time};
pub use tokens::{Reserved, Usage};
