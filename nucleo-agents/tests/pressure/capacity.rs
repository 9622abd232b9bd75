//! Capacity that changes under a run, and reservations far above the use.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use nucleo_agents::prelude::*;
use tokio::time::Instant;

use crate::server::{Capacity, ask, error, fine, pause, served};

/// `full` a second for 5 minutes, a fifth of that for 10, and `full` again: the goodput of each minute
/// that begins a minute or more after a change is so many tenths of the capacity at least, and nothing
/// fails.
async fn goodput_follows(full: u32, says_when: bool, tenths: u64) {
    let (high, low) = (f64::from(full), f64::from(full) / 5.0);
    let capacity = Capacity::new(&[(0, high), (300, low), (900, high)], says_when);
    let server = Arc::clone(&capacity);
    let limits = format!("requests_per_second = {full}");
    let runtime = served(&limits, move |_, _| Arc::clone(&server).answer());
    let workflow = runtime.workflow("steady").start();
    let mut fan_out = workflow.fan_out(0..1_000_000, ask).max_in_flight(200);
    let end = Instant::now() + Duration::from_secs(20 * 60);
    while let Ok(item) = tokio::time::timeout_at(end, fan_out.next()).await {
        let item = item.unwrap();
        assert!(item.result.is_ok(), "{:?} after {} attempts", item.result, item.record.attempts);
    }
    let (full, fifth) = (u64::from(full) * 60, u64::from(full) * 12);
    for (minutes, full) in [(1..5, full), (6..15, fifth), (16..20, full)] {
        for minute in minutes {
            let goodput = capacity.goodput(minute);
            let told = capacity.told();
            assert!(goodput * 10 >= full * tenths, "minute {minute}: {goodput} of {full}; {told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn goodput_follows_a_capacity_that_says_when() {
    goodput_follows(10, true, 9).await;
}

#[tokio::test(start_paused = true)]
async fn goodput_follows_a_capacity_that_does_not_say_when() {
    goodput_follows(10, false, 9).await;
}

// Down to 12 a minute one refusal is a step of a quarter, and a drained bucket costs 5 s.
#[tokio::test(start_paused = true)]
async fn goodput_follows_a_small_capacity_that_says_when() {
    goodput_follows(1, true, 6).await;
}

#[tokio::test(start_paused = true)]
async fn goodput_follows_a_small_capacity_that_does_not_say_when() {
    goodput_follows(1, false, 6).await;
}

#[tokio::test(start_paused = true)]
async fn fifty_answers_of_one_congestion_step_down_once() {
    let runtime = served("requests_per_second = 100, headroom_ms = 0", |number, _| async move {
        pause(Duration::from_millis(20)).await;
        if number < 50 { error(429, "rate_limit_exceeded", None) } else { fine() }
    });
    let workflow = runtime.workflow("burst").start();
    let run = workflow.fan_out(0..50, ask).collect();
    let looked = async {
        // All are refused by now, and pause for 5 s at least: the bucket was drained, and fills.
        pause(Duration::from_millis(100)).await;
        let before = free(&runtime);
        pause(Duration::from_millis(400)).await;
        (before, free(&runtime))
    };
    let (report, (before, after)) = tokio::join!(run, looked);
    assert_eq!(report.answered(), 50, "{report}");
    // 100 a second, three quarters of it: 30 in 400 ms.
    assert_eq!(after - before, 30, "from {before} to {after}");
}

fn free(runtime: &Runtime) -> i128 {
    let accounts = runtime.harness().admission().accounts();
    let requests = accounts.iter().find(|account| &*account.name == "scribe.requests_per_second");
    requests.unwrap().available
}

#[tokio::test(start_paused = true)]
async fn one_refusal_fails_none_of_a_hundred_that_wait() {
    let runtime = served("requests_per_second = 10, max_concurrent = 2", |number, _| async move {
        pause(Duration::from_millis(20)).await;
        if number == 0 { error(429, "rate_limit_exceeded", Some(3_000)) } else { fine() }
    });
    let workflow = runtime.workflow("hundred").start();
    let report = workflow.fan_out(0..100, ask).collect().await;
    assert_eq!(report.answered(), 100, "{report}");
}

#[tokio::test(start_paused = true)]
async fn large_reservations_do_not_cost_throughput() {
    // 8,192 tokens are declared and 100 used: 12 reservations fill a minute's quota.
    let runtime = served("tokens_per_minute = 100_000", |_, _| async {
        pause(Duration::from_millis(500)).await;
        fine()
    });
    let workflow = runtime.workflow("rows").start();
    let row = |ctx: AgentContext, row: usize| async move {
        ctx.model(Grade::Small).user(format!("row {row}")).output(8_192).text().await
    };
    let mut fan_out = workflow.fan_out(0..1_000_000, row);
    let began = Instant::now();
    let mut by_minute = [0_u64; 5];
    let end = began + Duration::from_secs(5 * 60);
    while let Ok(item) = tokio::time::timeout_at(end, fan_out.next()).await {
        assert!(item.unwrap().result.is_ok());
        by_minute[usize::try_from(began.elapsed().as_secs() / 60).unwrap().min(4)] += 1;
    }
    // 110 tokens each, 100,000 a minute.
    let ideal = 100_000 / 110;
    for minute in 2..5 {
        assert!(by_minute[minute] * 10 >= ideal * 9, "{by_minute:?} of {ideal}");
    }
}
