//! Ten thousand jobs that fail, panic and are cancelled: the books balance at rest.

use futures_util::future::join_all;
use nucleo_core::Span;
use nucleo_core::spend::NearCap;
use nucleo_harness::attempt::{Ended, JobOptions, Signal};
use nucleo_harness::workflow::{EventKind, Node};

use crate::script::{Act, Script};
use crate::world::{USAGE, World, cost, word};

const JOBS: usize = 10_000;

/// What becomes of a job, in percent: 20 fail, 10 are cancelled, 5 panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answers,
    Fails,
    IsCancelled,
    Panics,
}

fn draw(random: &mut fastrand::Rng) -> Fate {
    match random.u32(0..100) {
        0..20 => Fate::Fails,
        20..30 => Fate::IsCancelled,
        30..35 => Fate::Panics,
        _ => Fate::Answers,
    }
}

/// What it does, with everything about it drawn: how long it takes, and how far it came.
fn script(world: &World, fate: Fate, random: &mut fastrand::Rng) -> Script {
    let wait = Act::Wait(Span::from_millis(random.u64(1..2_000)));
    let mut acts = vec![];
    if random.u32(0..10) > 0 {
        acts.push(Act::Send);
        acts.extend(random.bool().then_some(Act::Report(USAGE)));
    }
    acts.push(wait);
    acts.extend(match fate {
        Fate::Answers | Fate::IsCancelled => None,
        Fate::Fails => {
            let ends = [Ended::CouldNotConnect, Ended::WithError, Ended::InFull, Ended::Incomplete];
            let signals =
                [Signal::Transient { retry_after: None }, Signal::Correction, Signal::Permanent];
            Some(Act::Fail(signals[random.usize(0..3)], ends[random.usize(0..4)]))
        }
        Fate::Panics => Some(Act::Panic),
    });
    world.script([&acts])
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_jobs_leave_nothing_behind() {
    let seed = 20_260_301;
    let mut random = fastrand::Rng::with_seed(seed);
    let world = World::with(500, 400);
    let mut jobs = Vec::with_capacity(JOBS);
    for _ in 0..JOBS {
        let fate = draw(&mut random);
        let node: Node = world.workflow.root().child();
        let options = JobOptions { near_cap: NearCap::WaitForSiblings, ..JobOptions::default() };
        let job = tokio::spawn(node.run(script(&world, fate, &mut random), options));
        if fate == Fate::IsCancelled {
            let at = Span::from_millis(random.u64(0..120_000));
            let harness = world.harness.clone();
            tokio::spawn(async move {
                harness.clock().sleep_until(harness.clock().now() + at).await;
                node.cancel_token().cancel();
            });
        }
        jobs.push(job);
    }
    let ends: Vec<_> = join_all(jobs).await.into_iter().map(Result::unwrap).collect();
    world.check_rest();
    let booked: i128 = ends.iter().map(cost).sum();
    assert_eq!(booked, world.spent(), "seed {seed}: spent is the sum of the records");
    let totals = world.workflow.totals();
    let estimated: u64 = ends.iter().map(|end| u64::from(end.record.estimated)).sum();
    assert_eq!(totals.estimates, estimated, "seed {seed}");
    let count = |name| ends.iter().filter(|end| word(end) == name).count();
    for name in ["answered", "cancelled", "panicked", "transient", "correction", "permanent"] {
        assert!(count(name) > 50, "seed {seed}: {} {name}", count(name));
    }
    let started = |what: &&EventKind| matches!(what, EventKind::JobStarted { .. });
    assert_eq!(world.journal.events().iter().filter(started).count(), JOBS);
}
