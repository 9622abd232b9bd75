//! The gate and the ledger behind its lock: threads, wakers, drops, several gates.
//!
//! One output token costs a cent. Nothing sleeps: futures are polled by hand, and a waker counts.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use nucleo_core::spend::{
    Ask, Booking, NearCap, Of, Price, Rate, Rates, RefusalReason, ScopeId, SpendRefusal,
};
use nucleo_core::{Currency, Money, PICO, Reserved, Usage, WorkflowId};

use super::*;

const W: WorkflowId = WorkflowId::from_u128(7);

fn cents(n: i128) -> Money {
    Money::from_pico(n * PICO / 100, Currency::USD)
}

fn ask(workflow: WorkflowId, cents: u64) -> Ask {
    let rates = Rates::new(Rate::FREE, "10000".parse().unwrap());
    Ask::new(workflow, "m", Reserved { input: 0, output: cents })
        .price(Price::new(Currency::USD, rates))
}

fn patient(cents: u64) -> Ask {
    ask(W, cents).near_cap(NearCap::WaitForSiblings)
}

fn used(cents: u64) -> Booking {
    Booking::Actual(Usage { output: cents, ..Usage::default() })
}

fn ledger(cap: i128) -> CostLedger {
    let ledger = CostLedger::new();
    ledger.open_workflow(W, "w", Some(cents(cap))).unwrap();
    ledger
}

/// Spent, committed, under way and waiting, in cents.
fn sums(ledger: &CostLedger) -> (i128, i128, u64, u64) {
    let position = ledger.position(&ScopeId::Workflow(W)).unwrap();
    let in_cents = |sums: &[Money]| sums.iter().map(|sum| sum.pico() * 100 / PICO).sum();
    let (spent, committed) = (in_cents(&position.spent), in_cents(&position.committed));
    (spent, committed, position.under_way, position.waiting)
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicU32);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll(approval: &mut Approval) -> Poll<Result<Commitment, SpendError>> {
    poll_with(approval, Waker::noop())
}

fn poll_with(approval: &mut Approval, waker: &Waker) -> Poll<Result<Commitment, SpendError>> {
    Pin::new(approval).poll(&mut Context::from_waker(waker))
}

fn now(gate: &impl SpendGate, ask: Ask) -> Result<Commitment, SpendError> {
    match poll(&mut gate.approve(ask)) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits"),
    }
}

fn refusal(result: Result<Commitment, SpendError>) -> Box<SpendRefusal> {
    match result {
        Err(SpendError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_thousand_at_once_can_not_overshoot() {
    const THREADS: usize = 8;
    const ROUNDS: u128 = 10_000;
    let ledger = CostLedger::new();
    let barrier = Barrier::new(THREADS);
    let (asked, passed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let round = |id: WorkflowId| {
        let mut held = Vec::new();
        while asked.fetch_add(1, Ordering::SeqCst) < 20 {
            match now(&ledger, ask(id, 20)) {
                Ok(commitment) => held.push(commitment),
                Err(SpendError::Refused(refusal)) => {
                    assert_eq!((refusal.cap, refusal.spent), (cents(100), cents(0)));
                    assert_eq!((refusal.committed, refusal.siblings), (cents(100), 5));
                    assert_eq!(refusal.reservation, Some(cents(20)));
                }
                Err(other) => panic!("{other}"),
            }
        }
        passed.fetch_add(held.len(), Ordering::SeqCst);
        // Nobody gives back before everyone was decided.
        barrier.wait();
    };
    ledger.open_workflow(WorkflowId::from_u128(0), "", Some(cents(100))).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for n in 0..ROUNDS {
                    let id = WorkflowId::from_u128(n);
                    round(id);
                    if barrier.wait().is_leader() {
                        assert_eq!(passed.swap(0, Ordering::SeqCst), 5, "round {n}");
                        assert_eq!(ledger.close_workflow(id).unwrap().refusals.total(), 15);
                        let next = WorkflowId::from_u128(n + 1);
                        ledger.open_workflow(next, "", Some(cents(100))).unwrap();
                        asked.store(0, Ordering::SeqCst);
                    }
                    barrier.wait();
                }
            });
        }
    });
    assert_eq!(ledger.under_way(), 0);
}

#[test]
fn a_waiter_is_woken_inside_the_settlement_that_frees_enough() {
    let ledger = ledger(100);
    let first = now(&ledger, patient(60)).unwrap();
    let second = now(&ledger, patient(30)).unwrap();
    let bell = Arc::new(Bell::default());
    let mut waits = ledger.approve(patient(60));
    assert!(poll_with(&mut waits, &Waker::from(Arc::clone(&bell))).is_pending());
    second.settle(used(30));
    assert_eq!(bell.0.load(Ordering::SeqCst), 0, "30 + 60 + 60 is still over 100");
    first.settle(used(10));
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert_eq!(sums(&ledger), (40, 60, 1, 0), "committed before it was polled");
    let Poll::Ready(Ok(commitment)) = poll(&mut waits) else { panic!("it was decided") };
    drop(commitment);
    assert_eq!(sums(&ledger), (40, 0, 0, 0));
}

#[test]
fn the_last_waker_counts() {
    let ledger = ledger(10);
    let first = now(&ledger, patient(10)).unwrap();
    let (old, new) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut waits = ledger.approve(patient(10));
    assert!(poll_with(&mut waits, &Waker::from(Arc::clone(&old))).is_pending());
    assert!(poll_with(&mut waits, &Waker::from(Arc::clone(&new))).is_pending());
    assert_eq!(Arc::strong_count(&old), 1, "the old waker is gone");
    drop(first);
    assert_eq!((old.0.load(Ordering::SeqCst), new.0.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_waiter_is_refused_when_nothing_can_help_any_more() {
    let ledger = ledger(100);
    let first = now(&ledger, patient(60)).unwrap();
    let mut waits = ledger.approve(patient(60));
    assert!(poll(&mut waits).is_pending());
    first.settle(used(50));
    let Poll::Ready(result) = poll(&mut waits) else { panic!("it was decided") };
    let refusal = refusal(result);
    assert_eq!((refusal.reason, refusal.waiting_helps), (RefusalReason::OverCap, false));
    assert_eq!(refusal.exceeds_by, Some(cents(10)));
    assert_eq!(ledger.refusals(W).unwrap().total(), 1, "noted by the gate itself");
}

#[test]
fn a_dropped_waiter_leaves_and_the_next_one_passes() {
    let ledger = ledger(100);
    let first = now(&ledger, patient(60)).unwrap();
    let mut cancelled = ledger.approve(patient(60));
    let mut next = ledger.approve(patient(40));
    assert!(poll(&mut cancelled).is_pending() && poll(&mut next).is_pending());
    drop(cancelled);
    assert_eq!(sums(&ledger), (0, 100, 2, 0));
    drop(next);
    assert_eq!(sums(&ledger), (0, 60, 1, 0), "an approval that nobody took is given back");
    drop(first);
    drop(ledger.approve(patient(1)));
    assert_eq!(sums(&ledger), (0, 0, 0, 0), "one that was never polled asked nothing");
}

#[test]
fn the_end_reaches_every_waiter() {
    let ledger = ledger(100);
    let first = now(&ledger, patient(100)).unwrap();
    let mut waits = ledger.approve(patient(50));
    assert!(poll(&mut waits).is_pending());
    ledger.stop();
    assert!(matches!(poll(&mut waits), Poll::Ready(Err(SpendError::ShutDown))));
    assert!(matches!(now(&ledger, patient(1)), Err(SpendError::ShutDown)));
    first.settle(used(3));
    assert_eq!(sums(&ledger), (3, 0, 0, 0), "what is under way is booked all the same");

    let other = self::ledger(10);
    other.close_workflow(W).unwrap();
    assert!(matches!(now(&other, patient(1)), Err(SpendError::WorkflowClosed(W))));
}

#[test]
fn a_broken_ledger_fails_everyone_and_hangs_nobody() {
    let ledger = ledger(100);
    let first = now(&ledger, patient(100)).unwrap();
    let bell = Arc::new(Bell::default());
    let mut waits = ledger.approve(patient(50));
    assert!(poll_with(&mut waits, &Waker::from(Arc::clone(&bell))).is_pending());
    let forged = Commitment::new(Arc::clone(&ledger.shared) as _, 77 << 32);
    drop(forged);
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    let Poll::Ready(Err(SpendError::Defective(cause))) = poll(&mut waits) else { panic!() };
    assert_eq!(&*cause, "a commitment ends exactly once");
    assert!(matches!(now(&ledger, patient(1)), Err(SpendError::Defective(_))));
    drop(first);
}

#[test]
fn a_later_refusal_gives_back_what_earlier_gates_committed() {
    let (one, two) = (ledger(100), ledger(10));
    let gates = Gates::new(Arc::new(one.clone())).then(Arc::new(two.clone()));
    let refusal = refusal(now(&gates, patient(20)));
    assert_eq!(refusal.cap, cents(10));
    assert_eq!((sums(&one), sums(&two)), ((0, 0, 0, 0), (0, 0, 0, 0)));

    let commitment = now(&gates, patient(10)).unwrap();
    assert_eq!((sums(&one), sums(&two)), ((0, 10, 1, 0), (0, 10, 1, 0)));
    assert_eq!(commitment.settle(used(4)).cost, Some(cents(4)));
    assert_eq!((sums(&one), sums(&two)), ((4, 0, 0, 0), (4, 0, 0, 0)));
    assert_eq!(one.totals(Of::Model("m")).unwrap().calls, 1);
}

#[test]
fn nothing_is_held_while_a_later_gate_makes_one_wait() {
    let (one, two) = (ledger(100), ledger(10));
    let gates = Gates::new(Arc::new(one.clone())).then(Arc::new(two.clone()));
    let sibling = now(&two, patient(10)).unwrap();
    let mut waits = gates.approve(patient(10));
    assert!(poll(&mut waits).is_pending());
    assert_eq!((sums(&one), sums(&two)), ((0, 0, 0, 0), (0, 10, 1, 1)));
    // Meanwhile the first gate fills up: asked again, it makes one wait, and the second gives back.
    let other = now(&one, patient(95)).unwrap();
    drop(sibling);
    assert!(poll(&mut waits).is_pending());
    assert_eq!((sums(&one), sums(&two)), ((0, 95, 1, 1), (0, 0, 0, 0)));
    drop(other);
    let Poll::Ready(Ok(commitment)) = poll(&mut waits) else { panic!("both have room") };
    assert_eq!((sums(&one), sums(&two)), ((0, 10, 1, 0), (0, 10, 1, 0)));
    drop(commitment);
    assert_eq!((sums(&one), sums(&two)), ((0, 0, 0, 0), (0, 0, 0, 0)));
}
