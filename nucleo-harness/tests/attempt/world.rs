//! What a scripted job runs in: one HTTP place, four calls at once, requests and tokens, money.
//!
//! The buckets fill so slowly, and the amounts are so large, that what was charged can be read off
//! the level, rounded: a request counts a thousand.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use futures_util::poll;
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::spend::{Price, Rates};
use nucleo_core::{AccountId, Currency, Money, Monitor, Need, Reserved, Span, Time, Usage};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::{
    Binding, Counted, Counts, JobEnd, JobOptions, Requirements, Step, Unused,
};
use nucleo_harness::runtime::TokioClock;
use nucleo_harness::workflow::{Event, EventKind, Harness, HarnessBuilder, Journal, Workflow};

use crate::script::{Act, Prepare, Script, Seen};

/// What each request counts.
pub(crate) const REQUEST: u64 = 1_000;
/// What each attempt takes of the tokens: 1,000 of input and 2,000 of output.
pub(crate) const TOKENS: u64 = 3_000;
/// What those may cost, in millionths of a dollar.
pub(crate) const RESERVED: i128 = 5_000;
/// What [`USAGE`] costs, in millionths of a dollar.
pub(crate) const USED: i128 = 1_500;
/// A usage of a thousand tokens.
pub(crate) const USAGE: Usage =
    Usage { input: 500, output: 500, cache_read: 0, cache_write: 0, reasoning: 0 };

const LEVEL: u64 = 100_000_000;
pub(crate) const CALLS: u64 = 4;

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) harness: Harness,
    pub(crate) workflow: Workflow,
    pub(crate) http: AccountId,
    pub(crate) calls: AccountId,
    pub(crate) requests: AccountId,
    pub(crate) tokens: AccountId,
    pub(crate) journal: Arc<Recorder>,
}

impl World {
    /// One HTTP place.
    pub(crate) fn new() -> Self {
        Self::with(1, CALLS)
    }

    pub(crate) fn with(http: u64, calls: u64) -> Self {
        Self::set(http, calls, |builder| builder)
    }

    pub(crate) fn set(
        http: u64,
        calls: u64,
        set: impl FnOnce(HarnessBuilder) -> HarnessBuilder,
    ) -> Self {
        let mut monitor = Monitor::new();
        let trickle = || TokenBucket::new(Rate::per_minute(1).burst(LEVEL)).unwrap();
        let http = monitor.open("http", Permits::new(http));
        let calls = monitor.open("calls", Permits::new(calls));
        let requests = monitor.open("requests", trickle());
        let tokens = monitor.open("tokens", trickle());
        let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
        let journal = Arc::new(Recorder::default());
        let builder = Harness::builder(admission).seed(7).journal(Arc::clone(&journal) as _);
        let harness = set(builder).start();
        let workflow = harness.workflow("test").start();
        Self { harness, workflow, http, calls, requests, tokens, journal }
    }

    pub(crate) fn binding(&self) -> Binding {
        let counted = |account, counts, amount| Counted { account, counts, amount };
        Binding {
            model: "model".into(),
            tokens: Reserved { input: 1_000, output: 2_000 },
            accounts: [
                counted(self.calls, Counts::Calls, 1),
                counted(self.requests, Counts::Requests, REQUEST),
                counted(self.tokens, Counts::Tokens, TOKENS),
            ]
            .into_iter()
            .collect(),
            price: Some(Arc::new(price())),
            unused: Unused::GivenBack,
            key: Some("house".into()),
        }
    }

    /// A job of one binding that makes these attempts.
    pub(crate) fn script<const N: usize>(&self, attempts: [&[Act]; N]) -> Script {
        let requirements = Requirements {
            bindings: [self.binding()].into_iter().collect(),
            needs: [Need { account: self.http, amount: 1 }].into_iter().collect(),
            timeout: Span::from_mins(1),
        };
        let attempts = attempts.iter().map(|acts| acts.to_vec()).collect();
        let seen = Arc::new(Seen::default());
        Script { requirements, prepare: Prepare::Reads, attempts, seen }
    }

    pub(crate) fn start(&self, script: Script, options: JobOptions) -> Running {
        Box::pin(self.workflow.root().run(script, options))
    }

    /// Runs a script to its end, under the default options.
    pub(crate) async fn run(&self, script: &Script) -> JobEnd<()> {
        let end = self.start(script.clone(), JobOptions::default()).await;
        self.check_rest();
        end
    }

    pub(crate) fn now(&self) -> Time {
        self.harness.clock().now()
    }

    pub(crate) async fn sleep(&self, span: Span) {
        self.harness.clock().sleep_until(self.now() + span).await;
    }

    /// What was charged of a bucket, without what trickled in since.
    pub(crate) fn charged(&self, bucket: AccountId) -> u64 {
        let level = self.harness.admission().free(bucket);
        u64::try_from((i128::from(LEVEL) - level + 99) / 100 * 100).unwrap()
    }

    /// Spent so far, in millionths of a dollar.
    pub(crate) fn spent(&self) -> i128 {
        let position = self.workflow.position().unwrap();
        position.spent.first().map_or(0, |sum| millionths(*sum))
    }

    /// Nothing is held, committed, waiting or alive; every job's events end once.
    pub(crate) fn check_rest(&self) {
        let admission = self.harness.admission();
        for account in [self.http, self.calls] {
            let statuses = admission.accounts();
            let status = &statuses[account.index()];
            assert_eq!(status.available, i128::from(status.capacity), "{} is held", status.name);
        }
        assert_eq!(admission.waiting(), 0);
        assert!(self.harness.admission().open("probe", Permits::new(1)).is_some(), "defective");
        let position = self.workflow.position().unwrap();
        assert!(position.committed.iter().all(|sum| sum.pico() == 0), "{position:?}");
        assert_eq!((position.under_way, position.waiting), (0, 0));
        assert_eq!(self.harness.ledger().under_way(), 0);
        assert_eq!(self.workflow.live(), []);
        self.journal.check_ends();
    }

    /// Polls a job until it is at this step, and has reached `here` as often as told.
    pub(crate) async fn drive_to(&self, job: &mut Running, step: Step, seen: (&Seen, usize)) {
        for _ in 0..1_000 {
            assert!(poll!(&mut *job).is_pending(), "it ended before it was at {step:?}");
            if self.steps().contains(&step) && seen.0.here() >= seen.1 {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("it never was at {step:?}, only at {:?}", self.steps());
    }

    fn steps(&self) -> Vec<Step> {
        self.workflow.live().iter().map(|live| live.step).collect()
    }
}

/// A job under way, in the hands of the test.
pub(crate) type Running = Pin<Box<dyn Future<Output = JobEnd<()>> + Send>>;

/// A million tokens cost 1 USD of input and 2 USD of output.
pub(crate) fn price() -> Price {
    Price::new(Currency::USD, Rates::new("1".parse().unwrap(), "2".parse().unwrap()))
}

pub(crate) fn millionths(money: Money) -> i128 {
    assert_eq!(money.pico() % 1_000_000, 0);
    money.pico() / 1_000_000
}

/// What a job says that it cost, in millionths of a dollar.
pub(crate) fn cost(end: &JobEnd<()>) -> i128 {
    end.record.cost.iter().map(|sum| millionths(*sum)).sum()
}

/// How it ended, in a word.
pub(crate) fn word(end: &JobEnd<()>) -> &'static str {
    end.result.as_ref().map_or_else(nucleo_harness::attempt::JobError::name, |()| "answered")
}

/// Keeps every event.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    events: Mutex<Vec<Event>>,
}

impl Journal for Recorder {
    fn record(&self, event: &Event) {
        self.events.lock().unwrap().push(event.clone());
    }
}

impl Recorder {
    pub(crate) fn events(&self) -> Vec<EventKind> {
        self.events.lock().unwrap().iter().map(|event| event.what.clone()).collect()
    }

    fn check_ends(&self) {
        let events = self.events();
        let started = events.iter().filter(|what| matches!(what, EventKind::JobStarted { .. }));
        let ended = events
            .iter()
            .filter(|what| matches!(what, EventKind::JobStepped { step: Step::Ended, .. }));
        assert_eq!(started.count(), ended.count(), "each job ends once, as its events tell it");
    }
}
