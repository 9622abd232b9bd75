//! A user's own account behind the contract: its faults concern whoever asks it, and nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use nucleo_core::limits::{Foreign, Permits};
use nucleo_core::{
    Account, AccountId, Action, AdmitError, Demand, Horizon, JobId, Kind, Monitor, Settlement,
    Ticket, Time, WorkflowId,
};

/// Seats that its owner hands out, and that panics when told to.
#[derive(Debug, Clone, Default)]
struct Seats {
    free: Arc<AtomicI64>,
    panics_asked: Arc<AtomicU32>,
    panics_taken: Arc<AtomicU32>,
}

fn one_of(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

impl Account for Seats {
    fn kind(&self) -> Kind {
        Kind::Held
    }

    fn capacity(&self, _: Time) -> u64 {
        10
    }

    fn available(&self, _: Time) -> i128 {
        assert!(!one_of(&self.panics_asked), "the seats are on fire");
        self.free.load(Ordering::SeqCst).into()
    }

    fn when(&self, _: i128, _: Time) -> Horizon {
        Horizon::OnEvent
    }

    fn take(&mut self, amount: u64, _: Time) {
        assert!(!one_of(&self.panics_taken), "the seat broke");
        self.free.fetch_sub(i64::try_from(amount).expect("few seats"), Ordering::SeqCst);
    }

    fn settle(&mut self, taken: u64, _: u64, _: Time) {
        self.free.fetch_add(i64::try_from(taken).expect("few seats"), Ordering::SeqCst);
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        self.settle(amount, 0, now);
    }
}

struct World {
    monitor: Monitor,
    seats: Seats,
    own: AccountId,
    pool: AccountId,
    jobs: u64,
}

impl World {
    fn new(free: i64) -> Self {
        let seats = Seats::default();
        seats.free.store(free, Ordering::SeqCst);
        let mut monitor = Monitor::new();
        let pool = monitor.open("pool", Permits::new(5));
        let own = monitor.open("seats", Foreign::new(seats.clone()));
        Self { monitor, seats, own, pool, jobs: 0 }
    }

    fn submit(&mut self) -> Ticket {
        self.jobs += 1;
        let job = JobId::root(WorkflowId::from_u128(1)).child(self.jobs);
        let demand = Demand::new(job.attempt(1)).need(self.pool, 1).need(self.own, 1);
        self.monitor.submit(demand, Time::ZERO)
    }

    fn drain(&mut self) -> Vec<(Ticket, Result<(), AdmitError>)> {
        std::iter::from_fn(|| self.monitor.poll(Time::ZERO))
            .map(|action| match action {
                Action::Admit(admitted) => (admitted.ticket, Ok(())),
                Action::Reject(ticket, error) => (ticket, Err(error)),
            })
            .collect()
    }

    fn pool_free(&self) -> i128 {
        self.monitor.limit(self.pool).available(Time::ZERO)
    }
}

#[test]
fn it_is_waited_for_until_it_says_that_it_changed() {
    let mut world = World::new(0);
    let (first, second) = (world.submit(), world.submit());
    assert!(world.drain().is_empty());
    world.seats.free.store(1, Ordering::SeqCst);
    assert!(world.drain().is_empty(), "nothing polls");
    world.monitor.foreign_changed(world.own, Time::ZERO);
    assert_eq!(world.drain(), [(first, Ok(()))]);
    world.monitor.settle(first, &Settlement::in_full(), Time::ZERO);
    assert_eq!(world.drain(), [(second, Ok(()))]);
}

#[test]
fn a_panic_refuses_the_one_who_asks_and_the_next_one_goes() {
    for taken in [false, true] {
        let mut world = World::new(0);
        let (first, second) = (world.submit(), world.submit());
        assert!(world.drain().is_empty());
        world.seats.free.store(1, Ordering::SeqCst);
        let panics = if taken { &world.seats.panics_taken } else { &world.seats.panics_asked };
        panics.store(1, Ordering::SeqCst);
        world.monitor.foreign_changed(world.own, Time::ZERO);
        let outcomes = world.drain();
        let cause = if taken { "the seat broke" } else { "the seats are on fire" };
        let (account, cause) = ("seats".into(), cause.into());
        let fault = AdmitError::AccountFault { account, cause };
        assert_eq!(outcomes, [(first, Err(fault)), (second, Ok(()))], "taken: {taken}");
        assert_eq!(world.pool_free(), 4, "who was refused holds nothing");
    }
}
