//! What bounds a job from outside: its workflow's deadline, its model's retry budget, and the scopes
//! that its money is counted in.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use nucleo_core::limits::RetryShare;
use nucleo_core::spend::{Ask, NearCap, Of, ScopeId};
use nucleo_core::{Currency, Money, Reserved, Span, WorkflowId};
use nucleo_harness::attempt::{Ended, JobError, JobOptions, RetryPolicy, Signal};
use nucleo_harness::spend::{Approval, CostLedger, SpendGate};

use crate::script::{Act, Script};
use crate::world::{RESERVED, USAGE, USED, World, millionths, word};

const TRANSIENT: Signal = Signal::Transient { retry_after: None };

fn at_once(signal: &str) -> Signal {
    let retry_after = Some(Span::ZERO);
    match signal {
        "rate_limited" => Signal::RateLimited { retry_after },
        "overloaded" => Signal::Overloaded { retry_after },
        _ => Signal::Transient { retry_after },
    }
}

/// Wherever a job is when the deadline passes, it ends then, with all given back.
#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_everything() {
    let deadline = Span::from_secs(20);
    for (acts, waits, ends_after) in [
        // Running: its timeout is cut short, and a grace of two seconds follows.
        (vec![Act::Send, Act::Report(USAGE), Act::Ignore], None, 22),
        (vec![Act::Send, Act::Report(USAGE), Act::Obey], None, 20),
        // A pause that would end after it is not begun.
        (
            vec![Act::Send, Act::Wait(Span::from_secs(16)), Act::Fail(TRANSIENT, Ended::WithError)],
            None,
            16,
        ),
        // In the line.
        (vec![Act::Send], Some("place"), 20),
        // For siblings' money.
        (vec![Act::Send], Some("money"), 20),
    ] {
        let world = World::new();
        let bounded = world.harness.workflow("bounded").deadline(deadline).start();
        let place = world.script([&[Act::Send, Act::Wait(Span::from_secs(50))]]);
        let place = (waits == Some("place"))
            .then(|| tokio::spawn(world.start(place, JobOptions::default())));
        tokio::task::yield_now().await;
        if waits == Some("money") {
            bounded.set_cap(Some(Money::from_pico(RESERVED * 1_000_000, Currency::USD)));
        }
        let node = bounded.root().child();
        let options = || JobOptions { near_cap: NearCap::WaitForSiblings, ..JobOptions::default() };
        let sibling = world.script([&[Act::Send, Act::Report(USAGE), Act::Obey]]);
        let sibling = (waits == Some("money")).then(|| tokio::spawn(node.run(sibling, options())));
        tokio::task::yield_now().await;
        let began = world.now();
        let end = node.run(world.script([&acts]), options()).await;
        assert_eq!(word(&end), "deadline_passed", "{acts:?}: {:?}", end.result);
        assert_eq!(world.now().since(began), Span::from_secs(ends_after), "{acts:?}");
        let said = end.result.unwrap_err().to_string();
        assert_eq!(said, "the workflow's deadline of 20s has passed: allow a later one");
        if let Some(sibling) = sibling {
            assert_eq!(word(&sibling.await.unwrap()), "deadline_passed");
        }
        world.sleep(deadline).await;
        let late = node.run(world.script([&[Act::Send]]), JobOptions::default()).await;
        assert_eq!((word(&late), late.record.attempts), ("deadline_passed", 0));
        assert!(bounded.live().is_empty());
        if let Some(place) = place {
            assert_eq!(word(&place.await.unwrap()), "answered", "another workflow has no deadline");
        }
        world.check_rest();
    }
}

fn failing(world: &World, signal: Signal) -> Script {
    let mut script = world.script([&[Act::Send, Act::Fail(signal, Ended::WithError)]]);
    script.requirements.bindings[0].accounts.clear();
    script
}

/// A hundred jobs at a model that fails: each has three retries, together they have ten.
#[tokio::test(start_paused = true)]
async fn a_model_bounds_the_retries_of_all_jobs() {
    for (signal, requests) in [("overloaded", 110), ("transient", 110), ("rate_limited", 1_100)] {
        let world = World::with(200, 200);
        let script = failing(&world, at_once(signal));
        let jobs = (0..100).map(|_| world.start(script.clone(), JobOptions::default()));
        let ends = join_all(jobs).await;
        assert_eq!(script.seen.starts().len(), requests, "{signal}");
        assert!(ends.iter().all(|end| word(end) == signal), "it fails with the last signal");
        let spent = |error: &JobError| matches!(error, JobError::RetriesSpent { .. });
        let stopped = ends.iter().filter(|end| end.result.as_ref().is_err_and(spent)).count();
        assert_eq!(stopped > 90, signal != "rate_limited", "{signal}: {stopped}");
        world.check_rest();
    }
}

/// What goes well pays for retries; another model's budget is its own.
#[tokio::test(start_paused = true)]
async fn successes_allow_retries() {
    let world = World::with(2_000, 2_000);
    let well = world.script([&[Act::Send, Act::Report(USAGE)]]);
    let mut well_done = well.clone();
    well_done.requirements.bindings[0].accounts.clear();
    let jobs = (0..500).map(|_| world.start(well_done.clone(), JobOptions::default()));
    assert!(join_all(jobs).await.iter().all(|end| word(end) == "answered"));
    let script = failing(&world, at_once("overloaded"));
    let jobs = (0..100).map(|_| world.start(script.clone(), JobOptions::default()));
    drop(join_all(jobs).await);
    assert_eq!(script.seen.starts().len(), 150, "a tenth of five hundred");
    let mut other = failing(&world, at_once("overloaded"));
    other.requirements.bindings[0].model = "other".into();
    drop(world.start(other.clone(), JobOptions::default()).await);
    assert_eq!(other.seen.starts().len(), 4);
    // A minute later there are ten again.
    world.sleep(Span::from_secs(61)).await;
    let script = failing(&world, at_once("transient"));
    let jobs = (0..100).map(|_| world.start(script.clone(), JobOptions::default()));
    drop(join_all(jobs).await);
    assert_eq!(script.seen.starts().len(), 110);
    world.check_rest();
}

#[tokio::test(start_paused = true)]
async fn the_share_can_be_set() {
    let none = RetryShare { percent: 0, least_a_minute: 0 };
    let world = World::set(2, 2, |builder| builder.retry_share(none));
    let script = failing(&world, at_once("transient"));
    let end = world.start(script.clone(), JobOptions::default()).await;
    let said = end.result.unwrap_err().to_string();
    assert_eq!(
        said,
        "failed after 1 attempt (transient), and model has no retries left: its failures are more \
         than its successes allow, come back when it has recovered"
    );
    // A correction is no failure of the model's.
    let corrected = [Act::Send, Act::Report(USAGE), Act::Fail(Signal::Correction, Ended::InFull)];
    let script = world.script([&corrected, &[Act::Send, Act::Report(USAGE)]]);
    assert_eq!(word(&world.run(&script).await), "answered");
}

/// A gate that asks somewhere else, and takes so long.
#[derive(Debug)]
struct Slow(Duration);

impl SpendGate for Slow {
    fn approve(&self, _: Ask) -> Approval {
        let asked = tokio::time::timeout(self.0, std::future::pending::<()>());
        // Another ledger without a cap approves what it likes.
        let ledger = CostLedger::new();
        ledger.open_workflow(WorkflowId::from_u128(7), "elsewhere", None).unwrap();
        let ask = Ask::new(WorkflowId::from_u128(7), "model", Reserved { input: 0, output: 0 });
        Box::pin(async move {
            asked.await.unwrap_err();
            ledger.approve(ask).await
        })
    }
}

/// What is approved or granted as the deadline passes does not begin.
#[tokio::test(start_paused = true)]
async fn nothing_begins_at_the_deadline() {
    let slow = Arc::new(Slow(Duration::from_secs(20)));
    let world = World::set(1, 4, |builder| builder.gate(slow));
    let hurried = world.harness.workflow("hurried").deadline(Span::from_secs(20)).start();
    let script = world.script([&[Act::Send, Act::Report(USAGE)]]);
    let end = hurried.root().run(script.clone(), JobOptions::default()).await;
    assert_eq!((word(&end), end.record.attempts), ("deadline_passed", 0));
    assert_eq!(script.seen.starts(), []);
    world.check_rest();
}

/// A retry that would come after the deadline takes none of its model's.
#[tokio::test(start_paused = true)]
async fn no_retry_is_taken_in_vain() {
    let one = RetryShare { percent: 0, least_a_minute: 1 };
    let world = World::set(2, 2, |builder| builder.retry_share(one));
    let hurried = world.harness.workflow("hurried").deadline(Span::from_secs(2)).start();
    let script = failing(&world, TRANSIENT);
    let end = hurried.root().run(script, JobOptions::default()).await;
    assert_eq!((word(&end), end.record.attempts), ("deadline_passed", 1));
    let once = [Act::Send, Act::Fail(TRANSIENT, Ended::WithError)];
    let script = world.script([&once, &[Act::Send, Act::Report(USAGE)]]);
    assert_eq!(word(&world.run(&script).await), "answered");
}

fn usd(attempts: i128) -> Option<Money> {
    Some(Money::from_pico(RESERVED * attempts * 1_000_000, Currency::USD))
}

/// One attempt is counted in its workflow, its user, its key and the day: each can refuse it.
#[tokio::test(start_paused = true)]
async fn money_is_counted_in_every_scope() {
    let scopes =
        [ScopeId::User("ann".into()), ScopeId::Key("house".into()), ScopeId::Day("UTC".into())];
    for tight in &scopes {
        let world = World::with(4, 4);
        for scope in &scopes {
            let attempts = if scope == tight { 1 } else { 10 };
            world.harness.set_cap(scope.clone(), usd(attempts)).unwrap();
        }
        let workflow = world.harness.workflow("of ann").user("ann").cap(usd(10).unwrap()).start();
        let job =
            || world.script([&[Act::Send, Act::Report(USAGE), Act::Wait(Span::from_secs(9))]]);
        let retry = RetryPolicy::NEVER;
        let options = || JobOptions { retry, ..JobOptions::default() };
        let first = workflow.root().submit(job(), options()).start();
        tokio::task::yield_now().await;
        let end = workflow.root().run(job(), options()).await;
        let refusal = end.result.as_ref().unwrap_err().refusal().unwrap();
        assert_eq!((&refusal.scope.id, refusal.siblings), (tight, 1), "{refusal}");
        for scope in &scopes {
            let position = world.harness.ledger().position(scope).unwrap();
            assert_eq!(position.under_way, 1, "all or none: {scope}");
        }
        // Raised while it runs, it lets the next one pass.
        world.harness.set_cap(tight.clone(), usd(2)).unwrap();
        assert_eq!(word(&workflow.root().run(job(), options()).await), "answered");
        assert_eq!(word(&*first.end().await), "answered");
        for scope in &scopes {
            let position = world.harness.ledger().position(scope).unwrap();
            assert_eq!((millionths(position.spent[0]), position.under_way), (2 * USED, 0));
        }
        let ann = world.harness.ledger().totals(Of::User("ann")).unwrap();
        assert_eq!((ann.calls, ann.refusals), (2, 1));
        world.check_rest();
    }
}

/// A new day has spent nothing; what is under way is booked in the day in which it ends.
#[tokio::test(start_paused = true)]
async fn a_day_begins_anew() {
    let world = World::with(4, 4);
    let day = ScopeId::Day("Asia/Tokyo".into());
    world.harness.set_cap(day.clone(), usd(1)).unwrap();
    let used = world.script([&[Act::Send, Act::Report(USAGE)]]);
    assert_eq!(word(&world.run(&used).await), "answered");
    let refused = world.run(&used).await;
    let said = refused.result.unwrap_err().to_string();
    assert!(said.ends_with("the next day begins at midnight in Asia/Tokyo"), "{said}");
    world.harness.ledger().begin_day("Asia/Tokyo", "2026-12-02");
    assert_eq!(word(&world.run(&used).await), "answered");
    let spent = world.harness.ledger().position(&day).unwrap().spent;
    assert_eq!(millionths(spent[0]), USED);
}
