//! Every step of an attempt under every fault: one scenario, run once for each pair.

use std::sync::Arc;

use nucleo_core::spend::{Ask, Booking, NearCap};
use nucleo_core::{Currency, Demand, JobId, Money, Reserved, Span, Usage};
use nucleo_harness::admission::Grant;
use nucleo_harness::attempt::{Dependency, Ended, JobEnd, JobOptions, Signal, Step};
use nucleo_harness::spend::{Commitment, SpendGate as _};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::script::{Act, Prepare, Script, failure};
use crate::world::{REQUEST, RESERVED, Running, TOKENS, USAGE, USED, World, cost, price, word};

/// Where the fault comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Waiting,
    Preparing,
    Approving,
    InLine,
    Granted,
    Sent,
    Reported,
    Pausing,
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Fail,
    Cancel,
    Panic,
    TimeOut,
    ShutDown,
    Drop,
}

/// Whether a running job ends by itself once its cancellation fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    Obeys,
    Ignores,
    AnswersLate,
    /// It obeys, and work of it goes on with a share of its grant.
    LeavesWork,
}

const FAULTS: [Fault; 6] =
    [Fault::Fail, Fault::Cancel, Fault::Panic, Fault::TimeOut, Fault::ShutDown, Fault::Drop];

/// How the job ends under each fault, in the order of [`FAULTS`], and then what an attempt that is
/// stopped there was charged: requests, tokens, money. `-`: the fault can't come there, because none
/// of the job's code runs, or no limit of time does. A dropped future tells nobody: `gone`.
const TABLE: &str = "
waiting    dependency_failed cancelled -        -         shut_down gone : 0 0 0
preparing  permanent         cancelled panicked -         shut_down gone : 0 0 0
approving  refused           cancelled -        expired   shut_down gone : 0 0 0
in_line    larger_than_limit cancelled -        expired   shut_down gone : 0 0 0
granted    permanent         cancelled panicked timed_out shut_down gone : 0 0 0
sent       permanent         cancelled panicked timed_out shut_down gone : 1 all reserved
reported   permanent         cancelled panicked timed_out shut_down gone : 1 all used
pausing    -                 cancelled -        -         shut_down gone : 1 0 0
";

const POINTS: [Point; 8] = [
    Point::Waiting,
    Point::Preparing,
    Point::Approving,
    Point::InLine,
    Point::Granted,
    Point::Sent,
    Point::Reported,
    Point::Pausing,
];

#[derive(Clone, Copy, Debug)]
struct Expected {
    end: &'static str,
    requests: u64,
    tokens: u64,
    money: i128,
}

/// One line of the table a point; `None` where the fault can't come.
fn expected(point: Point, fault: Fault) -> Option<Expected> {
    let at = POINTS.iter().position(|one| *one == point).unwrap();
    let line = TABLE.trim().lines().nth(at).unwrap();
    let (ends, charged) = line.split_once(':').unwrap();
    let at = FAULTS.iter().position(|one| *one == fault).unwrap();
    let end = ends.split_whitespace().nth(at + 1).unwrap();
    let mut charged = charged.split_whitespace();
    let mut next = || match charged.next().unwrap() {
        "0" => 0,
        "1" => REQUEST,
        "all" => TOKENS,
        "reserved" => u64::try_from(RESERVED).unwrap(),
        "used" => u64::try_from(USED).unwrap(),
        other => panic!("{other}?"),
    };
    let (requests, tokens, money) = (next(), next(), next().into());
    (end != "-").then_some(Expected { end, requests, tokens, money })
}

/// The fault and what keeps the job at its point until then.
#[derive(Default)]
struct Obstacle {
    held: Option<Grant>,
    committed: Option<Commitment>,
    /// What the job depends on fails when this is told.
    awaited: Option<oneshot::Sender<()>>,
}

impl Obstacle {
    async fn new(world: &World, point: Point) -> Self {
        let mut obstacle = Self::default();
        match point {
            Point::InLine => {
                let key = JobId::root(world.workflow.id()).attempt(1);
                let demand = Demand::new(key).need(world.http, 1);
                obstacle.held = Some(world.harness.admission().admit(demand).await.unwrap());
            }
            Point::Approving => {
                let cap = Money::from_pico(6_000_000_000, Currency::USD);
                world.workflow.set_cap(Some(cap));
                let tokens = Reserved { input: 0, output: 1_000 };
                let ask = Ask::new(world.workflow.id(), "model", tokens).price(price());
                obstacle.committed = Some(world.harness.ledger().approve(ask).await.unwrap());
            }
            _ => {}
        }
        obstacle
    }
}

/// What the script does up to the point, and from there on.
fn acts(point: Point, fault: Fault, manner: Manner) -> Vec<Act> {
    let mut acts = match point {
        Point::Sent => vec![Act::Send],
        Point::Reported => vec![Act::Send, Act::Report(USAGE)],
        Point::Pausing => {
            vec![Act::Send, Act::Fail(Signal::Transient { retry_after: None }, Ended::WithError)]
        }
        _ => vec![],
    };
    let runs = matches!(point, Point::Granted | Point::Sent | Point::Reported);
    if manner == Manner::LeavesWork && runs {
        acts.push(Act::Hold);
    }
    acts.push(Act::Here);
    acts.push(match (fault, manner) {
        (Fault::Fail, _) => Act::Fail(Signal::Permanent, Ended::Incomplete),
        (Fault::Panic, _) => Act::Panic,
        (_, Manner::Obeys | Manner::LeavesWork) => Act::Obey,
        (_, Manner::Ignores) => Act::Ignore,
        (_, Manner::AnswersLate) => Act::AnswerLate,
    });
    acts
}

fn script(world: &World, point: Point, fault: Fault, manner: Manner) -> Script {
    let mut script = world.script([&acts(point, fault, manner)]);
    script.prepare = match (point, fault) {
        (Point::Preparing, Fault::Fail) => Prepare::Fails,
        (Point::Preparing, Fault::Panic) => Prepare::Panics,
        _ => Prepare::Reads,
    };
    script
}

/// Brings the job to the point; faults that are the script's own come by themselves.
async fn bring(world: &World, job: &mut Running, script: &Script, point: Point) {
    let (step, here) = match point {
        Point::Preparing => return,
        Point::Waiting => (Step::Waiting, 0),
        Point::Approving => (Step::Approving, 0),
        Point::InLine => (Step::InLine, 0),
        Point::Granted | Point::Sent | Point::Reported => (Step::Running, 1),
        Point::Pausing => (Step::Pausing, 0),
    };
    world.drive_to(job, step, (&script.seen, here)).await;
}

/// Lets the fault happen, and says how the job ended if anybody is told.
async fn inject(
    world: &World,
    job: Running,
    point: Point,
    fault: Fault,
    obstacle: &mut Obstacle,
) -> Option<JobEnd<()>> {
    match (fault, point) {
        (Fault::Cancel, _) => world.workflow.cancel(),
        (Fault::ShutDown, _) => {
            let harness = world.harness.clone();
            let shutdown = tokio::spawn(async move { harness.shutdown(Span::from_secs(10)).await });
            let end = job.await;
            shutdown.await.unwrap();
            return Some(end);
        }
        (Fault::Drop, _) => {
            drop(job);
            // Its attempt runs on in its grace.
            world.sleep(Span::from_secs(31)).await;
            return None;
        }
        (Fault::Fail, Point::InLine) => world.harness.admission().resize(world.http, 0),
        (Fault::Fail, Point::Approving) => {
            // 0.002 USD were reserved and are billed: 0.005 more don't fit 0.006 for good.
            let usage = Usage { output: 1_000, ..Usage::default() };
            drop(obstacle.committed.take().unwrap().settle(Booking::Actual(usage)));
        }
        (Fault::Fail, Point::Waiting) => obstacle.awaited.take().unwrap().send(()).unwrap(),
        _ => {}
    }
    Some(job.await)
}

/// A job that waits for the failure of another, and tells its own end.
fn depending(
    world: &World,
    script: Script,
    options: JobOptions,
    obstacle: &mut Obstacle,
) -> Running {
    let (fail, failed) = oneshot::channel();
    obstacle.awaited = Some(fail);
    let other = world.workflow.root().child().id();
    let dependency = Dependency::new(other, async move {
        let _ = failed.await;
        Err(Arc::new(failure(Signal::Permanent, Ended::Unsent)) as _)
    });
    let handle = world.workflow.root().submit(script, options).depends_on(dependency).start();
    let cancel = handle.cancel_on_drop();
    Box::pin(async move {
        let _cancel = cancel;
        let end = handle.end().await;
        JobEnd { result: end.result.clone(), record: end.record.clone() }
    })
}

/// One scenario: brings the job to the point, injects the fault, and checks accounts, money, live
/// jobs and handle.
pub(crate) async fn scenario(point: Point, fault: Fault, manner: Manner) -> Option<World> {
    let expected = expected(point, fault)?;
    let world = World::new();
    let mut obstacle = Obstacle::new(&world, point).await;
    let script = script(&world, point, fault, manner);
    let options = JobOptions {
        max_wait: Span::from_mins(5),
        near_cap: NearCap::WaitForSiblings,
        ..JobOptions::default()
    };
    let mut job = match point {
        Point::Waiting => depending(&world, script.clone(), options, &mut obstacle),
        _ => world.start(script.clone(), options),
    };
    let by_itself = matches!(fault, Fault::Fail | Fault::Panic) && obstacle.is_none();
    if !by_itself {
        bring(&world, &mut job, &script, point).await;
    }
    match (fault, point) {
        (Fault::Cancel, Point::Preparing) => world.workflow.cancel(),
        (Fault::ShutDown, Point::Preparing) => world.harness.shutdown(Span::ZERO).await,
        _ => {}
    }
    let hour = Span::from_mins(60).to_std();
    let told = inject(&world, job, point, fault, &mut obstacle);
    let end = timeout(hour, told).await.expect("every handle resolves");
    let siblings = if point == Point::Approving && fault == Fault::Fail { 2_000 } else { 0 };
    let name = format!("{point:?} x {fault:?}, {manner:?}");
    let holds = std::mem::take(&mut *script.seen.holds.lock().unwrap());
    if !holds.is_empty() {
        assert_eq!(world.harness.admission().free(world.http), 0, "{name}: its work is not gone");
        assert_eq!(world.harness.ledger().under_way(), 0, "{name}: its money is settled");
        let live = world.workflow.live();
        assert!(live.len() == 1 && live[0].outlived, "{name}: {live:?}");
    }
    drop((holds, obstacle));
    world.harness.admission().resize(world.http, 1);

    assert_eq!(end.as_ref().map_or("gone", word), expected.end, "{name}");
    assert_eq!(world.charged(world.requests), expected.requests, "{name}: requests");
    assert_eq!(world.charged(world.tokens), expected.tokens, "{name}: tokens");
    assert_eq!(world.spent() - siblings, expected.money, "{name}: money");
    if let Some(end) = &end {
        assert_eq!(cost(end), expected.money, "{name}: the record");
        let estimates = u32::from(expected.money > 0);
        assert_eq!(end.record.estimated, estimates, "{name}: no complete answer is an estimate");
    }
    world.check_rest();
    Some(world)
}

impl Obstacle {
    fn is_none(&self) -> bool {
        self.held.is_none() && self.committed.is_none() && self.awaited.is_none()
    }
}

/// Runs every scenario, and hands each one's world to `each`.
pub(crate) async fn all(mut each: impl FnMut(&World)) -> usize {
    let mut count = 0;
    for point in POINTS {
        for fault in FAULTS {
            let manners = [Manner::Obeys, Manner::Ignores, Manner::AnswersLate, Manner::LeavesWork];
            for manner in manners {
                if let Some(world) = scenario(point, fault, manner).await {
                    each(&world);
                    count += 1;
                }
            }
        }
    }
    count
}

#[tokio::test(start_paused = true)]
async fn every_step_under_every_fault() {
    assert_eq!(all(|_| {}).await, 4 * (8 * 6 - 8));
}

/// The journal is kept whole by each, so this is where a place that forgets itself would show.
#[tokio::test(start_paused = true)]
async fn a_dropped_job_is_alive_until_its_work_is_gone() {
    let world = World::new();
    let script = world.script([&[Act::Send, Act::Here, Act::Ignore]]);
    let mut job = world.start(script.clone(), JobOptions::default());
    bring(&world, &mut job, &script, Point::Sent).await;
    drop(job);
    assert_eq!(world.workflow.live().len(), 1, "its work has a grace of six seconds");
    world.sleep(Span::from_secs(5)).await;
    assert_eq!(world.harness.admission().free(world.http), 0, "held while the work is there");
    world.sleep(Span::from_secs(2)).await;
    world.check_rest();
    assert_eq!(Arc::strong_count(&script.seen), 1, "the job itself is gone");
}
