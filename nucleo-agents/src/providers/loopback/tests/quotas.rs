//! Quotas that change while the server runs: the wait that a 429 names is always true.

use std::time::Duration;

use nucleo_core::Span;

use super::super::*;
use super::support::{ask, call, client, priced};

#[tokio::test(start_paused = true)]
async fn a_fifth_of_the_quota_for_ten_minutes_and_then_all_of_it() {
    let engine = Engine::new(LoopbackConfig::new([
        priced().quota(Quota::per_minute(Dimension::Requests, 100).burst_s(6))
    ]))
    .unwrap();
    let client = client("http://loopback", engine.transport());
    let request = ask("a question", 10);
    let mut answered = Vec::new();
    for (minutes, permille) in [(2, 1_000), (10, 200), (2, 1_000)] {
        engine.set_quota_permille(permille);
        let before = engine.ledger().answered;
        for _ in 0..minutes * 600 {
            let _ = call(&client, &request).await;
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        answered.push(engine.ledger().answered - before);
    }
    // A burst of 10, then the rate; a level clipped to 2 at most; then the rate again.
    assert!((200..=210).contains(&answered[0]), "{answered:?}");
    assert!((199..=202).contains(&answered[1]), "{answered:?}");
    assert!((199..=202).contains(&answered[2]), "{answered:?}");
    engine.set_quota_permille(200);
    engine.reset();
    for _ in 0..10 {
        assert!(call(&client, &request).await.is_ok(), "a reset is as at the start");
    }
}

/// Random questions, waits, jumps and shares: the wait that a 429 names is never too short, and no
/// more is taken than the quota of the whole time and its burst.
#[tokio::test(start_paused = true)]
async fn a_named_wait_is_true_whatever_happened_before() {
    for seed in 0..40 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let engine = Engine::new(LoopbackConfig::new([
            priced().quota(Quota::per_minute(Dimension::Requests, 60).burst_s(5))
        ]))
        .unwrap();
        let client = client("http://loopback", engine.transport());
        let request = ask("a question", 10);
        let (mut permille, mut refilled) = (1_000_u64, 5_000.0);
        for step in 0..300 {
            let what = format!("seed {seed} step {step} at {permille}");
            match rng.u32(0..10) {
                0 => {
                    permille = rng.u64(1..=2_000);
                    engine.set_quota_permille(u32::try_from(permille).unwrap());
                }
                1 => {
                    let by_ms = rng.i64(-100_000..10_000);
                    engine.jump_clock(by_ms);
                    refilled += permille as f64 * by_ms.max(0) as f64 / 1_000.0;
                }
                2..6 => {
                    let ms = rng.u64(0..2_000);
                    tokio::time::advance(Duration::from_millis(ms)).await;
                    refilled += permille as f64 * ms as f64 / 1_000.0;
                }
                _ => {
                    let Err(failure) = call(&client, &request).await else { continue };
                    let wait = failure.retry_after().expect(&what);
                    assert!(wait > Span::ZERO, "{what}");
                    let named_ms = wait.as_nanos().div_ceil(1_000_000);
                    tokio::time::advance(Duration::from_millis(named_ms)).await;
                    refilled += permille as f64 * named_ms as f64 / 1_000.0;
                    assert!(call(&client, &request).await.is_ok(), "{what}");
                }
            }
            let taken = engine.ledger().answered as f64 * 1_000.0;
            assert!(taken <= refilled + 1.0, "{what}: {taken} of {refilled}");
        }
    }
}
