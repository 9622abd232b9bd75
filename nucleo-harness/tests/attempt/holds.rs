//! Work that outlives its attempt keeps what it was granted; and who holds something waits for no
//! other job.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use nucleo_core::Span;
use nucleo_harness::attempt::{
    AttemptOver, BlockingError, Ended, Failure, Granted, History, Hold, Job, JobError, JobOptions,
    Requirements, RetryPolicy, Signal, all_ended,
};
use nucleo_harness::workflow::{EventKind, JobHandle, Node};

use crate::script::Act;
use crate::world::{USAGE, USED, World, cost, word};

/// Keeps a share of its grant, and ends as told.
struct Keeps {
    requirements: Requirements,
    hold: Arc<Mutex<Vec<Hold>>>,
    granted: Arc<Mutex<Option<Granted>>>,
    fails: Option<Signal>,
    ignores: bool,
}

impl Keeps {
    fn new(world: &World) -> Self {
        Self {
            requirements: world.script([&[]]).requirements,
            hold: Arc::default(),
            granted: Arc::default(),
            fails: None,
            ignores: false,
        }
    }
}

impl Job for Keeps {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.requirements.clone())
    }

    async fn execute(&mut self, granted: Granted) -> Result<(), Failure> {
        granted.meter(0).mark_sent();
        granted.meter(0).usage(USAGE);
        self.hold.lock().unwrap().push(granted.hold().unwrap());
        *self.granted.lock().unwrap() = Some(granted);
        if self.ignores {
            std::future::pending::<()>().await;
        }
        match self.fails {
            Some(signal) => Err(Failure::new(signal, Ended::RateLimited, "asked for it")),
            None => Ok(()),
        }
    }
}

/// Answered, failed, timed out or cancelled: the handle is told and the money booked at once, the
/// accounts come back with the last share, and until then the job is told as outliving its end.
#[tokio::test(start_paused = true)]
async fn accounts_come_back_with_the_last_share() {
    for (fails, ignores, ends_as, money) in [
        (None, false, "answered", USED),
        (Some(Signal::Permanent), false, "permanent", 0),
        (None, true, "timed_out", USED),
    ] {
        let world = World::new();
        let mut job = Keeps::new(&world);
        (job.fails, job.ignores) = (fails, ignores);
        let (hold, granted) = (Arc::clone(&job.hold), Arc::clone(&job.granted));
        let end = world.workflow.root().run(job, JobOptions::default()).await;
        assert_eq!((word(&end), cost(&end), world.spent()), (ends_as, money, money));
        assert_eq!(world.harness.ledger().under_way(), 0, "money is settled");
        let admission = world.harness.admission();
        assert_eq!(admission.free(world.http), 0, "{ends_as}: the work may be there");
        let live = world.workflow.live();
        assert!(live.len() == 1 && live[0].outlived, "{ends_as}: {live:?}");
        let said = world.workflow.longest(1)[0].to_string();
        assert!(said.contains("over, and its work goes on"), "{said}");
        let told = world.journal.events();
        assert!(told.iter().any(|what| matches!(what, EventKind::JobOutlived { .. })));
        let late = granted.lock().unwrap().as_ref().unwrap().hold();
        assert_eq!(late.unwrap_err(), AttemptOver, "nothing more of it can be had");
        world.sleep(Span::from_mins(10)).await;
        assert_eq!(admission.free(world.http), 0, "nothing takes it away");
        hold.lock().unwrap().clear();
        world.check_rest();
    }
}

/// A rate limit is told to the accounts at once, not when the thread has ended.
#[tokio::test(start_paused = true)]
async fn the_pace_is_told_at_the_end_of_the_attempt() {
    let world = World::with(2, 4);
    let mut job = Keeps::new(&world);
    job.fails = Some(Signal::RateLimited { retry_after: Some(Span::from_mins(5)) });
    let hold = Arc::clone(&job.hold);
    let options = JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
    drop(world.workflow.root().run(job, options).await);
    let began = world.now();
    let next = world.script([&[Act::Send]]);
    drop(world.start(next.clone(), JobOptions::default()).await);
    assert_eq!(next.seen.starts(), [began + Span::from_mins(5)], "parked");
    hold.lock().unwrap().clear();
    world.check_rest();
}

/// Each attempt has a grant of its own: a retry waits until there is room beside what is kept.
#[tokio::test(start_paused = true)]
async fn a_retry_does_not_take_over_what_is_kept() {
    let world = World::new();
    let mut job = Keeps::new(&world);
    job.fails = Some(Signal::RateLimited { retry_after: Some(Span::ZERO) });
    let hold = Arc::clone(&job.hold);
    let retry = RetryPolicy { rate_limits: 1, ..RetryPolicy::default() };
    let job = world.workflow.root().submit(job, JobOptions { retry, ..JobOptions::default() });
    let job = job.start();
    world.sleep(Span::from_secs(1)).await;
    assert_eq!(hold.lock().unwrap().len(), 1);
    assert_eq!(world.harness.admission().waiting(), 1, "the second attempt waits for the place");
    hold.lock().unwrap().clear();
    assert_eq!(word(&*job.end().await), "rate_limited");
    hold.lock().unwrap().clear();
    world.check_rest();
}

/// What an attempt left behind is told until it is gone, and not taken for the job's end.
#[tokio::test(start_paused = true)]
async fn a_job_that_is_tried_again_is_not_over() {
    let world = World::with(3, 4);
    let mut job = Keeps::new(&world);
    job.fails = Some(Signal::RateLimited { retry_after: Some(Span::from_mins(1)) });
    let hold = Arc::clone(&job.hold);
    let retry = RetryPolicy { rate_limits: 1, ..RetryPolicy::default() };
    let job = world.workflow.root().submit(job, JobOptions { retry, ..JobOptions::default() });
    let job = job.start();
    let told = || {
        let standing = world.workflow.longest(1).remove(0);
        let said = standing.to_string();
        (said[said.find("attempt").unwrap()..].to_owned(), standing.live.outlived)
    };
    world.sleep(Span::from_secs(1)).await;
    let paused = "attempt 1: waits for the end of its pause, for 1s";
    assert_eq!(told(), (format!("{paused}, and work of an attempt before goes on"), true));
    hold.lock().unwrap().clear();
    assert_eq!(told(), (paused.to_owned(), false));
    assert_eq!(word(&*job.end().await), "rate_limited");
    assert!(told().0.starts_with("attempt 2: over, and its work goes on for "));
    hold.lock().unwrap().clear();
    world.check_rest();
}

/// A job whose work is on a thread that hears of nothing.
struct Blocks {
    requirements: Requirements,
    begun: mpsc::Sender<()>,
    go_on: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Job for Blocks {
    type Out = u32;

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.requirements.clone())
    }

    async fn execute(&mut self, granted: Granted) -> Result<u32, Failure> {
        let (begun, go_on) = (self.begun.clone(), Arc::clone(&self.go_on));
        let work = granted.blocking(move || {
            begun.send(()).unwrap();
            go_on.lock().unwrap().recv().map_or(1, |()| 2)
        });
        let failed = |error: BlockingError| Failure::new(Signal::Permanent, Ended::Unsent, error);
        tokio::select! {
            biased;
            () = granted.cancel.cancelled() => Err(failed(BlockingError::ShutDown)),
            done = work => done.map_err(failed),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_keeps_its_grant_until_it_ends() {
    let world = World::new();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let requirements = world.script([&[]]).requirements;
    let job = Blocks { requirements, begun, go_on: Arc::new(Mutex::new(goes_on)) };
    let job = world.workflow.root().submit(job, JobOptions::default()).start();
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    job.cancel();
    let end = job.end().await;
    assert_eq!(end.result.as_ref().unwrap_err().name(), "cancelled");
    assert_eq!(world.harness.admission().free(world.http), 0);
    assert!(world.workflow.live()[0].outlived);
    // A shutdown does not wait for what it can't stop.
    world.harness.shutdown(Span::ZERO).await;
    go_on.send(()).unwrap();
    while !world.workflow.live().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.harness.admission().free(world.http), 1);
}

struct Panics(Requirements);

impl Job for Panics {
    type Out = Result<(), BlockingError>;

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.0.clone())
    }

    async fn execute(&mut self, granted: Granted) -> Result<Self::Out, Failure> {
        Ok(granted.blocking(|| panic!("on a thread")).await)
    }
}

#[tokio::test]
async fn a_panic_on_a_thread_is_an_error_of_the_work() {
    let world = World::new();
    let job = Panics(world.script([&[]]).requirements);
    let end = world.workflow.root().run(job, JobOptions::default()).await;
    let said = end.result.unwrap().unwrap_err();
    assert_eq!(said, BlockingError::Panicked("on a thread".into()));
    world.check_rest();
}

/// Waits for another job from inside its own work, by a handle that it was given.
struct Smuggles {
    requirements: Requirements,
    node: Node,
    other: JobHandle<()>,
}

impl Job for Smuggles {
    type Out = [JobError; 3];

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.requirements.clone())
    }

    async fn execute(&mut self, _: Granted) -> Result<Self::Out, Failure> {
        let run = self.node.run(Nothing, JobOptions::default()).await.result.unwrap_err();
        let waited = self.other.end().await.result.clone().unwrap_err();
        let depended = all_ended(vec![self.other.dependency()]).await.unwrap_err();
        Ok([run, waited, depended])
    }
}

struct Nothing;

impl Job for Nothing {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(Requirements::default())
    }

    async fn execute(&mut self, _: Granted) -> Result<(), Failure> {
        Ok(())
    }
}

/// With one place, each of the two would wait for ever: the error names both.
#[tokio::test(start_paused = true)]
async fn who_holds_something_waits_for_nobody() {
    let world = World::new();
    let node = world.workflow.root().child();
    let other = node.submit(world.script([&[Act::Send]]), JobOptions::default());
    let mut job = Smuggles {
        requirements: world.script([&[]]).requirements,
        node: node.clone(),
        other: other.start(),
    };
    let end = node.run(job, JobOptions::default()).await;
    let holds = end.record.job;
    for error in end.result.unwrap() {
        let JobError::WaitsWhileHolding { holder, job } = &error else { panic!("{error}") };
        assert_eq!(*holder, holds);
        assert_ne!(job, holder);
        assert_eq!(
            error.to_string(),
            format!(
                "{job} can't be waited for while {holder} holds what it was granted: submit it \
                 from the agent, not from within the job"
            )
        );
    }
    // Who was granted nothing holds nothing, and may wait.
    let mut of_none = world.script([&[]]).requirements;
    of_none.bindings.clear();
    of_none.needs[0].amount = 0;
    for requirements in [Requirements::default(), of_none] {
        job = Smuggles {
            requirements,
            node: node.clone(),
            other: node.submit(world.script([&[Act::Panic]]), JobOptions::default()).start(),
        };
        let end = node.run(job, JobOptions::default()).await;
        assert!(matches!(end.result, Err(JobError::Panicked { .. })), "its child had an answer");
    }
    world.check_rest();
}
