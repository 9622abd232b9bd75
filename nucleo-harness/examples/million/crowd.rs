//! A crowd of jobs that arrive in a stream, wait, leave at random or are served.
//!
//! Each job is a task that asks for one connection, one request and some tokens a minute. Nobody can
//! go until the connections that are held from the start come back. Half of those who wait are
//! cancelled before, drawn from a seed; the rest is served.
//!
//! Invariants: every job is counted once, as cancelled or as served; at the end everything that was
//! held is back.
//!
//! Not here: starting it (`main`), asserting (`tests/million.rs`); both run this very code.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt as _, stream};
use nucleo_core::admission::AccountView;
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, Demand, JobId, Monitor, Span, WorkflowId};
use nucleo_harness::admission::{Admission, Ending, Grant};
use nucleo_harness::runtime::{Clock, TokioClock};
use tokio::task::AbortHandle;

/// How many connections there are.
pub(crate) const CONNECTIONS: u64 = 1_000;
/// So many a minute that only connections bind.
const PLENTY: u64 = 1_000_000_000_000;

/// So many arrive at once; they reach the line before the next do.
const BATCH: u64 = 100;

/// What became of a crowd.
#[derive(Debug)]
pub(crate) struct Told {
    /// Waiting when all had arrived.
    pub(crate) parked: usize,
    /// Waiting after the cancellations.
    pub(crate) left: usize,
    pub(crate) cancelled: usize,
    pub(crate) served: usize,
    /// Waiting at the end.
    pub(crate) waiting: usize,
    /// Connections free at the end.
    pub(crate) free: i128,
    /// The accounts while everybody waited.
    pub(crate) seen: Vec<AccountView>,
    /// What the waiting added to what is resident.
    pub(crate) resident_bytes: u64,
    pub(crate) took: Took,
}

/// How long each part took.
#[derive(Debug, Default)]
pub(crate) struct Took {
    pub(crate) submit: Span,
    pub(crate) snapshot: Span,
    pub(crate) cancel: Span,
    pub(crate) drain: Span,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Took { submit, snapshot, cancel, drain } = &self.took;
        let each = self.resident_bytes / (self.parked as u64).max(1);
        writeln!(f, "parked    {} in {submit}, {each} bytes resident each", self.parked)?;
        writeln!(f, "snapshot  of {} accounts in {snapshot}", self.seen.len())?;
        for AccountView { account, available, short, first, .. } in &self.seen {
            let named = first.len();
            writeln!(f, "          {account}: {available} free, {short} short, {named} named")?;
        }
        writeln!(f, "cancelled {} in {cancel}, {} left", self.cancelled, self.left)?;
        writeln!(f, "drained   {} in {drain}", self.served)?;
        let (waiting, free) = (self.waiting, self.free);
        write!(f, "at rest   {waiting} waiting, {free} of {CONNECTIONS} connections free")
    }
}

struct Crowd {
    admission: Admission,
    accounts: [AccountId; 3],
    served: Arc<AtomicUsize>,
    jobs: Vec<AbortHandle>,
}

/// Runs a crowd from its arrival to rest.
///
/// # Cancel safety
/// Dropping it leaves the tasks waiting until the runtime ends.
pub(crate) async fn run(jobs: usize) -> Told {
    let clock = TokioClock::start();
    let (mut crowd, keeper) = Crowd::new(clock.clone()).await;
    let before = resident_bytes();
    let mut told_at = clock.now();
    let mut lap = || {
        let now = clock.now();
        now.since(std::mem::replace(&mut told_at, now))
    };

    crowd.submit(jobs).await;
    let mut took = Took { submit: lap(), ..Took::default() };
    let resident_bytes = resident_bytes().saturating_sub(before);
    let parked = crowd.admission.waiting();
    lap();
    let seen = crowd.admission.snapshot();
    took.snapshot = lap();
    let cancelled = crowd.cancel_half().await;
    took.cancel = lap();
    let left = crowd.admission.waiting();
    keeper.settle(Ending::default());
    crowd.until_nobody_waits().await;
    took.drain = lap();

    let served = crowd.served.load(Ordering::Relaxed);
    let (waiting, free) = (crowd.admission.waiting(), crowd.admission.free(crowd.accounts[0]));
    Told { parked, left, cancelled, served, waiting, free, seen, resident_bytes, took }
}

impl Crowd {
    /// A crowd of nobody, and the grant that keeps everybody waiting.
    async fn new(clock: TokioClock) -> (Self, Grant) {
        let bucket = || TokenBucket::new(Rate::per_minute(PLENTY)).expect("within range");
        let mut monitor = Monitor::new();
        let http = monitor.open("http", Permits::new(CONNECTIONS));
        let accounts = [http, monitor.open("requests", bucket()), monitor.open("tokens", bucket())];
        let admission = Admission::start(monitor, Arc::new(clock));
        let all = Demand::new(job(0).attempt(1)).need(http, CONNECTIONS);
        let mut keeper = admission.admit(all).await.expect("nobody else is there");
        keeper.mark_sent();
        (Self { admission, accounts, served: Arc::default(), jobs: Vec::new() }, keeper)
    }

    /// Lets so many arrive, and all of them reach the line.
    async fn submit(&mut self, jobs: usize) {
        self.jobs.reserve_exact(jobs);
        let mut numbers = stream::iter(1..);
        while self.jobs.len() < jobs
            && let Some(number) = numbers.next().await
        {
            self.jobs.push(self.spawn(number));
            if number % BATCH == 0 {
                tokio::task::yield_now().await;
            }
        }
        while self.admission.waiting() < jobs {
            tokio::task::yield_now().await;
        }
    }

    fn spawn(&self, number: u64) -> AbortHandle {
        let [http, requests, tokens] = self.accounts;
        let demand = Demand::new(job(number).attempt(1)).need(http, 1).need(requests, 1);
        let admit = self.admission.admit(demand.need(tokens, 500 + number % 1_000));
        let served = Arc::clone(&self.served);
        let work = async move {
            let mut grant = admit.await.expect("nothing refuses");
            grant.mark_sent();
            tokio::task::yield_now().await;
            grant.settle(Ending::default());
            served.fetch_add(1, Ordering::Relaxed);
        };
        tokio::spawn(work).abort_handle()
    }

    /// Cancels half of them, drawn from a seed, and waits until they have left the line.
    async fn cancel_half(&mut self) -> usize {
        let mut random = fastrand::Rng::with_seed(5);
        let stay = self.admission.waiting() - self.jobs.len() / 2;
        random.shuffle(&mut self.jobs);
        let gone = self.jobs.split_off(stay);
        gone.iter().for_each(AbortHandle::abort);
        while self.admission.waiting() > stay {
            tokio::task::yield_now().await;
        }
        gone.len()
    }

    async fn until_nobody_waits(&self) {
        while self.served.load(Ordering::Relaxed) < self.jobs.len() {
            tokio::task::yield_now().await;
        }
    }
}

fn job(number: u64) -> JobId {
    JobId::root(WorkflowId::from_u128(1)).child(number)
}

/// What is resident of this process; zero where the system does not tell.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096
}
