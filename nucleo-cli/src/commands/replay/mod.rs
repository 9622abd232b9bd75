//! `nucleo replay`: a recorded workload through the runtime, over real HTTP, against the loopback
//! provider.
//!
//! Each row is a call with as many input tokens as the row says, answered with its output tokens. The
//! summary tells how close the whole came to the bound that the quotas set.
//!
//! - `replaying`: the run; `job`: a row as it is sent; `trace`: the file; `summary`: what is told; `bound`: the bound; `memory`: the process's peak.
//!
//! Invariants: rows are sent at their recorded instants, scaled, or all at once; every row is told.
//!
//! Not here: the loopback provider (`nucleo_agents::providers::loopback`).

mod bound;
mod job;
mod memory;
mod replaying;
mod summary;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use replaying::run;
