//! Jobs after jobs: order, results, failures that reach what depends on them.

use std::error::Error as _;

use nucleo_core::Span;
use nucleo_harness::attempt::{Dependency, Ended, JobError, JobOptions, Signal, Step};
use nucleo_harness::workflow::{JobHandle, WaitsOn};

use crate::script::{Act, Script};
use crate::world::{USAGE, World, word};

fn answers(world: &World) -> Script {
    world.script([&[Act::Send, Act::Report(USAGE), Act::Wait(Span::from_secs(5))]])
}

fn fails(world: &World) -> Script {
    world.script([&[
        Act::Send,
        Act::Wait(Span::from_secs(5)),
        Act::Fail(Signal::Permanent, Ended::WithError),
    ]])
}

fn start(world: &World, script: &Script) -> JobHandle<()> {
    world.workflow.root().submit(script.clone(), JobOptions::default()).start()
}

#[tokio::test(start_paused = true)]
async fn a_job_begins_when_what_it_depends_on_has_answered() {
    let world = World::with(4, 4);
    let (first, script) = (start(&world, &answers(&world)), answers(&world));
    let began = world.now();
    let second = world.workflow.root().submit(script.clone(), JobOptions::default());
    let second = second.after(&first).start();
    let live = world.workflow.live();
    let waits = live.iter().find(|live| live.job == second.job()).unwrap();
    assert_eq!((waits.step, &waits.waits_on), (Step::Waiting, &WaitsOn::Jobs(vec![first.job()])));
    world.sleep(Span::from_secs(1)).await;
    let under_way = world.workflow.position().unwrap().under_way;
    assert_eq!(under_way, 1, "it has asked for no money");
    assert_eq!(word(&*second.end().await), "answered");
    assert_eq!(script.seen.starts(), [began + Span::from_secs(5)]);
    assert_eq!(first.end().await.record.cost.len(), 1, "the first one's end is still there");
    world.check_rest();
}

#[tokio::test(start_paused = true)]
async fn a_failure_reaches_what_depends_on_it_before_it_takes_anything() {
    let world = World::with(4, 4);
    let (slow, bad) = (start(&world, &answers(&world)), start(&world, &fails(&world)));
    let script = answers(&world);
    let root = world.workflow.root();
    let third = root.submit(script.clone(), JobOptions::default()).after(&slow).after(&bad).start();
    let fourth = root.submit(script.clone(), JobOptions::default()).after(&third).start();
    let end = fourth.end().await;
    let Err(error @ JobError::DependencyFailed { on, .. }) = &end.result else {
        panic!("{:?}", end.result)
    };
    assert_eq!(*on, third.job());
    assert_eq!(error.to_string(), format!("{}, which it depends on, has no result", third.job()));
    let cause = error.source().unwrap().to_string();
    assert_eq!(cause, format!("{}, which it depends on, has no result", bad.job()));
    assert_eq!(script.seen.starts(), [], "neither ever began");
    assert_eq!(end.record.attempts, 0);
    drop(slow.end().await);
    world.check_rest();
}

#[tokio::test(start_paused = true)]
async fn who_tolerates_a_failure_goes_on_after_it() {
    let world = World::with(4, 4);
    let bad = start(&world, &fails(&world));
    let script = answers(&world);
    let after = world.workflow.root().submit(script.clone(), JobOptions::default());
    let after = after.after_end_of(&bad).start();
    assert_eq!(word(&*after.end().await), "answered");
    assert_eq!(bad.try_end().unwrap().result.as_ref().unwrap_err().name(), "permanent");
    world.check_rest();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_job_fails_those_after_it() {
    let world = World::with(4, 4);
    let first = start(&world, &answers(&world));
    let after = world.workflow.root().submit(answers(&world), JobOptions::default());
    let after = after.after(&first).start();
    let guard = first.cancel_on_drop();
    world.sleep(Span::from_secs(1)).await;
    drop(guard);
    assert_eq!(word(&*first.end().await), "cancelled");
    assert_eq!(word(&*after.end().await), "dependency_failed");
    world.sleep(Span::from_secs(31)).await;
    world.check_rest();
}

/// A submitted job is nobody's: it goes on when every handle is dropped.
#[tokio::test(start_paused = true)]
async fn nobody_has_to_wait_for_it() {
    let world = World::new();
    drop(start(&world, &answers(&world)));
    world.sleep(Span::from_secs(10)).await;
    assert_eq!(world.workflow.totals().calls, 1);
    world.check_rest();
}

/// Two hundred jobs, each after some of those before it, a fifth of which fail: each ends, and a
/// failure reaches exactly those that do not tolerate it.
#[tokio::test(start_paused = true)]
async fn a_tangle_comes_to_rest() {
    let mut random = fastrand::Rng::with_seed(5);
    let world = World::with(50, 50);
    let mut jobs: Vec<JobHandle<()>> = Vec::new();
    let mut must_fail: Vec<bool> = Vec::new();
    for number in 0..200 {
        let bad = random.u8(0..5) == 0;
        let script = if bad { fails(&world) } else { answers(&world) };
        let mut job = world.workflow.root().submit(script, JobOptions::default());
        let mut reached = bad;
        for _ in 0..random.usize(0..3).min(number) {
            let other = random.usize(0..number);
            if random.u8(0..3) == 0 {
                job = job.after_end_of(&jobs[other]);
            } else {
                job = job.after(&jobs[other]);
                reached |= must_fail[other];
            }
        }
        jobs.push(job.start());
        must_fail.push(reached);
    }
    for (job, must_fail) in jobs.iter().zip(must_fail) {
        assert_eq!(job.end().await.result.is_err(), must_fail);
    }
    world.check_rest();
}

/// What never ends is waited for as long as a job may wait, and no longer.
#[tokio::test(start_paused = true)]
async fn a_wait_for_what_never_ends_has_an_end() {
    let world = World::new();
    let root = world.workflow.root();
    let options = JobOptions { max_wait: Span::from_mins(5), ..JobOptions::default() };
    let never = || Dependency::new(root.id(), std::future::pending());
    let began = world.now();
    let job = root.submit(answers(&world), options.clone()).depends_on(never()).start();
    let end = job.end().await;
    let said = end.result.as_ref().unwrap_err().source().unwrap().to_string();
    assert!(said.contains("what it depends on"), "{said}");
    assert_eq!(world.now().since(began), Span::from_mins(5));
    // The time is of the same wait as that in the line.
    let lasts = |minutes| {
        let mut script = world.script([&[Act::Send, Act::Wait(Span::from_mins(minutes))]]);
        script.requirements.timeout = Span::from_mins(60);
        script
    };
    let slow = start(&world, &lasts(4));
    let after = root.submit(answers(&world), options).after(&slow).start();
    let holds = start(&world, &lasts(50));
    let began = world.now();
    assert_eq!(word(&*after.end().await), "expired");
    assert_eq!(world.now().since(began), Span::from_mins(5));
    holds.cancel();
    drop((slow.end().await, holds.end().await));
    world.sleep(Span::from_secs(31)).await;
    world.check_rest();
}
