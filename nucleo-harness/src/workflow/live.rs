//! The jobs of a workflow that have not ended: who, where, since when.
//!
//! Invariants: a job is here from the taking of its place to its end, whatever ends it; one whose
//! work outlives its end stays until that work is gone.
//!
//! Not here: why it waits (`admission`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use nucleo_core::admission::WhyWaiting;
use nucleo_core::{JobId, Span, Time};
use serde::Serialize;

use crate::attempt::Step;

/// A job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveJob {
    /// The job.
    pub job: JobId,
    /// Who runs it.
    pub agent: Arc<str>,
    /// The number of its present attempt, from 1.
    pub attempt: u32,
    /// Attempts that were granted so far.
    pub attempts: u32,
    /// Where it is.
    pub step: Step,
    /// Since when it is there.
    pub since: Time,
    /// What it waits on there.
    pub waits_on: WaitsOn,
    /// Work of an attempt that is over still runs on a thread, with what that was granted: of the
    /// last one, if the job has ended, else of an earlier one.
    pub outlived: bool,
}

/// What a job that has not ended waits on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsOn {
    /// Nothing: it is being worked on here.
    #[default]
    Nothing,
    /// The ends of these jobs and agents.
    Jobs(Vec<JobId>),
    /// Money: that siblings settle for less than they reserved.
    Siblings,
    /// Its place in the line; [`Workflow::why_waiting`](super::Workflow::why_waiting) says why.
    Line,
    /// The answer of these models, or, without any, its own work.
    Answer(Vec<Arc<str>>),
    /// The end of a pause before it is tried again.
    Pause {
        /// When that is.
        until: Time,
    },
}

impl fmt::Display for WaitsOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Jobs(jobs) => write!(f, "the end of {}", Listed(jobs)),
            Self::Siblings => f.write_str("money that siblings hold"),
            Self::Line => f.write_str("its place in the line"),
            Self::Answer(models) if models.is_empty() => f.write_str("its own work"),
            Self::Answer(models) => write!(f, "an answer of {}", Listed(models)),
            Self::Pause { .. } => f.write_str("the end of its pause"),
        }
    }
}

struct Listed<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, one) in self.0.iter().enumerate() {
            write!(f, "{}{one}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A job that has not ended, as it stands now; prints as one sentence: who, which attempt, what it
/// waits on, since when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The job.
    #[serde(flatten)]
    pub live: LiveJob,
    /// For how long it has been where it is.
    pub stands: Span,
    /// Why it waits in the line, if it does.
    pub line: Option<WhyWaiting>,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LiveJob { job, agent, attempt, step, waits_on, outlived, .. } = &self.live;
        write!(f, "{agent} ({job}), attempt {attempt}: ")?;
        if *step == Step::Ended {
            return write!(f, "over, and its work goes on for {}", self.stands);
        }
        match &self.line {
            Some(why) => write!(f, "waits for {why}, for {}", self.stands)?,
            None => write!(f, "waits for {waits_on}, for {}", self.stands)?,
        }
        f.write_str(if *outlived { ", and work of an attempt before goes on" } else { "" })
    }
}

/// All of them, by job.
pub(crate) type LiveJobs = BTreeMap<JobId, LiveJob>;
