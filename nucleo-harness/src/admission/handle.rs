//! The handle of admission: cheap to clone, shared by everything that asks.
//!
//! Invariants: every method that changes something runs the line before it returns; a defective
//! monitor ignores changes and refuses demands, with its cause.
//!
//! Not here: waiting (`admit`), the lock (`shared`).

use std::sync::{Arc, Weak};

use nucleo_core::admission::{AccountView, Learnt, WhyWaiting};
use nucleo_core::limits::{Limit, Rate, RateError};
use nucleo_core::memory::MemoryStatus;
use nucleo_core::{Account, AccountId, AttemptKey, Demand, Monitor, Reason, Span, Time};

use super::admit::Admit;
use super::heard::{LimiterEvents, is_traced};
use super::shared::{Sampling, Shared};
use crate::memory::{MemoryWatch, Sampler};
use crate::runtime::{Clock, NextTurn, Turn, start_turns};

/// The one place where jobs wait.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use nucleo_core::limits::Permits;
/// use nucleo_core::{Demand, JobId, Monitor, WorkflowId};
/// use nucleo_harness::admission::{Admission, Ending};
/// use nucleo_harness::runtime::TokioClock;
///
/// let mut monitor = Monitor::new();
/// let pool = monitor.open("http", Permits::new(1));
/// let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
///
/// let job = JobId::root(WorkflowId::from_u128(1));
/// let grant = admission.admit(Demand::new(job.attempt(1)).need(pool, 1)).await?;
/// assert_eq!(admission.free(pool), 0);
/// grant.settle(Ending::default());
/// assert_eq!(admission.free(pool), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Admission {
    shared: Arc<Shared>,
}

/// Tells admission that a user's own account has changed: whoever it may let go is looked at.
///
/// It keeps nothing alive; after the runtime's end it does nothing.
#[derive(Clone, Debug)]
pub struct AccountHandle {
    shared: Weak<Shared>,
    account: AccountId,
}

impl AccountHandle {
    /// The account has changed: more is there, or less, or its state is another. Not to be called by
    /// the account itself while it is asked: that is under the lock.
    pub fn changed(&self) {
        if let Some(shared) = self.shared.upgrade() {
            let account = self.account;
            let _ = shared.enter(|core, now| core.monitor.foreign_changed(account, now));
        }
    }
}

/// The turns of the line's timer.
struct Line(Weak<Shared>);

impl Turn for Line {
    async fn turn(&mut self) -> NextTurn {
        self.0
            .upgrade()
            .map_or(NextTurn::Over, |shared| shared.turn().map_or(NextTurn::OnBell, NextTurn::At))
    }
}

/// One account, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AccountStatus {
    /// Its name.
    pub name: Arc<str>,
    /// The most one demand may ask.
    pub capacity: u64,
    /// What is there; below zero after a debit past the level.
    pub available: i128,
    /// For how long, in all, the head of the line was short of it.
    pub short: Span,
    /// It runs at a limit that its provider told, below the configured one.
    pub learnt: bool,
}

impl Admission {
    /// Admission over these accounts, with its timer task on the present tokio runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn start(monitor: Monitor, clock: Arc<dyn Clock>) -> Self {
        let admission = Self::without_timer(monitor, clock);
        if is_traced() {
            admission.shared.listen(0);
        }
        let shared = Arc::downgrade(&admission.shared);
        let bell = admission.shared.bell().clone();
        start_turns(Arc::clone(admission.clock()), bell, Line(shared));
        admission
    }

    /// Admission without a timer task: somebody has to call [`Admission::turn`] when the clock may
    /// have brought something. For tests that drive time themselves.
    #[must_use]
    pub fn without_timer(monitor: Monitor, clock: Arc<dyn Clock>) -> Self {
        Self { shared: Arc::new(Shared::new(monitor, clock)) }
    }

    /// Waits until the demand fits every account, then takes it whole.
    ///
    /// # Errors
    /// [`AdmitError`](nucleo_core::AdmitError), by what to do next: it can never fit, it waited as
    /// long as it may, an account refuses everyone, or the runtime is stopping.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the line and loses the place in it; nothing stays held.
    pub fn admit(&self, demand: Demand) -> Admit {
        Admit::new(Arc::clone(&self.shared), demand)
    }

    /// Runs the line at the clock's now, and says when to come again.
    pub fn turn(&self) -> Option<Time> {
        self.shared.turn()
    }

    /// Opens another account. Names are for people: a second one of a name is another account, with a
    /// limit of its own. `None` only of a monitor that met a bug of its own.
    pub fn open(&self, name: impl Into<Arc<str>>, limit: impl Into<Limit>) -> Option<AccountId> {
        let (name, limit) = (name.into(), limit.into());
        self.shared.enter(|core, _| core.monitor.open(name, limit)).ok()
    }

    /// Changes a number of permits; holders drain.
    pub fn resize(&self, account: AccountId, capacity: u64) {
        let _ = self.shared.enter(|core, now| core.monitor.resize(account, capacity, now));
    }

    /// Changes a bucket's rate.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range.
    pub fn reconfigure(&self, account: AccountId, rate: Rate) -> Result<(), RateError> {
        let changed = self.shared.enter(|core, now| core.monitor.reconfigure(account, rate, now));
        changed.unwrap_or(Ok(()))
    }

    /// What a provider says of a bucket's quota: its limit, within what was configured, and what
    /// remains of it.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range.
    pub fn learn(&self, account: AccountId, learnt: Learnt) -> Result<(), RateError> {
        let learnt = self.shared.enter(|core, now| core.monitor.learn(account, learnt, now));
        learnt.unwrap_or(Ok(()))
    }

    /// Hands a daily quota its next midnight.
    pub fn next_midnight(&self, account: AccountId, midnight: Time) {
        let _ = self.shared.enter(|core, now| core.monitor.next_midnight(account, midnight, now));
    }

    /// Closes an account: it refuses everyone, waiters included, until it is opened again.
    pub fn close(&self, account: AccountId, reason: Reason) {
        let _ = self.shared.enter(|core, now| core.monitor.close(account, reason, now));
    }

    /// Opens an account that was closed.
    pub fn reopen(&self, account: AccountId) {
        let _ = self.shared.enter(|core, now| core.monitor.reopen(account, now));
    }

    /// Keeps the latest `most` limiter events from now on, for [`Admission::take_events`]. They are
    /// lossy: what nobody takes in time is counted and gone. Each is told to `tracing` as well, target
    /// `nucleo::admission`, level debug, if that was on when admission started.
    pub fn listen(&self, most: usize) {
        self.shared.listen(most);
    }

    /// Takes the limiter events heard since the last call.
    #[must_use]
    pub fn take_events(&self) -> LimiterEvents {
        self.shared.take_events()
    }

    /// A handle by which a user's own account tells that it has changed.
    #[must_use]
    pub fn handle(&self, account: AccountId) -> AccountHandle {
        AccountHandle { shared: Arc::downgrade(&self.shared), account }
    }

    /// Watches memory from now on: reads it at once, and starts the task that samples it. Once only: a
    /// second watch does nothing.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn watch_memory(&self, watch: MemoryWatch) {
        let profile = watch.profile_of();
        let first = self.shared.enter(|core, _| {
            core.monitor.watch_memory(profile);
            std::mem::replace(&mut core.sampling, Sampling::Awake) == Sampling::Never
        });
        if !matches!(first, Ok(true)) {
            return;
        }
        let mut sampler = Sampler::new(&self.shared, watch);
        sampler.sample();
        start_turns(Arc::clone(self.clock()), self.shared.sampler().clone(), sampler);
    }

    /// A reading of memory, as a share of its limit; for those who watch it themselves.
    pub fn sample_memory(&self, reading: f64) {
        let _ = self.shared.enter(|core, now| core.monitor.sample_memory(reading, now));
    }

    /// Refuses every waiter and every later demand; grants live on until they are settled.
    pub fn stop(&self) {
        let _ = self.shared.enter(|core, now| core.monitor.stop(now));
    }

    /// What is there now of an account; below zero after a debit past its level.
    #[must_use]
    pub fn free(&self, account: AccountId) -> i128 {
        let now = self.shared.clock().now();
        self.shared.read(|core| core.monitor.limit(account).available(now))
    }

    /// An account's name.
    #[must_use]
    pub fn name(&self, account: AccountId) -> Arc<str> {
        self.shared.read(|core| Arc::clone(core.monitor.name(account)))
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.read(|core| core.monitor.waiting())
    }

    /// How every account stands.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountStatus> {
        let now = self.shared.clock().now();
        self.shared.read(|core| {
            let status = |account| {
                let limit = core.monitor.limit(account);
                AccountStatus {
                    name: Arc::clone(core.monitor.name(account)),
                    capacity: limit.capacity(now),
                    available: limit.available(now),
                    short: core.monitor.short_time(account),
                    learnt: matches!(limit, Limit::Bucket(bucket) if bucket.is_learnt()),
                }
            };
            core.monitor.account_ids().map(status).collect()
        })
    }

    /// How every account stands and who is short on it, without a sweep of the line.
    #[must_use]
    pub fn snapshot(&self) -> Vec<AccountView> {
        self.shared.read(|core| {
            core.monitor.account_ids().map(|account| core.monitor.view(account)).collect()
        })
    }

    /// Why an attempt waits; `None` when it doesn't. Looks through the line for it.
    #[must_use]
    pub fn why_waiting(&self, key: AttemptKey) -> Option<WhyWaiting> {
        self.shared.read(|core| core.monitor.why_waiting(core.monitor.find(key)?))
    }

    /// How the memory gate stands; `None` when memory is not watched.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryStatus> {
        self.shared.read(|core| core.monitor.memory())
    }

    /// The clock that it goes by.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.shared.clock()
    }
}
