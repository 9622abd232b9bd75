//! Agents: async fns that hold nothing and whose calls are jobs.
//!
//! - [`Agent`]: what counts as one; [`AgentContext`]: what it is given; [`AgentError`]: how it fails;
//! - [`Submission`], [`AgentHandle`]: agents that run by themselves, after others;
//! - [`race`], [`vote`], [`pipeline`]: helpers of composition.
//!
//! Invariants: composition is plain code: a loop, `join!`, [`AgentContext::run`] for a child.
//!
//! Not here: many of them at once (`fan_out`), asking a model (`call`).

mod compose;
mod context;
mod contract;
mod ending;
mod error;
mod submit;

pub use compose::{NobodyAnswered, Pipeline, Vote, pipeline, race, vote};
pub use context::AgentContext;
pub(crate) use context::{Deeds, Runs};
pub use contract::Agent;
pub(crate) use ending::{flatten, until_cancelled};
pub use error::AgentError;
pub use submit::{AgentEnd, AgentHandle, Submission};
