//! Runs what `nucleo-core` decides: admission, spend, attempts and workflows, on tokio.
//!
//! Invariants: a job holds nothing while it waits; what it holds is a value with one owner; every
//! handle resolves once, after everything is settled. Decisions are the core's.
//!
//! Not here: prompts, models, providers (`nucleo-agents`); the rules themselves (`nucleo-core`).
#![forbid(unsafe_code)]

pub mod admission;
pub mod attempt;
pub mod memory;
pub mod runtime;
pub mod spend;
mod sync;
pub mod workflow;
