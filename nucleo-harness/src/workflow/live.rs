//! The jobs of a workflow that have not ended: who, where, since when.
//!
//! Invariants: a job is here from the taking of its place to its end, whatever ends it.
//!
//! Not here: why it waits (`admission`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_core::{JobId, Time};
use serde::Serialize;

use crate::attempt::Step;

/// A job that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveJob {
    /// The job.
    pub job: JobId,
    /// Who runs it.
    pub agent: Arc<str>,
    /// Attempts that were granted so far.
    pub attempts: u32,
    /// Where it is.
    pub step: Step,
    /// Since when it is there.
    pub since: Time,
}

/// All of them, by job.
pub(crate) type LiveJobs = BTreeMap<JobId, LiveJob>;
