//! Permits: so many at once, held until the work ends.
//!
//! Invariants: what is in use never grows past the capacity of its moment; a capacity that is
//! lowered is soft, holders drain and new demands wait.
//!
//! Not here: who waits (`admission`); a rate (`token_bucket`).

use crate::account::{Account, Horizon, Kind};
use crate::time::Time;

/// So many at once: a connection pool, a database, a model on your own machine.
///
/// ```
/// use nucleo_core::limits::Permits;
/// use nucleo_core::{Account, Time};
/// let mut pool = Permits::new(2);
/// pool.take(2, Time::ZERO);
/// assert_eq!(pool.available(Time::ZERO), 0);
/// pool.roll_back(1, Time::ZERO);
/// assert_eq!(pool.available(Time::ZERO), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Permits {
    capacity: u64,
    in_use: u64,
}

impl Permits {
    /// A pool of `capacity` permits, all free.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        Self { capacity, in_use: 0 }
    }

    /// Changes the capacity; those who hold keep what they hold.
    pub const fn resize(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// How many are held.
    #[must_use]
    pub const fn in_use(&self) -> u64 {
        self.in_use
    }

    fn give_back(&mut self, amount: u64) {
        let left = self.in_use.checked_sub(amount);
        self.in_use = left.expect("permits: gave back more than was taken");
    }
}

impl Account for Permits {
    fn kind(&self) -> Kind {
        Kind::Held
    }

    fn capacity(&self, _now: Time) -> u64 {
        self.capacity
    }

    fn available(&self, _now: Time) -> i128 {
        i128::from(self.capacity) - i128::from(self.in_use)
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        if self.available(now) >= level { Horizon::At(now) } else { Horizon::OnEvent }
    }

    fn take(&mut self, amount: u64, _now: Time) {
        self.in_use = self.in_use.checked_add(amount).expect("permits in use past u64::MAX");
    }

    fn settle(&mut self, taken: u64, _charged: u64, _now: Time) {
        self.give_back(taken);
    }

    fn roll_back(&mut self, amount: u64, _now: Time) {
        self.give_back(amount);
    }
}
