//! What an answer says about the pace, and whom it concerns.

use nucleo_core::limits::{Rate, TokenBucket};
use nucleo_core::{AccountId, Span};
use nucleo_harness::attempt::{Counted, Counts, Ended, JobOptions, RetryPolicy, Signal, Step};

use crate::script::{Act, Script};
use crate::world::{World, word};

/// A bucket of sixty requests a minute, full.
fn paced(world: &World) -> AccountId {
    let bucket = TokenBucket::new(Rate::per_minute(60)).unwrap();
    world.harness.admission().open("paced", bucket).unwrap()
}

/// A job that takes one request of the bucket and one call.
fn one_request(world: &World, bucket: AccountId, acts: &[Act]) -> Script {
    let mut script = world.script([acts]);
    let counted = |account, counts| Counted { account, counts, amount: 1 };
    script.requirements.bindings[0].accounts =
        [counted(bucket, Counts::Requests), counted(world.calls, Counts::Calls)]
            .into_iter()
            .collect();
    script
}

async fn run_once(world: &World, script: Script) {
    let options = JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
    drop(world.start(script, options).await);
    world.check_rest();
}

/// The wait that was asked for holds every other job on the binding's buckets, and nobody else.
#[tokio::test(start_paused = true)]
async fn a_named_wait_parks_the_buckets_for_others() {
    for signal in [
        Signal::RateLimited { retry_after: Some(Span::from_secs(40)) },
        Signal::Overloaded { retry_after: Some(Span::from_secs(40)) },
        Signal::Transient { retry_after: Some(Span::from_secs(40)) },
    ] {
        let world = World::new();
        let bucket = paced(&world);
        let acts = [Act::Send, Act::Fail(signal, Ended::RateLimited)];
        run_once(&world, one_request(&world, bucket, &acts)).await;
        let began = world.now();
        assert_eq!(world.harness.admission().free(world.calls), 4, "calls at once aren't parked");
        let mut other = one_request(&world, bucket, &[Act::Send]);
        other.requirements.bindings[0].accounts.truncate(0);
        assert_eq!(word(&world.run(&other).await), "answered");
        assert_eq!(world.now(), began, "who names no bucket of it goes");

        let next = one_request(&world, bucket, &[Act::Send]);
        let mut waits = world.start(next.clone(), JobOptions::default());
        world.drive_to(&mut waits, Step::InLine, (&next.seen, 0)).await;
        let end = waits.await;
        assert_eq!(next.seen.starts(), [began + Span::from_secs(40)], "{signal:?}");
        assert_eq!(end.record.waited, Span::from_secs(40));
        assert_eq!(end.record.waited_on["paced"], Span::from_secs(40), "it says what on");
        world.check_rest();
    }
}

/// Of two waits the later holds, whichever came last.
#[tokio::test(start_paused = true)]
async fn the_later_of_two_waits_wins() {
    let world = World::with(2, 4);
    let bucket = paced(&world);
    let limited = |s| Signal::RateLimited { retry_after: Some(Span::from_secs(s)) };
    let acts = |s| [Act::Send, Act::Fail(limited(s), Ended::RateLimited)];
    let options = || JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
    let long = world.start(one_request(&world, bucket, &acts(50)), options());
    let short = world.start(one_request(&world, bucket, &acts(10)), options());
    let began = world.now();
    let _ends = futures_util::join!(long, short);
    let next = one_request(&world, bucket, &[Act::Send]);
    world.run(&next).await;
    assert_eq!(next.seen.starts(), [began + Span::from_secs(50)]);
}

/// A rate limit that names no wait: nothing is left, and the rate goes down a step.
#[tokio::test(start_paused = true)]
async fn an_unnamed_wait_drains_the_level() {
    for (signal, in_a_minute) in [
        (Signal::RateLimited { retry_after: None }, Some(45)),
        // Both leave what is there; it comes back in full.
        (Signal::Overloaded { retry_after: None }, None),
        (Signal::Transient { retry_after: None }, None),
    ] {
        let world = World::new();
        let bucket = paced(&world);
        let acts = [Act::Send, Act::Fail(signal, Ended::RateLimited)];
        run_once(&world, one_request(&world, bucket, &acts)).await;
        let admission = world.harness.admission();
        assert_eq!(admission.free(bucket), if in_a_minute.is_some() { 0 } else { 60 });
        world.sleep(Span::from_secs(60)).await;
        assert_eq!(admission.free(bucket), in_a_minute.unwrap_or(60), "{signal:?}");
    }
}

/// Steps down, told by the time that one more request takes.
#[tokio::test(start_paused = true)]
async fn pushback_slows_down_and_an_answer_speeds_up() {
    let limited = Signal::RateLimited { retry_after: Some(Span::ZERO) };
    let overloaded = Signal::Overloaded { retry_after: Some(Span::ZERO) };
    let transient = Signal::Transient { retry_after: Some(Span::ZERO) };
    for (signal, permille) in [(limited, 750), (overloaded, 421), (transient, 1_000)] {
        let world = World::new();
        let bucket = paced(&world);
        let acts = [Act::Send, Act::Fail(signal, Ended::RateLimited)];
        run_once(&world, one_request(&world, bucket, &acts)).await;
        let mut all =
            one_request(&world, bucket, &[Act::Send, Act::EndsAs(Ended::Incomplete), Act::Panic]);
        all.requirements.bindings[0].accounts[0].amount = 60;
        run_once(&world, all).await;
        world.sleep(Span::from_secs(20)).await;
        assert_eq!(world.harness.admission().free(bucket), permille * 20 / 1_000, "{signal:?}");
    }
}

/// Nothing is left to pay with: whoever waits on the binding's buckets hears of it, and whoever
/// comes later, until the account is opened again.
#[tokio::test(start_paused = true)]
async fn out_of_credit_closes_the_buckets() {
    let world = World::new();
    let bucket = paced(&world);
    let acts = [Act::Send, Act::Here, Act::Obey];
    let empty = [
        Act::Send,
        Act::Wait(Span::from_secs(1)),
        Act::Fail(Signal::OutOfCredit, Ended::WithError),
    ];
    let broke = world.start(one_request(&world, bucket, &empty), JobOptions::default());
    let broke = tokio::spawn(broke);
    world.sleep(Span::from_millis(1)).await;
    let parked = one_request(&world, bucket, &acts);
    let mut waits = world.start(parked.clone(), JobOptions::default());
    world.drive_to(&mut waits, Step::InLine, (&parked.seen, 0)).await;
    assert_eq!(word(&waits.await), "refusing");
    let end = broke.await.unwrap();
    assert_eq!((word(&end), end.record.attempts), ("out_of_credit", 1));
    let late = world.run(&one_request(&world, bucket, &[Act::Send])).await;
    assert_eq!(word(&late), "refusing");
    world.harness.admission().reopen(bucket);
    let again = world.run(&one_request(&world, bucket, &[Act::Send])).await;
    assert_eq!(word(&again), "answered");
}
