//! What the runtime below us provides: time.
//!
//! Invariants: no other folder of this crate reads a clock.
//!
//! Not here: locks (`sync`), tasks (`attempt`).

mod clock;

pub use clock::{Clock, ManualClock, TokioClock};
