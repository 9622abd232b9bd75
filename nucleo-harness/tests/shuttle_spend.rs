//! The ledger's lock under a model checker: every schedule of a small case, and random ones of a
//! larger. Run with `cargo test -p nucleo-harness --features __shuttle --test shuttle_spend`.
//!
//! The case is drop against settle: a waiter is cancelled while the settlement that would let it
//! pass runs, so its approval may or may not have come; either way nothing stays committed, and
//! the one behind it passes.
#![cfg(feature = "__shuttle")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use nucleo_core::spend::{Ask, Booking, NearCap, Price, Rate, Rates, ScopeId};
use nucleo_core::{Currency, Money, PICO, Reserved, Usage, WorkflowId};
use nucleo_harness::spend::{Approval, Commitment, CostLedger, SpendError, SpendGate};
use shuttle::future::block_on;
use shuttle::thread;

const W: WorkflowId = WorkflowId::from_u128(7);

fn cents(n: i128) -> Money {
    Money::from_pico(n * PICO / 100, Currency::USD)
}

fn patient(cents: u64) -> Ask {
    let rates = Rates::new(Rate::FREE, "10000".parse().unwrap());
    Ask::new(W, "m", Reserved { input: 0, output: cents })
        .price(Price::new(Currency::USD, rates))
        .near_cap(NearCap::WaitForSiblings)
}

fn used(cents: u64) -> Booking {
    Booking::Actual(Usage { output: cents, ..Usage::default() })
}

fn poll(approval: &mut Approval) -> Poll<Result<Commitment, SpendError>> {
    Pin::new(approval).poll(&mut Context::from_waker(Waker::noop()))
}

fn ledger() -> CostLedger {
    let ledger = CostLedger::new();
    ledger.open_workflow(W, "w", Some(cents(100))).unwrap();
    ledger
}

/// At rest: so much spent, nothing committed, nobody there.
fn check_rest(ledger: &CostLedger, spent: i128) {
    let position = ledger.position(&ScopeId::Workflow(W)).unwrap();
    assert_eq!((position.under_way, position.waiting), (0, 0));
    assert!(position.committed.iter().all(|sum| sum.pico() == 0));
    assert_eq!(position.spent.first().map_or(0, |sum| sum.pico()), cents(spent).pico());
}

/// One settles, one in the line is cancelled, one behind it waits to pass.
fn drop_against_settle() {
    let ledger = ledger();
    let Poll::Ready(Ok(first)) = poll(&mut ledger.approve(patient(60))) else { panic!() };
    let mut cancelled = ledger.approve(patient(90));
    assert!(poll(&mut cancelled).is_pending());
    let mut behind = ledger.approve(patient(20));
    assert!(poll(&mut behind).is_pending());

    let settles = thread::spawn(move || drop(first.settle(used(10))));
    let drops = thread::spawn(move || drop(cancelled));
    let commitment = block_on(behind).expect("the cancelled one makes room");
    commitment.settle(used(5));
    settles.join().unwrap();
    drops.join().unwrap();
    check_rest(&ledger, 15);
}

/// A waiter looks at its seat while the settlement hands the outcome out: no wake is lost.
fn look_against_settle() {
    let ledger = ledger();
    let Poll::Ready(Ok(first)) = poll(&mut ledger.approve(patient(60))) else { panic!() };
    let approval = ledger.approve(patient(60));
    let settles = thread::spawn(move || drop(first.settle(used(10))));
    drop(block_on(approval).expect("10 + 60 is within 100"));
    settles.join().unwrap();
    check_rest(&ledger, 10);
}

/// A waiter looks while the ledger is stopped.
fn look_against_stop() {
    let ledger = ledger();
    let Poll::Ready(Ok(first)) = poll(&mut ledger.approve(patient(60))) else { panic!() };
    let approval = ledger.approve(patient(60));
    let stopped = ledger.clone();
    let stops = thread::spawn(move || stopped.stop());
    assert!(matches!(block_on(approval), Err(SpendError::ShutDown)));
    stops.join().unwrap();
    drop(first);
    check_rest(&ledger, 0);
}

#[test]
fn every_schedule_of_drop_against_settle() {
    shuttle::check_dfs(drop_against_settle, None);
}

#[test]
fn every_schedule_of_look_against_settle() {
    shuttle::check_dfs(look_against_settle, None);
}

#[test]
fn every_schedule_of_look_against_stop() {
    shuttle::check_dfs(look_against_stop, None);
}

#[test]
fn random_schedules_of_a_crowd() {
    shuttle::check_random(
        || {
            let ledger = ledger();
            let crowd: Vec<_> = (0..6_u64)
                .map(|n| {
                    let ledger = ledger.clone();
                    thread::spawn(move || match n % 3 {
                        0 => block_on(ledger.approve(patient(40))).unwrap().settle(used(n)).cost,
                        1 => {
                            drop(block_on(ledger.approve(patient(30))).unwrap());
                            None
                        }
                        _ => {
                            let mut gives_up = ledger.approve(patient(50));
                            let _ = poll(&mut gives_up);
                            thread::yield_now();
                            None
                        }
                    })
                })
                .collect();
            for one in crowd {
                one.join().unwrap();
            }
            check_rest(&ledger, 3);
        },
        2_000,
    );
}
