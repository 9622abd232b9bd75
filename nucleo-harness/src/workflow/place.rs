//! A job's place in its workflow's tree.
//!
//! Invariants: a place is registered among the live jobs from its making to its drop, which is after
//! the settlement of whatever still ran; its steps follow the law of [`Step`], each is given to the
//! journal first, and the last is always the end.
//!
//! Not here: what the job does (`attempt`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nucleo_core::{JobId, Time, WorkflowId};
use tokio_util::sync::CancellationToken;

use super::event::EventKind;
use super::harness::Harness;
use super::live::{LiveJob, WaitsOn};
use super::tree::State;
use crate::attempt::{JobError, Step, StepEvent};

/// One job's place.
#[derive(Debug)]
pub(crate) struct Place {
    state: Arc<State>,
    job: JobId,
    cancel: CancellationToken,
    /// Attempts that are over and whose work is not gone.
    outliving: AtomicU32,
}

/// Who takes a place.
#[derive(Debug)]
pub(super) struct Newcomer {
    pub(super) job: JobId,
    pub(super) parent: JobId,
    pub(super) agent: Arc<str>,
    pub(super) after: Vec<JobId>,
    pub(super) cancel: CancellationToken,
}

impl Place {
    pub(super) fn take(state: Arc<State>, newcomer: Newcomer) -> Self {
        let Newcomer { job, parent, agent, after, cancel } = newcomer;
        let started =
            EventKind::JobStarted { job, parent, agent: Arc::clone(&agent), after: after.clone() };
        state.record(started);
        let (step, waits_on) = match after.is_empty() {
            true => (Step::Preparing, WaitsOn::Nothing),
            false => (Step::Waiting, WaitsOn::Jobs(after)),
        };
        let since = state.harness().clock().now();
        let outlived = false;
        let live = LiveJob { job, agent, attempt: 1, attempts: 0, step, since, waits_on, outlived };
        state.live().lock().insert(job, live);
        Self { state, job, cancel, outliving: AtomicU32::new(0) }
    }

    pub(crate) fn harness(&self) -> &Harness {
        self.state.harness()
    }

    pub(crate) const fn job(&self) -> JobId {
        self.job
    }

    /// The workflow, its user and its scopes.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    pub(crate) fn workflow_id(&self) -> WorkflowId {
        self.state.id()
    }

    /// When the workflow has to be over, if it says so.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.state.deadline()
    }

    /// Fires when the job is cancelled, by itself or with its workflow.
    pub(crate) const fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }

    /// What a job that was cut off says: a shutdown cancels too.
    pub(crate) fn cancelled(&self) -> JobError {
        if self.harness().is_stopping() { JobError::ShutDown } else { JobError::Cancelled }
    }

    /// Goes on, to wait on this.
    ///
    /// # Panics
    /// When the law of the steps has no such step: a bug of the attempt's.
    pub(crate) fn step(&self, event: StepEvent, waits_on: WaitsOn) {
        let mut jobs = self.state.live().lock();
        let live = jobs.get_mut(&self.job).expect("a place is registered until it is dropped");
        let step = live.step.next(event).expect("the attempt follows the law of the steps");
        drop(jobs);
        self.state.record(EventKind::JobStepped { job: self.job, event, step });
        let now = self.harness().clock().now();
        let mut jobs = self.state.live().lock();
        let live = jobs.get_mut(&self.job).expect("a place is registered until it is dropped");
        live.step = step;
        live.since = now;
        live.attempts += u32::from(event == StepEvent::Granted);
        live.attempt += u32::from(event == StepEvent::Resumed);
        live.waits_on = waits_on;
    }

    /// Waits on this, where it is.
    pub(crate) fn waits_on(&self, waits_on: WaitsOn) {
        let mut jobs = self.state.live().lock();
        let live = jobs.get_mut(&self.job).expect("a place is registered until it is dropped");
        live.waits_on = waits_on;
    }

    /// The attempt is over, and its work is not gone.
    pub(crate) fn outlived(&self) {
        self.state.record(EventKind::JobOutlived { job: self.job });
        tracing::warn!(job = %self.job, "the attempt is over, and work of it goes on on a thread");
        let mut jobs = self.state.live().lock();
        let live = jobs.get_mut(&self.job).expect("a place is registered until it is dropped");
        self.outliving.fetch_add(1, Ordering::Relaxed);
        live.outlived = true;
    }

    /// The work that outlived its attempt is gone.
    pub(crate) fn work_gone(&self) {
        let mut jobs = self.state.live().lock();
        let live = jobs.get_mut(&self.job).expect("a place is registered until it is dropped");
        // Under the lock, as the counting above.
        live.outlived = self.outliving.fetch_sub(1, Ordering::Relaxed) > 1;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let step = self.state.live().lock().get(&self.job).map(|live| live.step);
        if step.is_some_and(|step| step != Step::Ended) {
            // Whoever waited for the job has dropped it; the run's events say so.
            self.step(StepEvent::Over, WaitsOn::Nothing);
        }
        self.state.live().lock().remove(&self.job);
    }
}
