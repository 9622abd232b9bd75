//! What the monitor has decided.
//!
//! Invariants: every submitted demand gets one action, unless it leaves first; an action that nobody
//! carries out strands its waiter.
//!
//! Not here: deciding (`decide`).

use super::super::attribution::WaitedOn;
use super::super::order::{Order, Ticket};
use crate::error::AdmitError;
use crate::time::Span;

/// What the monitor has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision that nobody carries out strands its waiter"]
pub enum Action {
    /// Granted: all it asked for is taken.
    Admit(Admitted),
    /// Refused: nothing is taken, and the ticket is over.
    Reject(Ticket, AdmitError),
}

/// A grant, as the monitor tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Whose.
    pub ticket: Ticket,
    /// How long it waited.
    pub waited: Span,
    /// What it waited on.
    pub waited_on: WaitedOn,
    /// The place it had, for a retry to keep.
    pub order: Order,
}

impl Action {
    /// Whom it concerns.
    #[must_use]
    pub const fn ticket(&self) -> Ticket {
        match self {
            Self::Admit(admitted) => admitted.ticket,
            Self::Reject(ticket, _) => *ticket,
        }
    }
}
