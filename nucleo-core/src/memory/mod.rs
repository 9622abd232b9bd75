//! The memory gate: memory is watched, not booked.
//!
//! - [`Reading`]: what a probe says; [`MemoryStatus`], [`Zone`]: how the gate stands;
//!   [`MemoryProfile`]: how careful it is;
//! - `gate`: latch, line, drain, floor: who may go;
//! - `curve`: the delay between two releases, and the penalty for growth;
//! - `growth`: what jobs add, learnt or stated, and expected before it shows.
//!
//! Invariants: those of `gate`. The monitor asks the gate before every account, for jobs that
//! declared resources; an orchestrator's empty demand never meets it.
//!
//! Not here: probes and the sampler (`nucleo-harness`).

mod curve;
mod gate;
#[cfg(test)]
mod gate_tests;
mod growth;
mod reading;
mod status;

pub(crate) use gate::{Ask, MemoryGate};
pub use reading::{Reading, Signal};
pub use status::{MemoryProfile, MemoryStatus, Zone};
