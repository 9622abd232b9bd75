//! Quotas taken together: scripts of a few requests.

use super::*;
use crate::providers::loopback::Enforced;

const SECOND: u64 = 1_000_000_000;
const NOTHING: Amounts = Amounts { input: 0, output: 0 };

fn quotas(settle: Settle) -> Quotas {
    let model = LoopbackModel::new("m")
        .quota(Quota::per_minute(Dimension::Requests, 3))
        .quota(Quota::per_minute(Dimension::Tokens, 600))
        .settle(settle);
    Quotas::of(&model, 0)
}

#[test]
fn a_refused_request_pays_nowhere() {
    let mut quotas = quotas(Settle::Actual);
    let large = Amounts { input: 500, output: 100 };
    assert_eq!(quotas.take(large, 0), Ok(()));
    let refused = quotas.take(Amounts { input: 10, output: 10 }, 0);
    let waits = Refused::Quota {
        dimension: Dimension::Tokens,
        limit: 600,
        asked: 20,
        wait_ns: Some(2 * SECOND),
    };
    assert_eq!(refused, Err(waits));
    quotas.settle(large, Amounts { input: 500, output: 40 }, 0);
    for _ in 0..2 {
        assert_eq!(quotas.take(Amounts { input: 10, output: 10 }, 0), Ok(()));
    }
    let third = quotas.take(Amounts { input: 1, output: 1 }, 0);
    assert!(matches!(third, Err(Refused::Quota { dimension: Dimension::Requests, .. })));
}

#[test]
fn keep_gives_nothing_back() {
    let mut quotas = quotas(Settle::Keep);
    let asked = Amounts { input: 500, output: 100 };
    assert_eq!(quotas.take(asked, 0), Ok(()));
    quotas.settle(asked, NOTHING, 0);
    assert!(quotas.take(Amounts { input: 1, output: 0 }, 0).is_err());
}

#[test]
fn too_many_at_a_time() {
    let mut quotas = Quotas::of(&LoopbackModel::new("m").concurrent_max(1), 0);
    assert_eq!(quotas.take(NOTHING, 0), Ok(()));
    assert_eq!(quotas.take(NOTHING, 0), Err(Refused::Concurrent { limit: 1 }));
    quotas.settle(NOTHING, NOTHING, 0);
    assert_eq!(quotas.take(NOTHING, 0), Ok(()));
}

#[test]
fn a_minute_enforced_by_the_second() {
    let model = LoopbackModel::new("m")
        .quota(Quota::per_minute(Dimension::Requests, 30))
        .quota(Quota::per_minute(Dimension::Tokens, 6_000))
        .quota(Quota::per_day(Dimension::Requests, 1_000))
        .enforced(Enforced::BySecond);
    let mut quotas = Quotas::of(&model, 0);
    let small = Amounts { input: 30, output: 20 };
    assert_eq!(quotas.take(small, 0), Ok(()), "half a request a second, and one at a time");
    let Err(Refused::Quota { dimension, limit, wait_ns, .. }) = quotas.take(small, 0) else {
        panic!("two requests at once");
    };
    let waits = (Dimension::Requests, 30, Some(2 * SECOND));
    assert_eq!((dimension, limit, wait_ns), waits);
    assert_eq!(quotas.take(small, 2 * SECOND), Ok(()), "a day's quota is a day's");
    let large = quotas.take(Amounts { input: 60, output: 41 }, 60 * SECOND);
    let never =
        Refused::Quota { dimension: Dimension::Tokens, limit: 6_000, asked: 101, wait_ns: None };
    assert_eq!(large, Err(never));
}

#[test]
fn half_of_the_quotas() {
    let model = LoopbackModel::new("m")
        .quota(Quota::per_minute(Dimension::Requests, 4))
        .quota(Quota::per_minute(Dimension::Tokens, 600))
        .quota_permille(500);
    let mut quotas = Quotas::of(&model, 0);
    let request = Amounts { input: 50, output: 50 };
    let taken = |quotas: &mut Quotas, now_ns| {
        (0..10).take_while(|_| quotas.take(request, now_ns).is_ok()).count()
    };
    assert_eq!(taken(&mut quotas, 0), 2);
    let limits: Vec<_> = quotas.shown(0).iter().map(|shown| shown.limit).collect();
    assert_eq!(limits, [2, 300]);
    quotas.set_permille(1_000, 30 * SECOND);
    assert_eq!(taken(&mut quotas, 30 * SECOND), 1, "half a minute at half the rate");
    assert_eq!(taken(&mut quotas, 45 * SECOND), 1, "a quarter of a minute at the whole one");
    quotas.pass(3_600 * u128::from(SECOND));
    assert_eq!(taken(&mut quotas, 45 * SECOND), 4, "an hour at once fills, and no more");
    quotas.refill(45 * SECOND);
    assert_eq!(taken(&mut quotas, 45 * SECOND), 2, "as at the start");
}
