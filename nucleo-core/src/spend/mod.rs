//! Spend: what a call costs, and the wall that a cap is.
//!
//! The balance law, for each scope and its cap's currency: `spent + committed + mine <= cap`,
//! equal allowed. Check and commitment are one step for all scopes of an attempt, all or none, so a
//! fan-out can't overshoot, however many threads ask. What is left is bounded and per call: what a
//! provider bills past the reservation, booked all the same and told as [`Overspent`].
//!
//! [`Price`] turns tokens into money. [`Ledger`] is the state machine: inputs are its methods;
//! after each, [`Ledger::poll`] is drained for the waiters that it decided.
//!
//! Not here: waiting, wakers and locks (`nucleo-harness`, `spend`), catalogs (`nucleo-agents`),
//! quotas (`admission`), calendars (the shell says when a day begins), conversion of currencies
//! (nowhere, by design).

mod ask;
mod caps;
mod ledger;
mod line;
mod price;
mod refusal;
mod scope;
mod slab;
#[cfg(test)]
mod tests;
mod totals;

pub use ask::{Ask, Booked, Booking, Decision, NearCap, Outcome, Overspent, Stop};
pub use caps::{AlreadyOpen, Position, UnknownScope, WorkflowClosing};
pub use ledger::{CommitmentId, Ledger};
pub use line::WaitId;
pub use price::{Price, PriceError, Rate, Rates};
pub use refusal::{REFUSALS_KEPT, RefusalLog, RefusalReason, SpendRefusal};
pub use scope::{ScopeId, ScopeName};
pub use totals::{CLOSED_KEPT, NAMES_KEPT, Of, Totals};
