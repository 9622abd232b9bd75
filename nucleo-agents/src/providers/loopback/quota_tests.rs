//! Quotas taken together: scripts of a few requests.

use super::*;

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
