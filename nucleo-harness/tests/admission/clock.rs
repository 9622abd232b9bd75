//! The timer task on a paused clock: it sleeps until the earliest deadline, and never polls.

use std::sync::Arc;

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, AdmitError, Monitor, Span, Time};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::TokioClock;
use tokio::runtime::Handle;

use crate::waiter::demand;

/// A fast bucket and a slow one, both empty, and a pool.
async fn world(pool: u64) -> (Admission, [AccountId; 3]) {
    let mut monitor = Monitor::new();
    let fast = monitor.open("fast", TokenBucket::new(Rate::per_second(1_000)).unwrap());
    let slow = monitor.open("slow", TokenBucket::new(Rate::per_minute(60)).unwrap());
    let pool = monitor.open("pool", Permits::new(pool));
    let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
    let all = admission.admit(demand(&[(fast, 1_000), (slow, 60)])).await.unwrap();
    all.settle(Ending::default());
    (admission, [fast, slow, pool])
}

async fn granted_at(admission: Admission, needs: Vec<(AccountId, u64)>) -> Time {
    let mut grant = admission.admit(demand(&needs)).await.unwrap();
    grant.mark_sent();
    admission.clock().now()
}

#[tokio::test(start_paused = true)]
async fn the_clock_alone_lets_go() {
    let (admission, [_, slow, _]) = world(1).await;
    let went = granted_at(admission.clone(), vec![(slow, 20)]).await;
    assert_eq!(went, Time::from_millis(20_000));
    let went = granted_at(admission, vec![(slow, 1)]).await;
    assert_eq!(went, Time::from_millis(21_000));
}

/// Lets the other tasks run until so many stand in the line.
async fn until_waiting(admission: &Admission, count: usize) {
    while admission.waiting() < count {
        tokio::task::yield_now().await;
    }
}

/// The timer sleeps for the slow one when an earlier deadline comes up: the bell wakes it.
#[tokio::test(start_paused = true)]
async fn an_earlier_deadline_rearms_the_timer() {
    let (admission, [fast, slow, _]) = world(1).await;
    let late = tokio::spawn(granted_at(admission.clone(), vec![(slow, 30)]));
    admission.clock().sleep_until(Time::from_millis(1)).await;
    let early = tokio::spawn(granted_at(admission.clone(), vec![(fast, 500)]));
    assert_eq!(early.await.unwrap(), Time::from_millis(500));
    assert_eq!(late.await.unwrap(), Time::from_millis(30_000));
}

/// The wait ends by the clock as well, with nothing else going on.
#[tokio::test(start_paused = true)]
async fn a_wait_ends_by_the_clock() {
    let (admission, [_, _, pool]) = world(1).await;
    let _holder = admission.admit(demand(&[(pool, 1)])).await.unwrap();
    let patience = Span::from_mins(24 * 60);
    let error = admission.admit(demand(&[(pool, 1)]).max_wait(patience)).await.unwrap_err();
    assert_eq!(error, AdmitError::Expired { waited: patience, on: "pool".into() });
    assert_eq!(admission.clock().now(), Time::ZERO + patience);
}

/// One give-back lets hundreds go: nobody enters after it, so the timer task does what is owed.
#[tokio::test(start_paused = true)]
async fn the_timer_does_what_is_owed() {
    const WAITING: u64 = 500;
    let (admission, [_, _, pool]) = world(WAITING).await;
    let holder = admission.admit(demand(&[(pool, WAITING)])).await.unwrap();
    let (sender, mut granted) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..WAITING {
        let (admission, sender) = (admission.clone(), sender.clone());
        tokio::spawn(async move {
            // Kept to the end: a give-back would do the work of the timer.
            sender.send(admission.admit(demand(&[(pool, 1)])).await.unwrap()).unwrap();
        });
    }
    until_waiting(&admission, 500).await;
    let began = admission.clock().now();
    drop(holder);
    let mut kept = Vec::new();
    while kept.len() < 500 {
        kept.push(granted.recv().await.unwrap());
    }
    assert_eq!(admission.clock().now(), began, "at once, not at some deadline");
    drop(kept);
    assert_eq!(admission.free(pool), 500);
}

/// The same at the end: hundreds are told that it is over.
#[tokio::test(start_paused = true)]
async fn everyone_hears_of_the_end() {
    let (admission, [_, _, pool]) = world(1).await;
    let _holder = admission.admit(demand(&[(pool, 1)])).await.unwrap();
    let waits: Vec<_> =
        (0..500).map(|_| tokio::spawn(admission.admit(demand(&[(pool, 1)])))).collect();
    until_waiting(&admission, 500).await;
    admission.stop();
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap_err(), AdmitError::ShutDown);
    }
    assert_eq!(admission.clock().now(), Time::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_timer_task_ends_with_its_admission() {
    let (admission, [_, slow, _]) = world(1).await;
    let waits = tokio::spawn(granted_at(admission.clone(), vec![(slow, 30)]));
    until_waiting(&admission, 1).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 2, "the timer and the waiter");
    waits.abort();
    drop(admission);
    assert!(waits.await.unwrap_err().is_cancelled());
    tokio::task::yield_now().await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
}
