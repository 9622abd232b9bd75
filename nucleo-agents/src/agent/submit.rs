//! Agents that run by themselves, after those they depend on, and whose ends many may look at.
//!
//! Invariants: a submitted agent runs whether anybody waits for it or not; while it waits for what it
//! depends on it has not been called; a failure of that ends it before it is, and so does the
//! workflow's deadline.
//!
//! Not here: many agents at once (`fan_out`), a child whose future is its owner
//! ([`AgentContext::run`]).

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use futures_util::{FutureExt as _, TryFutureExt as _};
use nucleo_core::{AdmitError, JobId, MAX_WAIT_DEFAULT};
use nucleo_harness::attempt::{
    Dependency, DependencyError, JobError, JobRecord, all_ended, holder,
};
use nucleo_harness::workflow::{CancelOnDrop, Node, Told, to_be_told};
use tokio_util::sync::CancellationToken;

use super::context::{AgentContext, Runs};
use super::contract::Agent;
use super::ending::{flatten, until_cancelled};
use crate::fan_out::ItemError;

/// An agent about to be started.
#[derive(Debug)]
#[must_use = "a submitted agent begins with `start`"]
pub struct Submission<A, In> {
    context: AgentContext,
    agent: A,
    input: In,
    after: Vec<Dependency>,
}

/// An agent that runs by itself. Cheap to clone; dropping all handles leaves it running.
#[derive(Debug)]
pub struct AgentHandle<Out> {
    id: JobId,
    cancel: CancellationToken,
    end: Told<AgentEnd<Out>>,
}

/// How an agent ended, and what its calls did.
#[derive(Debug)]
pub struct AgentEnd<Out> {
    /// Its answer.
    pub result: Result<Out, ItemError>,
    /// What its calls waited, used and cost.
    pub record: JobRecord,
}

impl<A, In> Submission<A, In> {
    pub(super) const fn new(context: AgentContext, agent: A, input: In) -> Self {
        Self { context, agent, input, after: Vec::new() }
    }

    /// Begins when the other has answered; if that fails, this fails too, before it is called.
    pub fn after<Out: Send + Sync + 'static>(self, other: &AgentHandle<Out>) -> Self {
        self.depends_on(other.dependency())
    }

    /// Begins when the other has ended, however it ended.
    pub fn after_end_of<Out: Send + Sync + 'static>(self, other: &AgentHandle<Out>) -> Self {
        self.depends_on(other.dependency().tolerated())
    }

    /// Begins when this has ended: a job's end, for one.
    pub fn depends_on(mut self, dependency: Dependency) -> Self {
        self.after.push(dependency);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(self) -> AgentHandle<A::Out>
    where
        A: Agent<In>,
        A::Out: Sync,
        In: Send + 'static,
    {
        let Self { context, agent, input, after } = self;
        let (teller, end) = to_be_told();
        let cancel = context.cancel_token().clone();
        let handle = AgentHandle { id: context.id(), cancel: cancel.clone(), end };
        let harness = context.runtime().harness().clone();
        let clock = Arc::clone(harness.clock());
        let runs = Runs::of(context.deeds());
        harness.spawn(async move {
            let deeds = Arc::clone(context.deeds());
            let result = match ready(context.node(), after).await {
                Err(error) => Err(error),
                Ok(()) => {
                    let work = async move {
                        let called = agent.call(context, input).await;
                        called.map_err(|error| ItemError::Agent(Arc::from(error.into())))
                    };
                    let work = Box::pin(AssertUnwindSafe(work).catch_unwind());
                    until_cancelled(work, cancel.clone(), clock).await
                }
            };
            // Whatever it left running is nobody's now.
            cancel.cancel();
            drop(runs);
            teller.tell(AgentEnd { result, record: deeds.record() });
        });
        handle
    }
}

/// Waits for what an agent depends on, as long as a job may wait unless told otherwise.
async fn ready(node: &Node, after: Vec<Dependency>) -> Result<(), ItemError> {
    let clock = node.harness().clock();
    let expired = clock.sleep_until(clock.now().saturating_add(MAX_WAIT_DEFAULT)).map(|()| {
        let (waited, on) = (MAX_WAIT_DEFAULT, Arc::from("what it depends on"));
        Err(JobError::NotAdmitted(AdmitError::Expired { waited, on }))
    });
    let ended = select(Box::pin(all_ended(after)), expired).map(|first| first.factor_first().0);
    let ended = ended.map_err(|error| ItemError::Agent(Arc::new(error)));
    let ended = AssertUnwindSafe(ended).catch_unwind();
    // Of two that are ready the first one counts: a cancellation, and the deadline.
    match select(pin!(node.over()), pin!(ended)).await {
        Either::Right((ended, _)) => flatten(ended),
        Either::Left(_) if node.cancel_token().is_cancelled() => Err(ItemError::Cancelled),
        Either::Left(_) => {
            let late = node.too_late().ok_or(ItemError::Cancelled)?;
            Err(ItemError::Agent(Arc::new(late)))
        }
    }
}

impl<Out: Send + Sync + 'static> AgentHandle<Out> {
    /// Its place in the tree.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// How it ended, and what its calls did.
    ///
    /// # Cancel safety
    /// Dropped, the agent goes on; ask again.
    pub async fn end(&self) -> Arc<AgentEnd<Out>> {
        match holder() {
            Some(holder) => Arc::new(AgentEnd::without(
                self.id,
                ItemError::Agent(Arc::new(JobError::WaitsWhileHolding { holder, job: self.id })),
            )),
            None => self.ended().await,
        }
    }

    /// How it ended, if it has.
    #[must_use]
    pub fn try_end(&self) -> Option<Arc<AgentEnd<Out>>> {
        self.end.get()
    }

    /// Cancels it and everything below it.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Cancels it when the guard is dropped.
    #[must_use = "dropping the guard cancels the agent"]
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        self.cancel.clone().drop_guard()
    }

    /// Its end, for whoever depends on it.
    #[must_use]
    pub fn dependency(&self) -> Dependency {
        let handle = self.clone();
        Dependency::new(self.id, async move {
            let end = handle.ended().await;
            let failed = |error: &ItemError| Arc::new(error.clone()) as DependencyError;
            end.result.as_ref().map(|_| ()).map_err(failed)
        })
    }

    async fn ended(&self) -> Arc<AgentEnd<Out>> {
        let lost = || Arc::new(AgentEnd::without(self.id, ItemError::Cancelled));
        self.end.heard().await.unwrap_or_else(lost)
    }
}

impl<Out> AgentEnd<Out> {
    fn without(job: JobId, error: ItemError) -> Self {
        Self { result: Err(error), record: JobRecord { job, ..JobRecord::default() } }
    }
}

impl<Out> Clone for AgentHandle<Out> {
    fn clone(&self) -> Self {
        Self { id: self.id, cancel: self.cancel.clone(), end: self.end.clone() }
    }
}
