//! Admission's lock under a model checker: every schedule of small cases, random ones of a crowd.
//! Run with `cargo test -p nucleo-harness --features __shuttle --test shuttle_admission`;
//! `NUCLEO_SHUTTLE_SCHEDULES` asks for more random ones.
//!
//! What holds in each: no wake-up is lost (`block_on` would deadlock, which the checker reports),
//! nothing is given back twice (the accounts assert it, and admission would be defective), and at
//! rest everything is back and nobody waits.
#![cfg(feature = "__shuttle")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, AdmitError, Demand, JobId, Monitor, Span, WorkflowId};
use nucleo_harness::admission::{Admission, Admit, Ending, Grant};
use nucleo_harness::runtime::ManualClock;
use shuttle::future::block_on;
use shuttle::thread;

/// Admission over permits, without a timer task, at a clock that stands still.
struct World {
    admission: Admission,
    clock: Arc<ManualClock>,
    accounts: Vec<(AccountId, u64)>,
}

impl World {
    fn new(permits: &[u64]) -> Self {
        let mut monitor = Monitor::new();
        let open = |capacity: &u64| (monitor.open("pool", Permits::new(*capacity)), *capacity);
        let accounts = permits.iter().map(open).collect();
        let clock = Arc::new(ManualClock::new());
        let admission = Admission::without_timer(monitor, Arc::clone(&clock) as _);
        Self { admission, clock, accounts }
    }

    /// So much of each account, in their order.
    fn admit(&self, amounts: &[u64]) -> Admit {
        let key = JobId::root(WorkflowId::from_u128(1)).attempt(1);
        let needs = self.accounts.iter().zip(amounts);
        let demand = needs.fold(Demand::new(key), |demand, ((account, _), amount)| {
            demand.need(*account, *amount)
        });
        self.admission.admit(demand)
    }

    fn hold(&self, amounts: &[u64]) -> Grant {
        let Poll::Ready(Ok(grant)) = poll(&mut self.admit(amounts)) else {
            panic!("what is free is granted at once")
        };
        grant
    }

    /// Asks, and stands in the line.
    fn wait(&self, amounts: &[u64]) -> Admit {
        let mut admit = self.admit(amounts);
        assert!(poll(&mut admit).is_pending());
        admit
    }

    fn check_rest(&self) {
        assert_eq!(self.admission.waiting(), 0);
        for (account, capacity) in &self.accounts {
            assert_eq!(self.admission.free(*account), i128::from(*capacity));
        }
        assert!(self.admission.open("probe", Permits::new(1)).is_some(), "admission is defective");
    }
}

fn poll(admit: &mut Admit) -> Poll<Result<Grant, AdmitError>> {
    Pin::new(admit).poll(&mut Context::from_waker(Waker::noop()))
}

/// A waiter is cancelled while what it waits for comes back: it may have been granted or not.
fn cancel_against_grant() {
    let world = World::new(&[1]);
    let holder = world.hold(&[1]);
    let cancelled = world.wait(&[1]);
    let behind = world.wait(&[1]);
    let gives_back = thread::spawn(move || holder.settle(Ending::default()));
    let cancels = thread::spawn(move || drop(cancelled));
    drop(block_on(behind).unwrap());
    gives_back.join().unwrap();
    cancels.join().unwrap();
    world.check_rest();
}

/// A grant is settled while another is dropped; the one behind needs what both hold.
fn drop_against_settle() {
    let world = World::new(&[2]);
    let (mut settled, dropped) = (world.hold(&[1]), world.hold(&[1]));
    let behind = world.wait(&[2]);
    let settles = thread::spawn(move || {
        settled.mark_sent();
        settled.settle(Ending::default());
    });
    let drops = thread::spawn(move || drop(dropped));
    block_on(behind).unwrap().roll_back();
    settles.join().unwrap();
    drops.join().unwrap();
    world.check_rest();
}

/// The end comes while one arrives and one waits: both hear of it, or the arrival was first.
fn stop_against_arrive() {
    let world = World::new(&[2]);
    let holder = world.hold(&[1]);
    let waiting = world.wait(&[2]);
    let arriving = world.admit(&[1]);
    let stopped = world.admission.clone();
    let stops = thread::spawn(move || stopped.stop());
    let arrives = thread::spawn(move || block_on(arriving));
    assert_eq!(block_on(waiting).unwrap_err(), AdmitError::ShutDown);
    assert_eq!(arrives.join().unwrap().unwrap_err(), AdmitError::ShutDown);
    stops.join().unwrap();
    drop(holder);
    world.check_rest();
}

/// The head leaves while its follower looks: what was set aside for the head lets it go, and
/// nothing else will.
fn head_leaves_against_look() {
    let world = World::new(&[2]);
    let holder = world.hold(&[1]);
    let head = world.wait(&[2]);
    let follower = world.wait(&[1]);
    let leaves = thread::spawn(move || drop(head));
    drop(block_on(follower).unwrap());
    leaves.join().unwrap();
    drop(holder);
    world.check_rest();
}

/// Two timers run the line at one instant, and one who waited leaves.
fn two_timers() {
    let world = World::new(&[2]);
    let bucket = TokenBucket::new(Rate::per_second(2)).unwrap();
    let tokens = world.admission.open("tokens", bucket).unwrap();
    let demand = |job: u64, amount| {
        let key = JobId::root(WorkflowId::from_u128(1)).child(job).attempt(1);
        Demand::new(key).need(tokens, amount)
    };
    let Poll::Ready(Ok(mut first)) = poll(&mut world.admission.admit(demand(0, 2))) else {
        panic!("a full bucket")
    };
    first.mark_sent();
    drop(first);
    let mut waits = [1, 2, 3].map(|job| world.admission.admit(demand(job, 1)));
    assert!(waits.iter_mut().all(|admit| poll(admit).is_pending()));
    world.clock.advance(Span::from_secs(1));
    let timers = [0, 1].map(|_| {
        let admission = world.admission.clone();
        thread::spawn(move || admission.turn())
    });
    let [one, two, three] = waits;
    let leaves = thread::spawn(move || drop(one));
    let mut granted = [two, three].map(|admit| block_on(admit).unwrap());
    granted.iter_mut().for_each(Grant::mark_sent);
    drop(granted);
    for timer in timers {
        timer.join().unwrap();
    }
    leaves.join().unwrap();
    assert_eq!(world.admission.free(tokens), 0, "two of two tokens are spent");
    world.check_rest();
}

/// A waker that looks at admission as it is dropped: wakers are foreign code, and no business of
/// the lock's.
struct Nosy(Admission);

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Nosy {
    fn drop(&mut self) {
        let _ = self.0.waiting();
    }
}

fn wakers_are_dropped_outside_the_lock() {
    let world = World::new(&[1]);
    let holder = world.hold(&[1]);
    let mut admit = world.admit(&[1]);
    for _ in 0..2 {
        let waker = Waker::from(Arc::new(Nosy(world.admission.clone())));
        assert!(Pin::new(&mut admit).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    drop(admit);
    drop(holder);
    world.check_rest();
}

#[test]
fn every_schedule_of_cancel_against_grant() {
    shuttle::check_dfs(cancel_against_grant, None);
}

#[test]
fn every_schedule_of_drop_against_settle() {
    shuttle::check_dfs(drop_against_settle, None);
}

#[test]
fn every_schedule_of_stop_against_arrive() {
    shuttle::check_dfs(stop_against_arrive, None);
}

#[test]
fn every_schedule_of_head_leaves_against_look() {
    shuttle::check_dfs(head_leaves_against_look, None);
}

#[test]
fn every_schedule_of_wakers_that_look_back() {
    shuttle::check_dfs(wakers_are_dropped_outside_the_lock, None);
}

/// Too many schedules for all of them.
#[test]
fn random_schedules_of_two_timers() {
    shuttle::check_random(two_timers, schedules());
}

/// More are let go at once than one pass decides: the rest is owed, and whoever enters next does
/// it, whether that is a timer, an arrival or another give-back.
#[test]
fn random_schedules_of_owed_passes() {
    const WAITING: u64 = 150;
    let case = || {
        let world = World::new(&[WAITING + 1]);
        let holder = world.hold(&[WAITING + 1]);
        let mut waits: Vec<_> = (0..WAITING).map(|_| world.wait(&[1])).collect();
        let arriving = world.admit(&[1]);
        let gives_back = thread::spawn(move || drop(holder));
        let arrives = thread::spawn(move || drop(block_on(arriving).unwrap()));
        let cancelled: Vec<_> = waits.drain(..2).collect();
        let leaves = thread::spawn(move || drop(cancelled));
        let timed = world.admission.clone();
        gives_back.join().unwrap();
        let timer = thread::spawn(move || {
            // As the timer task: again at once as long as something is due.
            while timed.turn().is_some_and(|due| due.as_nanos() == 0) {}
        });
        for admit in waits {
            drop(block_on(admit).unwrap());
        }
        for thread in [arrives, leaves, timer] {
            thread.join().unwrap();
        }
        world.check_rest();
    };
    shuttle::check_random(case, schedules().div_ceil(20));
}

/// Many threads with demands that overlap, and every way for a grant or a wait to end.
#[test]
fn random_schedules_of_a_crowd() {
    let case = || {
        let world = World::new(&[2, 1]);
        let crowd: Vec<_> = (0..5_usize)
            .map(|n| {
                let needs = [[1, 0], [0, 1], [1, 1], [2, 0], [2, 1]][n];
                let admits = [0, 1, 2].map(|_| world.admit(&needs));
                thread::spawn(move || {
                    for (round, mut admit) in admits.into_iter().enumerate() {
                        if (n + round) % 4 == 3 {
                            drop(poll(&mut admit));
                            thread::yield_now();
                            continue;
                        }
                        let mut grant = block_on(admit).unwrap();
                        match (n + round) % 4 {
                            0 => drop(grant),
                            1 => grant.roll_back(),
                            _ => {
                                grant.mark_sent();
                                grant.settle(Ending::default());
                            }
                        }
                    }
                })
            })
            .collect();
        for one in crowd {
            one.join().unwrap();
        }
        world.check_rest();
    };
    shuttle::check_random(case, schedules());
}

/// How many random schedules a case gets.
fn schedules() -> usize {
    let asked = std::env::var("NUCLEO_SHUTTLE_SCHEDULES").ok();
    asked.map_or(2_000, |asked| asked.parse().unwrap())
}
