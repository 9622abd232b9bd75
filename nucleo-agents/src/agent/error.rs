//! How an agent fails.
//!
//! Invariants: what the runtime refused stays told apart from what the agent itself found wrong;
//! nothing here carries a prompt, an answer or a key.
//!
//! Not here: a job's failure in detail (`nucleo_harness::attempt::JobError`).

use std::error::Error;

use nucleo_core::spend::SpendRefusal;
use nucleo_harness::attempt::JobError;

use crate::call::TooManyTurns;

/// Why an agent has no answer. Any error type does; with this one, other errors are wrapped:
/// `std::fs::read_to_string(path).map_err(AgentError::other)?`. An agent that returns
/// `Result<_, Box<dyn Error + Send + Sync>>` takes everything with a plain `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// One of its calls ended without an answer.
    #[error(transparent)]
    Job(JobError),
    /// A model went on calling tools and gave no answer.
    #[error(transparent)]
    Turns(TooManyTurns),
    /// Something of the agent's own.
    #[error(transparent)]
    Other(Box<dyn Error + Send + Sync>),
}

impl AgentError {
    /// An error of the agent's own.
    ///
    /// ```
    /// use nucleo_agents::prelude::*;
    /// assert_eq!(AgentError::other("no such order").to_string(), "no such order");
    /// ```
    pub fn other(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }

    /// The whole chain of causes as one line: what to print. `Display` alone says only the outermost.
    #[must_use]
    pub fn chain(&self) -> String {
        nucleo_harness::attempt::chain(self)
    }

    /// The refusal, if the money wall refused a call.
    #[must_use]
    pub const fn refusal(&self) -> Option<&SpendRefusal> {
        match self {
            Self::Job(error) => error.refusal(),
            Self::Turns(_) | Self::Other(_) => None,
        }
    }
}

impl From<JobError> for AgentError {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}
