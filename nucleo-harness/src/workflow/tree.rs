//! A workflow: an id, a cap, and a tree of agents and jobs.
//!
//! Invariants: ids derive from the workflow and the place in the tree; cancelling a workflow cancels
//! all of it; dropping a handle cancels nothing, unless [`Workflow::cancel_on_drop`] was asked.
//!
//! Not here: running a job (`attempt`), jobs that depend on others (`submit`), the cap's arithmetic
//! (`nucleo_core::spend`).

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nucleo_core::admission::WhyWaiting;
use nucleo_core::spend::{AlreadyOpen, Of, Position, ScopeId, SpendRefusal, Totals};
use nucleo_core::{JobId, Money, Span, Time, WorkflowId};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::event::{EVENT_VERSION, Event, EventKind};
use super::harness::Harness;
use super::live::{LiveJob, LiveJobs, Standing, WaitsOn};
use super::place::{Newcomer, Place};
use super::submit::Submission;
use crate::admission::panic_text;
use crate::attempt::{Job, JobEnd, JobError, JobOptions, run};
use crate::sync::Mutex;

/// What all places of a workflow share.
#[derive(Debug)]
pub(crate) struct State {
    id: WorkflowId,
    name: Arc<str>,
    harness: Harness,
    cancel: CancellationToken,
    live: Mutex<LiveJobs>,
    user: Option<Arc<str>>,
    deadline: Option<Deadline>,
}

/// When a workflow has to be over.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    after: Span,
    at: Time,
}

impl State {
    /// Who its calls are for.
    pub(crate) const fn user(&self) -> Option<&Arc<str>> {
        self.user.as_ref()
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline.map(|deadline| deadline.at)
    }

    /// How long after the start the deadline is.
    pub(crate) fn deadline_after(&self) -> Span {
        self.deadline.map_or(Span::MAX, |deadline| deadline.after)
    }

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
            let event = Event { version: EVENT_VERSION, at, workflow: self.id, what };
            // A journal is foreign code, and is told from within drops.
            let recorded = catch_unwind(AssertUnwindSafe(|| journal.record(&event)));
            if let Err(payload) = recorded {
                let message = panic_text(&*payload);
                tracing::error!(?event, %message, "the journal panicked: it may not have this event");
            }
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
    user: Option<Arc<str>>,
    deadline: Option<Span>,
}

impl WorkflowBuilder {
    pub(super) const fn new(harness: Harness, name: Arc<str>) -> Self {
        Self { harness, name, cap: None, user: None, deadline: None }
    }

    /// Who its calls are for: a total of their own, and a cap where one is set for the user.
    pub fn user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// How long after its start everything of it has to be over: it bounds every wait, every pause
    /// and every attempt's timeout. Without one each job's own limits hold.
    pub const fn deadline(mut self, after: Span) -> Self {
        self.deadline = Some(after);
        self
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
        let now = self.harness.clock().now();
        let deadline = |after| Deadline { after, at: now.saturating_add(after) };
        let state = Arc::new(State {
            id,
            name: Arc::clone(&self.name),
            harness: self.harness,
            cancel: cancel.clone(),
            live: Mutex::new(LiveJobs::new()),
            user: self.user,
            deadline: self.deadline.map(deadline),
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

    /// The `most` jobs that have been longest where they are, with what they wait on: who stalls.
    ///
    /// Each that stands in the line is looked for there, so ask for few.
    #[must_use]
    pub fn longest(&self, most: usize) -> Vec<Standing> {
        let mut live = self.live();
        live.sort_by_key(|live| (live.since, live.job));
        live.truncate(most);
        let now = self.state.harness.clock().now();
        let standing = |live: LiveJob| {
            let line = self.why_waiting(&live);
            Standing { stands: now.since(live.since), line, live }
        };
        live.into_iter().map(standing).collect()
    }

    /// Why a job stands in the line; `None` when it doesn't. Looks through the line for it.
    #[must_use]
    pub fn why_waiting(&self, live: &LiveJob) -> Option<WhyWaiting> {
        let key = live.job.attempt(live.attempt);
        (live.waits_on == WaitsOn::Line)
            .then(|| self.state.harness.admission().why_waiting(key))
            .flatten()
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

    /// Whether the workflow's deadline has passed.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.state.deadline().is_some_and(|deadline| self.state.harness.clock().now() >= deadline)
    }

    /// What begins now ends with this: the workflow's deadline has passed. `None` until then.
    #[must_use]
    pub fn too_late(&self) -> Option<JobError> {
        let deadline = self.state.deadline_after();
        self.is_late().then_some(JobError::DeadlinePassed { deadline, failure: None })
    }

    /// Ends when this part of the tree is cancelled, or the workflow's deadline passes.
    ///
    /// # Cancel safety
    /// Dropped, nobody waits any more.
    pub fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        let cancelled = self.cancel.clone().cancelled_owned();
        let (clock, deadline) = (Arc::clone(self.state.harness.clock()), self.state.deadline());
        async move {
            tokio::select! {
                biased;
                () = cancelled => {}
                () = clock.sleep_until(deadline.unwrap_or(Time::MAX)) => {}
            }
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
        let newcomer = self.newcomer(&options);
        run(Place::take(Arc::clone(&self.state), newcomer), options, Vec::new(), job)
    }

    /// A job at the next place below that runs by itself, after others if it depends on them.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use std::sync::Arc;
    /// use nucleo_core::Monitor;
    /// use nucleo_harness::admission::Admission;
    /// use nucleo_harness::attempt::{Failure, Granted, History, Job, JobOptions, Requirements};
    /// use nucleo_harness::runtime::TokioClock;
    /// use nucleo_harness::workflow::Harness;
    ///
    /// struct Add(u32, u32);
    /// impl Job for Add {
    ///     type Out = u32;
    ///     fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
    ///         Ok(Requirements::default())
    ///     }
    ///     async fn execute(&mut self, _: Granted) -> Result<u32, Failure> {
    ///         Ok(self.0 + self.1)
    ///     }
    /// }
    ///
    /// let admission = Admission::start(Monitor::new(), Arc::new(TokioClock::start()));
    /// let workflow = Harness::builder(admission).start().workflow("sums").start();
    /// let first = workflow.root().submit(Add(1, 2), JobOptions::default()).start();
    /// let second = workflow.root().submit(Add(3, 4), JobOptions::default()).after(&first).start();
    /// assert_eq!(second.end().await.result.as_ref().unwrap(), &7);
    /// // Its end stays, for as many as want to see it.
    /// assert_eq!(first.end().await.result.as_ref().unwrap(), &3);
    /// # }
    /// ```
    pub fn submit<J: Job>(&self, job: J, options: JobOptions) -> Submission<J> {
        let newcomer = self.newcomer(&options);
        Submission::new(Arc::clone(&self.state), newcomer, options, job)
    }

    /// The next place below.
    fn newcomer(&self, options: &JobOptions) -> Newcomer {
        Newcomer {
            job: self.id.child(self.places.fetch_add(1, Ordering::Relaxed)),
            parent: self.id,
            agent: Arc::clone(&options.agent),
            after: Vec::new(),
            cancel: self.cancel.child_token(),
        }
    }
}
