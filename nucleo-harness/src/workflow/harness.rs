//! The runtime's handle: admission, spend gates, clock and tasks, shared by all workflows.
//!
//! Invariants: one of each per runtime, and no process-wide state, so that runtimes live side by
//! side; a shutdown resolves every handle and books every cost before it returns.
//!
//! Not here: agents and catalogs (`nucleo-agents`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nucleo_core::limits::RetryShare;
use nucleo_core::spend::{ScopeId, UnknownScope};
use nucleo_core::{Money, Span, WorkflowId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::event::Journal;
use super::tree::WorkflowBuilder;
use crate::admission::Admission;
use crate::attempt::ModelRetries;
use crate::runtime::Clock;
use crate::spend::{CostLedger, Gates};
use crate::sync::Mutex;

/// What workflows run on. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Harness {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    admission: Admission,
    ledger: CostLedger,
    gates: Gates,
    tasks: TaskTracker,
    random: Mutex<fastrand::Rng>,
    journal: Option<Arc<dyn Journal>>,
    cancel: CancellationToken,
    stopping: AtomicBool,
    retries: ModelRetries,
    /// The days that have a cap: scopes of every attempt.
    days: Mutex<Arc<[ScopeId]>>,
}

/// A harness about to start.
#[derive(Debug)]
#[must_use = "a harness begins with `start`"]
pub struct HarnessBuilder {
    admission: Admission,
    gates: Vec<Arc<dyn crate::spend::SpendGate>>,
    journal: Option<Arc<dyn Journal>>,
    seed: Option<u64>,
    retry_share: RetryShare,
}

impl HarnessBuilder {
    /// How many retries all jobs together may cause at one model, beside each job's own budget.
    pub const fn retry_share(mut self, share: RetryShare) -> Self {
        self.retry_share = share;
        self
    }

    /// Another spend gate, asked after the ledger's own.
    pub fn gate(mut self, gate: Arc<dyn crate::spend::SpendGate>) -> Self {
        self.gates.push(gate);
        self
    }

    /// Who keeps the events.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// The seed of pauses and ids; drawn otherwise.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts it.
    #[must_use]
    pub fn start(self) -> Harness {
        let ledger = CostLedger::new();
        let mut gates = Gates::new(Arc::new(ledger.clone()));
        for gate in self.gates {
            gates = gates.then(gate);
        }
        let random = self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Harness {
            inner: Arc::new(Inner {
                admission: self.admission,
                ledger,
                gates,
                tasks: TaskTracker::new(),
                random: Mutex::new(random),
                journal: self.journal,
                cancel: CancellationToken::new(),
                stopping: AtomicBool::new(false),
                retries: ModelRetries::new(self.retry_share),
                days: Mutex::new(Arc::from([])),
            }),
        }
    }
}

impl Harness {
    /// A harness over this admission, with a ledger of its own.
    pub const fn builder(admission: Admission) -> HarnessBuilder {
        let retry_share = RetryShare::DEFAULT;
        HarnessBuilder { admission, gates: Vec::new(), journal: None, seed: None, retry_share }
    }

    /// A workflow to be configured and started.
    pub fn workflow(&self, name: impl Into<Arc<str>>) -> WorkflowBuilder {
        WorkflowBuilder::new(self.clone(), name.into())
    }

    /// The one place where jobs wait.
    #[must_use]
    pub fn admission(&self) -> &Admission {
        &self.inner.admission
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &CostLedger {
        &self.inner.ledger
    }

    /// Sets or lifts the cap of a scope, while running: work under way isn't touched, and whoever
    /// waits for money is decided anew. A day that has a cap is a scope of every attempt from then
    /// on; the ledger has to be told when it ends ([`CostLedger::begin_day`]).
    ///
    /// # Errors
    /// [`UnknownScope`] for a workflow that isn't open.
    pub fn set_cap(&self, scope: ScopeId, cap: Option<Money>) -> Result<(), UnknownScope> {
        let is_day = matches!(scope, ScopeId::Day(_));
        // Known to the ledger before any attempt names it.
        self.inner.ledger.set_cap(scope.clone(), cap)?;
        let mut days = self.inner.days.lock();
        if is_day && !days.contains(&scope) {
            *days = days.iter().cloned().chain([scope]).collect();
        }
        Ok(())
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.inner.admission.clock()
    }

    /// Ends everything: refuses all waiters, takes no new work, lets running jobs end within
    /// `limit`, then cancels them. Every handle has resolved and every cost is booked when it returns.
    ///
    /// # Cancel safety
    /// Dropped, the shutdown stays begun; call it again to go on waiting.
    pub async fn shutdown(&self, limit: Span) {
        self.inner.stopping.store(true, Ordering::Release);
        self.inner.admission.stop();
        self.inner.ledger.stop();
        self.inner.tasks.close();
        let until = self.clock().now().saturating_add(limit);
        let sleep = self.clock().sleep_until(until);
        tokio::select! {
            biased;
            () = self.inner.tasks.wait() => {}
            () = sleep => {}
        }
        self.inner.cancel.cancel();
        self.inner.tasks.wait().await;
    }

    /// Whether a shutdown has begun.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.inner.stopping.load(Ordering::Acquire)
    }

    /// Runs this to its end beside everything else: a shutdown waits for it, so it has to end when
    /// its workflow is cancelled.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.tasks.spawn(work);
    }

    pub(crate) fn days(&self) -> Arc<[ScopeId]> {
        Arc::clone(&self.inner.days.lock())
    }

    pub(crate) fn retries(&self) -> &ModelRetries {
        &self.inner.retries
    }

    pub(crate) fn gates(&self) -> &Gates {
        &self.inner.gates
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    pub(crate) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.inner.journal.as_ref()
    }

    pub(super) fn root_token(&self) -> &CancellationToken {
        &self.inner.cancel
    }

    pub(crate) fn random<R>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> R) -> R {
        draw(&mut self.inner.random.lock())
    }

    /// Milliseconds of the day's clock above 80 drawn bits: ids sort by their birth, as in the
    /// seventh version of UUIDs (RFC 9562).
    pub(super) fn draw_workflow_id(&self) -> WorkflowId {
        let wall_ms = u128::from(self.clock().wall().as_millis());
        let drawn = self.random(|random| random.u128(..)) >> 48;
        WorkflowId::from_u128((wall_ms << 80) | drawn)
    }
}
