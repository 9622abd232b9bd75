//! A monitor that meets a bug of its own: everyone hears the same cause, nobody hangs, and no drop
//! unwinds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, AdmitError, Monitor, Reason};
use nucleo_harness::admission::{Admission, Ending, Grant};
use nucleo_harness::runtime::{ManualClock, TokioClock};

use crate::waiter::{Waiter, demand, hold};

/// An account of no monitor's: closing it is a bug that the monitor can't survive. A demand that names
/// it is only refused.
const NOWHERE: AccountId = AccountId::from_index(1_000);

fn monitor() -> (Monitor, AccountId) {
    let mut monitor = Monitor::new();
    let pool = monitor.open("pool", Permits::new(2));
    (monitor, pool)
}

fn cause(outcome: Result<Grant, AdmitError>) -> Arc<str> {
    match outcome {
        Err(AdmitError::Defective { cause }) => cause,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everyone_fails_with_the_same_cause() {
    let (monitor, pool) = monitor();
    let admission = Admission::without_timer(monitor, Arc::new(ManualClock::new()));
    let held = [(); 2].map(|()| hold(&admission, &[(pool, 1)]));
    let [mut sent, unsent] = held;
    sent.mark_sent();
    let waits = [1, 2, 2].map(|n| Waiter::waits(&admission, &[(pool, n)]));
    let dropped = Waiter::waits(&admission, &[(pool, 1)]);

    let Poll::Ready(outcome) = Waiter::new(&admission, demand(&[(NOWHERE, 1)])).poll() else {
        panic!("an unknown account is refused at once")
    };
    assert!(matches!(outcome, Err(AdmitError::LargerThanLimit { capacity: 0, .. })), "{outcome:?}");
    admission.close(NOWHERE, Reason::Closed);
    let Poll::Ready(outcome) = Waiter::new(&admission, demand(&[(pool, 1)])).poll() else {
        panic!("whoever comes later is told at once")
    };
    let first = cause(outcome);
    assert!(first.contains("out of bounds"), "it says what was wrong: {first}");
    for waiter in waits {
        assert_eq!(cause(waiter.decided()), first);
    }
    let Poll::Ready(outcome) = Waiter::new(&admission, demand(&[(pool, 1)])).poll() else {
        panic!("whoever comes later is told at once")
    };
    assert_eq!(cause(outcome), first);

    // None of these can do anything any more, and none of them unwinds.
    let quiet = catch_unwind(AssertUnwindSafe(|| {
        drop((sent, dropped));
        unsent.settle(Ending::default());
        admission.stop();
        admission.resize(pool, 9);
        admission.reconfigure(pool, Rate::per_second(1)).unwrap();
        assert_eq!(admission.turn(), None);
        assert_eq!(admission.open("more", Permits::new(1)), None);
    }));
    assert!(quiet.is_ok());
    assert_eq!(admission.accounts().len(), 1, "it can still be read");
}

/// The bug is met by a give-back, on its way out of a drop: the drop itself is quiet.
#[test]
fn a_bug_in_a_drop_does_not_unwind() {
    let (monitor, pool) = monitor();
    let admission = Admission::without_timer(monitor, Arc::new(ManualClock::new()));
    let grant = hold(&admission, &[(pool, 1)]);
    let waits = Waiter::waits(&admission, &[(pool, 2)]);
    let ending =
        Ending { buckets: [NOWHERE].into_iter().collect(), drain: true, ..Ending::default() };
    let quiet = catch_unwind(AssertUnwindSafe(|| grant.settle(ending)));
    assert!(quiet.is_ok());
    cause(waits.decided());
}

/// With the timer task there, and waiters parked in tasks of their own.
#[tokio::test(start_paused = true)]
async fn nobody_hangs() {
    let mut monitor = Monitor::new();
    let pool = monitor.open("pool", Permits::new(1));
    let bucket = monitor.open("bucket", TokenBucket::new(Rate::per_second(1)).unwrap());
    let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
    let held = admission.admit(demand(&[(pool, 1), (bucket, 1)])).await.unwrap();
    let parked: Vec<_> = (0..100)
        .map(|n| {
            let account = if n % 2 == 0 { pool } else { bucket };
            tokio::spawn(admission.admit(demand(&[(account, 1)])))
        })
        .collect();
    while admission.waiting() < 100 {
        tokio::task::yield_now().await;
    }
    admission.close(NOWHERE, Reason::Closed);
    let first = cause(admission.admit(demand(&[(pool, 1)])).await);
    for one in parked {
        assert_eq!(cause(one.await.unwrap()), first);
    }
    drop(held);
}
