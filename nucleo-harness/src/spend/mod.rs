//! The money wall, running: gates that are asked before admission, and the ledger behind a lock.
//!
//! [`CostLedger`] is the local gate: it decides in one poll, and makes a caller wait only for its
//! siblings. [`Gates`] asks several in order. What a gate gives is a [`Commitment`]: alive means
//! committed, dropped means released, settled means booked.
//!
//! Not here: the law and the figures (`nucleo_core::spend`), when an attempt asks (`attempt`).

mod approve;
mod gate;
mod gates;
mod ledger;
#[cfg(test)]
#[cfg(not(feature = "__shuttle"))]
mod tests;

pub use gate::{Approval, Commitment, CommitmentHolder, SpendError, SpendGate};
pub use gates::Gates;
pub use ledger::CostLedger;
