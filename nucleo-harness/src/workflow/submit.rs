//! Jobs that run by themselves, after what they depend on, and whose ends many may look at.
//!
//! Invariants: a submitted job runs whether anybody waits for it or not; its end is told once and
//! kept as long as a handle is; what it depends on was submitted before it, so nothing waits in a
//! circle.
//!
//! Not here: running it (`attempt`), a call whose future is its only owner ([`Node::run`](super::Node::run)).

use std::sync::Arc;

use nucleo_core::JobId;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::place::{Newcomer, Place};
use super::told::{Told, to_be_told};
use super::tree::State;
use crate::attempt::{
    Dependency, DependencyError, Job, JobEnd, JobError, JobOptions, JobRecord, holder, run,
};

/// A job about to be started.
#[derive(Debug)]
#[must_use = "a submitted job begins with `start`"]
pub struct Submission<J> {
    state: Arc<State>,
    newcomer: Newcomer,
    options: JobOptions,
    after: Vec<Dependency>,
    job: J,
}

/// A job that runs by itself. Cheap to clone; dropping all handles leaves it running.
#[derive(Debug)]
pub struct JobHandle<Out> {
    job: JobId,
    cancel: CancellationToken,
    end: Told<JobEnd<Out>>,
}

impl<J> Submission<J> {
    pub(super) const fn new(
        state: Arc<State>,
        newcomer: Newcomer,
        options: JobOptions,
        job: J,
    ) -> Self {
        Self { state, newcomer, options, after: Vec::new(), job }
    }

    /// Begins when the other has answered; if that fails, this fails too, before it takes anything.
    pub fn after<Out: Send + Sync + 'static>(self, other: &JobHandle<Out>) -> Self {
        self.depends_on(other.dependency())
    }

    /// Begins when the other has ended, however it ended.
    pub fn after_end_of<Out: Send + Sync + 'static>(self, other: &JobHandle<Out>) -> Self {
        self.depends_on(other.dependency().tolerated())
    }

    /// Begins when this has ended.
    pub fn depends_on(mut self, dependency: Dependency) -> Self {
        self.newcomer.after.push(dependency.on());
        self.after.push(dependency);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(self) -> JobHandle<J::Out>
    where
        J: Job,
        J::Out: Sync,
    {
        let Self { state, newcomer, options, after, job } = self;
        let (id, cancel) = (newcomer.job, newcomer.cancel.clone());
        let (teller, end) = to_be_told();
        let tasks = state.harness().tasks().clone();
        let running = run(Place::take(state, newcomer), options, after, job);
        tasks.spawn(async move { teller.tell(running.await) });
        JobHandle { job: id, cancel, end }
    }
}

impl<Out: Send + Sync + 'static> JobHandle<Out> {
    /// The job.
    #[must_use]
    pub const fn job(&self) -> JobId {
        self.job
    }

    /// How it ended, and what it did.
    ///
    /// # Cancel safety
    /// Dropped, the job goes on; ask again.
    pub async fn end(&self) -> Arc<JobEnd<Out>> {
        if let Some(holder) = holder() {
            let error = JobError::WaitsWhileHolding { holder, job: self.job };
            return Arc::new(self.without(error));
        }
        self.ended().await
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn try_end(&self) -> Option<Arc<JobEnd<Out>>> {
        self.end.get()
    }

    /// Cancels it.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Cancels it when the guard is dropped.
    #[must_use = "dropping the guard cancels the job"]
    pub fn cancel_on_drop(&self) -> DropGuard {
        self.cancel.clone().drop_guard()
    }

    /// Its end, for whoever depends on it.
    #[must_use]
    pub fn dependency(&self) -> Dependency {
        let handle = self.clone();
        Dependency::new(self.job, async move {
            let end = handle.ended().await;
            let failed = |error: &JobError| Arc::new(error.clone()) as DependencyError;
            end.result.as_ref().map(|_| ()).map_err(failed)
        })
    }

    async fn ended(&self) -> Arc<JobEnd<Out>> {
        self.end.heard().await.unwrap_or_else(|| Arc::new(self.without(JobError::ShutDown)))
    }

    fn without(&self, error: JobError) -> JobEnd<Out> {
        let record = JobRecord { job: self.job, ..JobRecord::default() };
        JobEnd { result: Err(error), record }
    }
}

impl<Out> Clone for JobHandle<Out> {
    fn clone(&self) -> Self {
        Self { job: self.job, cancel: self.cancel.clone(), end: self.end.clone() }
    }
}
