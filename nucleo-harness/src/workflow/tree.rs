//! A workflow: an id, a cap, and a tree of agents and jobs.
//!
//! Invariants: ids derive from the workflow and the place in the tree; cancelling a workflow cancels
//! all of it; dropping a handle cancels nothing, unless [`Workflow::cancel_on_drop`] was asked.
//!
//! Not here: running a job (`attempt`), the cap's arithmetic (`nucleo_core::spend`).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nucleo_core::spend::{AlreadyOpen, Of, Position, ScopeId, SpendRefusal, Totals};
use nucleo_core::{JobId, Money, WorkflowId};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::event::{EVENT_VERSION, Event, EventKind};
use super::harness::Harness;
use super::live::{LiveJob, LiveJobs};
use super::place::Place;
use crate::attempt::{Job, JobEnd, JobOptions, run};
use crate::sync::Mutex;

/// What all places of a workflow share.
#[derive(Debug)]
pub(crate) struct State {
    id: WorkflowId,
    name: Arc<str>,
    harness: Harness,
    cancel: CancellationToken,
    live: Mutex<LiveJobs>,
}

impl State {
    pub(super) const fn id(&self) -> WorkflowId {
        self.id
    }

    pub(super) const fn harness(&self) -> &Harness {
        &self.harness
    }

    pub(super) const fn live(&self) -> &Mutex<LiveJobs> {
        &self.live
    }

    pub(super) fn record(&self, what: EventKind) {
        if let Some(journal) = self.harness.journal() {
            let at = self.harness.clock().now();
            journal.record(&Event { version: EVENT_VERSION, at, workflow: self.id, what });
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.harness.ledger().close_workflow(self.id);
    }
}

/// A workflow that runs.
#[derive(Clone, Debug)]
pub struct Workflow {
    state: Arc<State>,
    root: Node,
}

/// An agent's place in the tree: jobs and child agents hang below it.
#[derive(Clone, Debug)]
pub struct Node {
    state: Arc<State>,
    id: JobId,
    places: Arc<AtomicU64>,
    cancel: CancellationToken,
}

/// A workflow about to start.
#[derive(Debug)]
#[must_use = "a workflow begins with `start`"]
pub struct WorkflowBuilder {
    harness: Harness,
    name: Arc<str>,
    cap: Option<Money>,
}

impl WorkflowBuilder {
    pub(super) const fn new(harness: Harness, name: Arc<str>) -> Self {
        Self { harness, name, cap: None }
    }

    /// The most it may spend; without one it is counted, not limited.
    pub const fn cap(mut self, cap: Money) -> Self {
        self.cap = Some(cap);
        self
    }

    /// Starts it under an id of its own.
    #[must_use]
    pub fn start(self) -> Workflow {
        loop {
            let id = self.harness.draw_workflow_id();
            if self.open(id).is_ok() {
                return self.begin(id);
            }
        }
    }

    /// Starts it under this id, so that a resumed run finds its own jobs.
    ///
    /// # Errors
    /// [`AlreadyOpen`] when a workflow of this id runs: two can't share one.
    pub fn start_as(self, id: WorkflowId) -> Result<Workflow, AlreadyOpen> {
        self.open(id)?;
        Ok(self.begin(id))
    }

    fn open(&self, id: WorkflowId) -> Result<(), AlreadyOpen> {
        self.harness.ledger().open_workflow(id, Arc::clone(&self.name), self.cap)
    }

    fn begin(self, id: WorkflowId) -> Workflow {
        let cancel = self.harness.root_token().child_token();
        let state = Arc::new(State {
            id,
            name: Arc::clone(&self.name),
            harness: self.harness,
            cancel: cancel.clone(),
            live: Mutex::new(LiveJobs::new()),
        });
        state.record(EventKind::WorkflowStarted { name: self.name, cap: self.cap });
        let places = Arc::new(AtomicU64::new(0));
        let root = Node { state: Arc::clone(&state), id: JobId::root(id), places, cancel };
        Workflow { state, root }
    }
}

impl Workflow {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> WorkflowId {
        self.state.id
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.state.name
    }

    /// The root of its tree.
    #[must_use]
    pub const fn root(&self) -> &Node {
        &self.root
    }

    /// What it runs on.
    #[must_use]
    pub fn harness(&self) -> &Harness {
        &self.state.harness
    }

    /// Cancels all of it: waiting jobs leave, running ones get their grace.
    pub fn cancel(&self) {
        self.state.record(EventKind::WorkflowCancelled);
        self.state.cancel.cancel();
    }

    /// Cancels the workflow when the guard is dropped.
    #[must_use = "dropping the guard cancels the workflow"]
    pub fn cancel_on_drop(&self) -> DropGuard {
        self.state.cancel.clone().drop_guard()
    }

    /// Changes its cap; what is committed stays, and whoever waits for money is looked at anew.
    pub fn set_cap(&self, cap: Option<Money>) {
        let scope = ScopeId::Workflow(self.state.id);
        let set = self.state.harness.ledger().set_cap(scope, cap);
        set.expect("a workflow is open until its last handle is dropped");
    }

    /// Where it stands: cap, spent, committed. `None` only of a ledger that met a bug of its own.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.state.harness.ledger().position(&ScopeId::Workflow(self.state.id))
    }

    /// Its calls, tokens and money.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.state.harness.ledger().totals(Of::Workflow(self.state.id)).unwrap_or_default()
    }

    /// Every refusal, oldest first; the first 1,000 are kept whole.
    #[must_use]
    pub fn refusals(&self) -> Vec<SpendRefusal> {
        let log = self.state.harness.ledger().refusals(self.state.id);
        log.map(|log| log.kept().to_vec()).unwrap_or_default()
    }

    /// The jobs that have not ended, in the order of their ids.
    #[must_use]
    pub fn live(&self) -> Vec<LiveJob> {
        self.state.live.lock().values().cloned().collect()
    }
}

impl Node {
    /// Its id.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// The workflow's id.
    #[must_use]
    pub fn workflow_id(&self) -> WorkflowId {
        self.state.id
    }

    /// What it runs on.
    #[must_use]
    pub fn harness(&self) -> &Harness {
        &self.state.harness
    }

    /// The next child, with a cancellation of its own below this one's.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            id: self.id.child(self.places.fetch_add(1, Ordering::Relaxed)),
            places: Arc::new(AtomicU64::new(0)),
            cancel: self.cancel.child_token(),
        }
    }

    /// Fires when this part of the tree is cancelled.
    #[must_use]
    pub const fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Runs a job at the next place below: approved, admitted, executed, settled, tried again.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the job: in the line it leaves; granted and unsent it rolls back;
    /// sent it gets its grace, and what it used is booked.
    pub fn run<J: Job>(
        &self,
        job: J,
        options: JobOptions,
    ) -> impl Future<Output = JobEnd<J::Out>> + Send + use<J> {
        let id = self.id.child(self.places.fetch_add(1, Ordering::Relaxed));
        let (state, cancel) = (Arc::clone(&self.state), self.cancel.child_token());
        let place = Place::take(state, id, self.id, cancel, Arc::clone(&options.agent));
        run(place, options, job)
    }
}
