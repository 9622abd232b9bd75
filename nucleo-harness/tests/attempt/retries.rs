//! Budgets of retries, the pauses between, and what a retry keeps.

use futures_util::poll;
use nucleo_core::spend::NearCap;
use nucleo_core::{Currency, Money, Span};
use nucleo_harness::attempt::{Ended, JobError, JobOptions, RetryPolicy, Signal, Step};

use crate::script::Act;
use crate::world::{RESERVED, USAGE, USED, World, cost, word};

const TRANSIENT: Signal = Signal::Transient { retry_after: None };

/// Always the same failure: so many requests, and the pauses together lie within these seconds.
#[tokio::test(start_paused = true)]
async fn budgets() {
    let limited = Signal::RateLimited { retry_after: None };
    let overloaded = Signal::Overloaded { retry_after: None };
    for (signal, ended, requests, seconds) in [
        (limited, Ended::RateLimited, 11, (275, 1_650)),
        (overloaded, Ended::WithError, 4, (90, 540)),
        (TRANSIENT, Ended::WithError, 4, (30, 180)),
        (TRANSIENT, Ended::CouldNotConnect, 4, (30, 180)),
        (Signal::Truncated, Ended::InFull, 2, (0, 0)),
        (Signal::Correction, Ended::InFull, 3, (0, 0)),
        (Signal::OutOfCredit, Ended::WithError, 1, (0, 0)),
        (Signal::Permanent, Ended::WithError, 1, (0, 0)),
    ] {
        let world = World::new();
        // Without the tokens: a drained bucket would add its own wait.
        let mut script = world.script([&[Act::Send, Act::Fail(signal, ended)]]);
        script.requirements.bindings[0].accounts.clear();
        let began = world.now();
        let end = world.run(&script).await;
        assert_eq!(script.seen.starts().len(), requests, "{signal:?}");
        assert_eq!(word(&end), signal.name());
        assert_eq!(end.record.attempts as usize, requests);
        let Err(JobError::Failed { attempts, .. }) = end.result else { panic!("it failed") };
        assert_eq!(attempts as usize, requests);
        let passed = world.now().since(began);
        let (least, most) = (Span::from_secs(seconds.0), Span::from_secs(seconds.1));
        assert!(passed >= least && passed <= most + Span::from_millis(20), "{signal:?}: {passed}");
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_are_apart_and_each_can_be_set() {
    let world = World::new();
    let fail = |signal, ended| vec![Act::Send, Act::Fail(signal, ended)];
    let at_once = Signal::Transient { retry_after: Some(Span::ZERO) };
    let mut script = world.script([&[]]);
    script.attempts = vec![
        fail(Signal::Truncated, Ended::InFull),
        fail(Signal::Correction, Ended::InFull),
        fail(at_once, Ended::WithError),
        fail(Signal::Correction, Ended::InFull),
        fail(Signal::Truncated, Ended::InFull),
    ];
    let end = world.run(&script).await;
    assert_eq!(word(&end), "truncated", "the second truncation is one too many");
    assert_eq!(end.record.attempts, 5);
    let retry = RetryPolicy { truncations: 2, ..RetryPolicy::default() };
    script.attempts.push(vec![Act::Send, Act::Report(USAGE)]);
    let end = world.start(script, JobOptions { retry, ..JobOptions::default() }).await;
    assert_eq!((word(&end), end.record.attempts), ("answered", 6));
    world.check_rest();
}

/// The provider's own wait is never shortened, and lengthened by a tenth at most; zero is at once.
#[tokio::test(start_paused = true)]
async fn retry_after_replaces_the_window() {
    for (asked, most) in [(0, 0), (2_000, 2_200), (1_000_000, 1_100_000)] {
        let asked = Span::from_millis(asked);
        let limited = Signal::RateLimited { retry_after: Some(asked) };
        let world = World::new();
        let script =
            world.script([&[Act::Send, Act::Fail(limited, Ended::RateLimited)], &[Act::Send]]);
        assert_eq!(word(&world.run(&script).await), "answered");
        let starts = script.seen.starts();
        let pause = starts[1].since(starts[0]);
        assert!(pause >= asked && pause <= Span::from_millis(most + 1), "{asked}: {pause}");
    }
}

/// Past what is left of the job's wait it fails now, with the provider's own figure.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_long_fails_now() {
    let world = World::new();
    let asked = Span::from_mins(61);
    let limited = Signal::RateLimited { retry_after: Some(asked) };
    let script = world.script([&[Act::Send, Act::Fail(limited, Ended::RateLimited)]]);
    let options = || JobOptions { max_wait: Span::from_mins(60), ..JobOptions::default() };
    let began = world.now();
    let end = world.start(script, options()).await;
    let Err(JobError::WaitTooLong { asked: told, left, .. }) = end.result else {
        panic!("{:?}", end.result)
    };
    assert_eq!((told, left), (asked, Span::from_mins(60)));
    assert_eq!(world.now(), began);
    // The account stays parked: the next job stands in the line until then.
    let mut next = world.start(world.script([&[Act::Send]]), options());
    world.drive_to(&mut next, Step::InLine, (&Default::default(), 0)).await;
    assert_eq!(word(&next.await), "expired");
    assert_eq!(world.now(), began + Span::from_mins(60));
    world.check_rest();
}

/// A retry stands where its first attempt stood: before those who came after it.
#[tokio::test(start_paused = true)]
async fn a_retry_keeps_its_place() {
    let world = World::new();
    let second = Span::from_secs(1);
    let again = Signal::Transient { retry_after: Some(second) };
    let first =
        world.script([&[Act::Send, Act::Fail(again, Ended::WithError)], &[Act::Send, Act::Here]]);
    let mut holder = world.script([&[Act::Send, Act::Wait(Span::from_mins(10))]]);
    holder.requirements.timeout = Span::from_mins(30);
    // Parked buckets would hold everyone, so only the first job meets them.
    holder.requirements.bindings[0].accounts.clear();
    let mut retries = world.start(first.clone(), JobOptions::default());
    world.drive_to(&mut retries, Step::Pausing, (&first.seen, 0)).await;
    let mut holds = world.start(holder.clone(), JobOptions::default());
    world.drive_to(&mut holds, Step::Running, (&holder.seen, 0)).await;
    let mut waits = world.start(holder.clone(), JobOptions::default());
    world.drive_to(&mut waits, Step::InLine, (&holder.seen, 0)).await;
    world.sleep(second + second).await;
    world.drive_to(&mut retries, Step::InLine, (&first.seen, 0)).await;
    let (_, _, end) = futures_util::join!(holds, waits, retries);
    assert_eq!(word(&end), "answered");
    let (retry, behind) = (first.seen.starts()[1], holder.seen.starts()[1]);
    assert!(retry <= behind, "the retry goes first, at {retry}, not after {behind}");
    world.check_rest();
}

/// In its pause a job holds nothing, neither a place nor money, and others go.
#[tokio::test(start_paused = true)]
async fn pauses_hold_nothing() {
    let world = World::new();
    let script = world.script([&[Act::Send, Act::Fail(TRANSIENT, Ended::WithError)], &[Act::Send]]);
    let mut paused = world.start(script.clone(), JobOptions::default());
    world.drive_to(&mut paused, Step::Pausing, (&script.seen, 0)).await;
    let position = world.workflow.position().unwrap();
    assert!(position.committed.iter().all(|sum| sum.pico() == 0));
    let admission = world.harness.admission();
    assert_eq!((admission.free(world.http), admission.waiting()), (1, 0));
    let began = world.now();
    let end = world.start(world.script([&[Act::Send, Act::Report(USAGE)]]), JobOptions::default());
    assert_eq!(word(&end.await), "answered");
    assert_eq!(world.now(), began);
    assert!(poll!(&mut paused).is_pending());
    assert_eq!(word(&paused.await), "answered");
    world.check_rest();
}

/// A cap for exactly one attempt is enough for its retry: they never meet.
#[tokio::test(start_paused = true)]
async fn a_retry_never_meets_its_own_commitment() {
    for near_cap in [NearCap::Refuse, NearCap::WaitForSiblings] {
        let world = World::new();
        world.workflow.set_cap(Some(Money::from_pico(RESERVED * 1_000_000, Currency::USD)));
        let failed = [Act::Send, Act::Fail(TRANSIENT, Ended::WithError)];
        let script = world.script([&failed, &failed, &[Act::Send, Act::Report(USAGE)]]);
        let end = world.start(script, JobOptions { near_cap, ..JobOptions::default() }).await;
        assert_eq!((word(&end), cost(&end), world.spent()), ("answered", USED, USED));
        assert_eq!(world.workflow.refusals(), []);
        world.check_rest();
    }
}

/// Every attempt that cost something is in the record, and in the workflow's sum.
#[tokio::test(start_paused = true)]
async fn corrections_are_paid_each() {
    let world = World::new();
    let corrected = [Act::Send, Act::Report(USAGE), Act::Fail(Signal::Correction, Ended::InFull)];
    let script = world.script([&corrected, &corrected, &[Act::Send, Act::Report(USAGE)]]);
    let end = world.run(&script).await;
    assert_eq!((word(&end), cost(&end), world.spent()), ("answered", 3 * USED, 3 * USED));
    assert_eq!(world.workflow.totals().calls, 3);
}
