//! Agents: async fns that hold nothing and whose calls are jobs.
//!
//! - [`Agent`]: what counts as one; [`AgentContext`]: what it is given; [`AgentError`]: how it fails.
//!
//! Invariants: composition is plain code: a loop, `join!`, [`AgentContext::run`] for a child.
//!
//! Not here: many of them at once (`fan_out`), asking a model (`call`).

mod context;
mod contract;
mod error;

pub use context::AgentContext;
pub(crate) use context::Deeds;
pub use contract::Agent;
pub use error::AgentError;
