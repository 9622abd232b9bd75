//! What happens to workflows and jobs, as versioned events for a journal.
//!
//! Invariants: an event is given to the journal before its effect is visible to others; a run is a
//! fold over its events; a version is never given a second meaning.
//!
//! Not here: keeping them (a [`Journal`] does; none is the default), limiter events (admission).

use std::fmt;
use std::sync::Arc;

use nucleo_core::{JobId, Money, Time, WorkflowId};
use serde::{Deserialize, Serialize};

use crate::attempt::{Step, StepEvent};

/// The version of every event's form.
pub const EVENT_VERSION: u32 = 2;

/// One event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The form's version, [`EVENT_VERSION`].
    pub version: u32,
    /// When, by the runtime's clock.
    pub at: Time,
    /// The workflow.
    pub workflow: WorkflowId,
    /// What.
    pub what: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A workflow began.
    WorkflowStarted {
        /// Its name.
        name: Arc<str>,
        /// Its cap.
        cap: Option<Money>,
    },
    /// A job took its place in the tree.
    JobStarted {
        /// The job.
        job: JobId,
        /// Whose child it is.
        parent: JobId,
        /// Who runs it.
        agent: Arc<str>,
        /// What it depends on. Without any it begins at [`Step::Preparing`], else at
        /// [`Step::Waiting`].
        after: Vec<JobId>,
    },
    /// A job went on.
    JobStepped {
        /// The job.
        job: JobId,
        /// What happened.
        event: StepEvent,
        /// Where it is now.
        step: Step,
    },
    /// A job's attempt is over, and work of it goes on, on a thread that can't be stopped; what it
    /// was granted comes back when that ends.
    JobOutlived {
        /// The job.
        job: JobId,
    },
    /// A workflow was cancelled.
    WorkflowCancelled,
}

/// Keeps events. The default is none.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Takes one event in, before its effect is visible. Panicking is no way to refuse one: the
    /// panic is logged with the event, and the run goes on.
    fn record(&self, event: &Event);
}
