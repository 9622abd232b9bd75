//! What the runtime below us provides: time, and the tasks that wait for it.
//!
//! Invariants: no other folder of this crate reads a clock.
//!
//! Not here: locks (`sync`), tasks (`attempt`).

mod blocking;
mod clock;
mod timer;

pub(crate) use blocking::{Lost, off_thread, on_thread};
pub(crate) use clock::http_date;
pub use clock::{Clock, ManualClock, TokioClock, system_wall};
pub(crate) use timer::{Bell, NextTurn, Turn, start as start_turns};
