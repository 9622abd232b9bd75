//! The memory gate: memory is watched, not booked.
//!
//! - `gate`: latch, line, drain, floor: who may go;
//! - `curve`: the delay between two releases, and the penalty for growth.
//!
//! Invariants: those of `gate`. The monitor asks the gate before every account, for jobs that
//! declared resources; an orchestrator's empty demand never meets it.
//!
//! Not here: probes and the sampler (`nucleo-harness`).

mod curve;
mod gate;

pub(crate) use gate::{Ask, MemoryGate};
pub use gate::{MemoryStatus, Zone};
