//! What the runtime below us provides: time, and the one task that waits for it.
//!
//! Invariants: no other folder of this crate reads a clock.
//!
//! Not here: locks (`sync`), tasks (`attempt`).

mod clock;
mod timer;

pub use clock::{Clock, ManualClock, TokioClock, system_wall};
pub(crate) use timer::{Bell, NextTurn, start as start_timer};
