//! Watching memory: probes, and the one task that samples them for the gate.
//!
//! - [`MemoryProbe`]: what can be read; [`LiveBytes`], [`Cgroup`], [`Resident`], [`Machine`] read it,
//!   [`Tightest`] takes the highest share of several, [`FakeProbe`] says what a test told it;
//! - [`MemoryWatch`]: a probe, a profile and a way to trim, handed to
//!   [`Admission::watch_memory`](crate::admission::Admission::watch_memory);
//! - `sampler`: the task.
//!
//! Invariants: a question to the gate reads the stored sample, never a probe; a probe is read and the
//! allocator trimmed outside the lock; nobody reads while nothing runs, nothing waits and the gate is
//! green.
//!
//! Not here: what follows from a sample (`nucleo_core::memory`), counting what is allocated
//! (`nucleo_alloc`).

mod cgroup;
mod files;
mod probe;
mod process;
mod sampler;
mod watch;

pub use cgroup::Cgroup;
pub use nucleo_core::memory::{MemoryProfile, MemoryStatus, Reading, Signal, Zone};
pub use probe::{FakeProbe, LiveBytes, MemoryProbe, ProbeError, Tightest};
pub use process::{Machine, Resident};
pub(crate) use sampler::Sampler;
pub use watch::MemoryWatch;
