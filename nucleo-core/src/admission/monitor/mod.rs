//! The monitor: accounts, line and memory gate as one pure state machine.
//!
//! Inputs are methods ([`Monitor::submit`], [`Monitor::leave`], [`Monitor::settle`], …), outputs are
//! polled. The driving contract, once: *after any input, call [`Monitor::poll`] until it says
//! `None`; then wait for the next input or for [`Monitor::poll_timeout`], whichever is earlier, and
//! poll again.* A late or repeated poll is harmless.
//!
//! Invariants:
//! - a demand is granted whole or holds nothing: all accounts are asked before any is taken;
//! - the head's whole demand is set aside on every account it names, so nobody takes what the head
//!   waits for; a follower goes past it only when it fits beside that;
//! - a demand larger than an account can ever hold, and one on an account that refuses everyone, is
//!   refused and never waits;
//! - at rest, nothing held implies that nobody waits.
//!
//! - `state`: what it is made of; `action`: what comes out; `inputs`: what happens to it;
//!   `tuning`: accounts that change while it runs; `decide`: the rule; `sharing`: protection;
//!   `seeing`: why one waits; `memory`: where the memory gate is asked.
//!
//! Not here: locks, wake-ups, clocks (`nucleo-harness`); the search (`index`).

mod action;
mod decide;
mod inputs;
mod memory;
mod seeing;
mod sharing;
mod state;
mod tuning;

pub use action::{Action, Admitted};
pub use seeing::{AccountView, ShortOf, WhyWaiting};
pub use state::Monitor;
pub use tuning::Learnt;
