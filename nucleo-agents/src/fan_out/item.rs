//! What became of one input.
//!
//! Invariants: `refused` is what ended in an error after the money wall refused one of its calls,
//! whatever the agent made of that error; what admission refuses is `failed`.
//!
//! Not here: counting (`report`).

use std::error::Error;
use std::sync::Arc;

use nucleo_core::spend::SpendRefusal;
use nucleo_harness::attempt::{JobError, JobRecord, chain};

use crate::agent::AgentError;

/// What became of one input.
#[derive(Debug)]
#[non_exhaustive]
pub struct Item<In, Out> {
    /// The input's number, from 0.
    pub index: usize,
    /// The input itself, for the rest to go on with.
    pub input: In,
    /// The answer, or why there is none.
    pub result: Result<Out, ItemError>,
    /// Whether it was answered, failed or refused.
    pub status: ItemStatus,
    /// What its calls waited, used and cost.
    pub record: JobRecord,
}

/// What became of an input, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// The agent answered.
    Answered,
    /// The agent failed.
    Failed,
    /// The money wall refused a call, and the agent did not cope.
    Refused,
}

/// Why an input has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ItemError {
    /// The agent's own error.
    #[error("{0}")]
    Agent(Arc<dyn Error + Send + Sync>),
    /// The agent panicked.
    #[error("panicked: {0}")]
    Panicked(Arc<str>),
    /// It was cancelled, with its workflow or by `fail_fast`.
    #[error("cancelled")]
    Cancelled,
}

impl ItemError {
    /// The refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&SpendRefusal> {
        self.job_error().and_then(JobError::refusal)
    }

    /// The job's error that the agent handed on, if it did.
    #[must_use]
    pub fn job_error(&self) -> Option<&JobError> {
        let Self::Agent(error) = self else {
            return None;
        };
        match error.downcast_ref::<AgentError>() {
            Some(AgentError::Job(error)) => Some(error),
            _ => error.downcast_ref::<JobError>(),
        }
    }

    /// The agent's own error, if it is of this type.
    #[must_use]
    pub fn agent_error<E: Error + 'static>(&self) -> Option<&E> {
        let Self::Agent(error) = self else {
            return None;
        };
        match error.downcast_ref::<AgentError>() {
            Some(AgentError::Other(inner)) => inner.downcast_ref(),
            _ => error.downcast_ref(),
        }
    }

    /// The name that results and reports print.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Agent(_) => self.job_error().map_or("agent", JobError::name),
            Self::Panicked(_) => "panicked",
            Self::Cancelled => "cancelled",
        }
    }

    /// The whole chain of causes as one line.
    #[must_use]
    pub fn chain(&self) -> String {
        let Self::Agent(error) = self else {
            return self.to_string();
        };
        chain(&**error)
    }
}
