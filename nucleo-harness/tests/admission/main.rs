//! The async shell of admission: who is woken, when, and what comes back.
//!
//! Where to look: `hand` polls futures by hand at a clock that stands still, and asserts each
//! wake-up; `clock` runs the timer task on a paused clock; `defect` breaks the monitor; `crowd`
//! runs many tasks on several threads. The lock itself is walked by `shuttle_admission`.
#![cfg(not(feature = "__shuttle"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod clock;
mod crowd;
mod defect;
mod hand;
mod waiter;
