//! Cancellation, shutdown, and panics at awkward places.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use futures_util::poll;
use nucleo_core::Span;
use nucleo_core::spend::Ask;
use nucleo_harness::attempt::{
    Dependency, Ended, Failure, Granted, History, Job, JobError, JobOptions, Requirements, Signal,
    Step,
};
use nucleo_harness::spend::{Approval, SpendGate};
use nucleo_harness::workflow::{Event, Journal};

use crate::script::Act;
use crate::world::{CALLS, RESERVED, USAGE, USED, World, cost, word};

/// It answers in its grace, and is cancelled all the same; what it used is booked.
#[tokio::test(start_paused = true)]
async fn cancel_wins_over_an_answer_in_the_grace() {
    let world = World::new();
    let acts = [Act::Send, Act::Here, Act::AnswerLate];
    let script = world.script([&acts]);
    let mut job = world.start(script.clone(), JobOptions::default());
    world.drive_to(&mut job, Step::Running, (&script.seen, 1)).await;
    world.workflow.cancel();
    let end = job.await;
    assert_eq!((word(&end), cost(&end)), ("cancelled", RESERVED));
    world.check_rest();
}

/// A job whose cancellation fires between its grant and its first step does nothing at all: it
/// would only send a request for nobody.
#[tokio::test(start_paused = true)]
async fn what_has_not_begun_does_not_begin() {
    let world = World::new();
    let script = world.script([&[Act::Send, Act::Report(USAGE)]]);
    let mut job = world.start(script.clone(), JobOptions::default());
    // Granted and spawned in this very poll; its task has not run.
    assert!(poll!(&mut job).is_pending());
    assert_eq!(world.workflow.live()[0].step, Step::Running);
    world.workflow.cancel();
    assert_eq!(word(&job.await), "cancelled");
    assert_eq!(script.seen.starts(), []);
    assert_eq!((world.charged(world.requests), world.spent()), (0, 0));
    world.check_rest();
}

/// Part of the tree is cancelled: its jobs end, its siblings go on.
#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_what_is_below() {
    let world = World::with(2, CALLS);
    let (below, beside) = (world.workflow.root().child(), world.workflow.root().child());
    let script = world.script([&[Act::Send, Act::Report(USAGE), Act::Wait(Span::from_secs(5))]]);
    let run = |node: &nucleo_harness::workflow::Node| {
        tokio::spawn(node.run(script.clone(), JobOptions::default()))
    };
    let (cancelled, answered) = (run(&below.child()), run(&beside));
    world.sleep(Span::from_secs(1)).await;
    below.cancel_token().cancel();
    assert_eq!(word(&cancelled.await.unwrap()), "cancelled");
    assert_eq!(word(&answered.await.unwrap()), "answered");
    world.check_rest();
}

/// Dropping the handle of a workflow cancels nothing; the guard does.
#[tokio::test(start_paused = true)]
async fn cancel_on_drop_is_asked_for() {
    let world = World::new();
    let script = world.script([&[Act::Send, Act::Here, Act::Obey]]);
    let mut job = world.start(script.clone(), JobOptions::default());
    world.drive_to(&mut job, Step::Running, (&script.seen, 1)).await;
    drop(world.workflow.clone());
    let guard = world.workflow.cancel_on_drop();
    world.drive_to(&mut job, Step::Running, (&script.seen, 1)).await;
    drop(guard);
    assert_eq!(word(&job.await), "cancelled");
    world.check_rest();
}

/// Running ones end within the limit, the rest hears of it; nothing is left.
#[tokio::test(start_paused = true)]
async fn a_shutdown_resolves_everything() {
    let world = World::with(4, CALLS);
    let quick = [Act::Send, Act::Report(USAGE), Act::Wait(Span::from_secs(5))];
    let slow = [Act::Send, Act::Report(USAGE), Act::Wait(Span::from_secs(50)), Act::Send];
    let paused = [Act::Send, Act::Fail(Signal::Transient { retry_after: None }, Ended::WithError)];
    let scripts: Vec<&[Act]> = vec![&quick, &slow, &[Act::Send, Act::Ignore], &paused];
    let jobs = (0..40).map(|n| {
        let script = world.script([scripts[n % 4]]);
        tokio::spawn(world.start(script, JobOptions::default()))
    });
    let jobs: Vec<_> = jobs.collect();
    world.sleep(Span::from_secs(1)).await;
    world.harness.shutdown(Span::from_secs(10)).await;
    assert_eq!(world.harness.ledger().under_way(), 0, "every cost is booked when it returns");
    let ends: Vec<_> = join_all(jobs).await.into_iter().map(Result::unwrap).collect();
    let count = |name| ends.iter().filter(|end| word(end) == name).count();
    // The one that paused made room for a second quick one.
    assert_eq!((count("answered"), count("shut_down")), (2, 38));
    assert_eq!(ends.iter().map(cost).sum::<i128>(), world.spent());
    world.check_rest();
    let late = world.start(world.script([&[Act::Send]]), JobOptions::default()).await;
    assert_eq!(word(&late), "shut_down");
    world.check_rest();
}

/// The cut of a timeout: a tenth of it as grace, and then the work is gone.
#[tokio::test(start_paused = true)]
async fn a_timeout_and_its_grace() {
    for (timeout, ends_after) in [(1, 1_500), (60, 66_000), (3_600, 3_630_000)] {
        let world = World::new();
        let acts = [Act::Send, Act::Report(USAGE), Act::Ignore];
        let mut script = world.script([&acts]);
        script.requirements.timeout = Span::from_secs(timeout);
        let began = world.now();
        let end = world.run(&script).await;
        let Err(JobError::TimedOut { after }) = end.result else { panic!("{:?}", end.result) };
        assert_eq!(after, Span::from_secs(timeout));
        assert_eq!(world.now().since(began).as_millis(), ends_after);
        assert_eq!((cost(&end), end.record.estimated), (USED, 1), "as far as reported");
    }
}

/// Where a job panics.
#[derive(Clone, Copy, Debug)]
enum Awkward {
    /// Before there is a future at all.
    BeforeItsFuture,
    /// While its work is dropped, after it ignored its timeout.
    AsItsWorkIsDropped,
    /// While it is dropped itself, after it has answered.
    AsItIsDropped,
}

struct Panics {
    requirements: Requirements,
    at: Awkward,
    _mine: Option<Mine>,
}

struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        panic!("as it is dropped");
    }
}

impl Job for Panics {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.requirements.clone())
    }

    fn execute(&mut self, granted: Granted) -> impl Future<Output = Result<(), Failure>> + Send {
        granted.meter(0).mark_sent();
        granted.meter(0).usage(USAGE);
        match self.at {
            Awkward::BeforeItsFuture => panic!("before its future"),
            at => {
                async move {
                    if matches!(at, Awkward::AsItsWorkIsDropped) {
                        let _mine = Mine;
                        std::future::pending::<()>().await;
                    }
                    Ok(())
                }
            }
        }
    }
}

/// It has panicked, it pays what it used, and everything is back.
#[tokio::test(start_paused = true)]
async fn panics_end_in_the_job() {
    for (at, said) in [
        (Awkward::BeforeItsFuture, "before its future"),
        (Awkward::AsItsWorkIsDropped, "as it is dropped"),
        (Awkward::AsItIsDropped, "as it is dropped"),
    ] {
        let world = World::new();
        let requirements = world.script([&[]]).requirements;
        let _mine = matches!(at, Awkward::AsItIsDropped).then(|| Mine);
        let job = Panics { requirements, at, _mine };
        let end = world.workflow.root().submit(job, JobOptions::default()).start().end().await;
        let Err(JobError::Panicked { message }) = &end.result else { panic!("{at:?}: {end:?}") };
        assert_eq!(&**message, said);
        assert_eq!((cost(&end), world.spent()), (USED, USED), "{at:?}");
        world.check_rest();
    }
}

#[derive(Debug)]
struct BadGate;

impl SpendGate for BadGate {
    fn approve(&self, _: Ask) -> Approval {
        panic!("by the gate");
    }
}

/// What is not the job's own panics on its way: the job tells so, and is not lost.
#[tokio::test(start_paused = true)]
async fn panics_beside_the_job_end_in_it() {
    for said in ["by the gate", "by what it depends on"] {
        let world = World::set(1, CALLS, |builder| match said {
            "by the gate" => builder.gate(Arc::new(BadGate)),
            _ => builder,
        });
        let root = world.workflow.root();
        let mut job = root.submit(world.script([&[Act::Send]]), JobOptions::default());
        if said == "by what it depends on" {
            job = job.depends_on(Dependency::new(root.id(), async move { panic!("{said}") }));
        }
        let end = job.start().end().await;
        let Err(JobError::Panicked { message }) = &end.result else { panic!("{said}: {end:?}") };
        assert_eq!(&**message, said);
        world.check_rest();
    }
}

/// Panics at the `n`-th event.
#[derive(Debug)]
struct BadJournal(Mutex<u32>);

impl Journal for BadJournal {
    fn record(&self, _: &Event) {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.checked_sub(1).expect("no room");
    }
}

/// Whichever event the journal panics at, in a drop too: the run goes on.
#[tokio::test(start_paused = true)]
async fn a_journal_that_panics_stops_nothing() {
    for events in 0..8 {
        let journal = Arc::new(BadJournal(Mutex::new(events)));
        let world = World::set(1, CALLS, |builder| builder.journal(journal));
        let script = world.script([&[Act::Send, Act::Report(USAGE)]]);
        let job = world.workflow.root().submit(script.clone(), JobOptions::default()).start();
        assert_eq!(word(&*job.end().await), "answered", "{events}");
        drop(world.start(script, JobOptions::default()));
        world.check_rest();
    }
}
