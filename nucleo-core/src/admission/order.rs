//! The order of the line, and the names of those who stand in it.
//!
//! Invariants: orders are unique within a monitor, because the arrival number is part of each; a
//! retry that keeps its order stands where its first attempt stood.
//!
//! Not here: which tag an arrival gets (`monitor`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// A place in the line: smaller goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Order {
    /// The start tag of fair queuing; zero under first come, first served.
    pub(crate) tag: u64,
    /// The arrival number.
    pub(crate) number: u64,
}

/// One waiter or one grant of a monitor, from its submission until it is settled or leaves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl Ticket {
    /// A small number that no other living ticket of the same monitor has: for tables beside it.
    #[must_use]
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ticket {}.{}", self.slot, self.generation)
    }
}
