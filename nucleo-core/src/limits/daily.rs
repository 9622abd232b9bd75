//! Daily quota: so many a day, all of it back at midnight.
//!
//! The core knows no calendar: the shell hands in the instant of the next midnight of the quota's
//! zone, and hands in another one when that has passed. Between the two the quota refills by the
//! clock alone, once.
//!
//! Invariants: what is left never exceeds the quota; a give-back after midnight never lifts the new
//! day's quota above its size; asking changes nothing.
//!
//! Not here: zones and their midnights (`nucleo-agents`), rates (`token_bucket`).

use super::token_bucket::{AMOUNT_MAX, RateError};
use crate::account::{Account, Horizon, Kind};
use crate::time::Time;

/// So many a day.
///
/// ```
/// use nucleo_core::limits::DailyQuota;
/// use nucleo_core::{Account, Horizon, Time};
/// let midnight = Time::from_millis(1_000);
/// let mut quota = DailyQuota::new(10, midnight).unwrap();
/// quota.take(10, Time::ZERO);
/// assert_eq!(quota.when(3, Time::ZERO), Horizon::At(midnight));
/// assert_eq!(quota.available(midnight), 10);
/// ```
#[derive(Clone, Debug)]
pub struct DailyQuota {
    quota: u64,
    left: i128,
    /// The next midnight, until it has passed.
    refills: Option<Time>,
    outstanding: u64,
}

impl DailyQuota {
    /// A quota that is whole, and whole again at `midnight`.
    ///
    /// # Errors
    /// [`RateError`] when it is zero or past [`AMOUNT_MAX`].
    pub const fn new(quota: u64, midnight: Time) -> Result<Self, RateError> {
        if quota == 0 || quota > AMOUNT_MAX {
            return Err(RateError { rate: quota, burst: quota });
        }
        Ok(Self { quota, left: quota as i128, refills: Some(midnight), outstanding: 0 })
    }

    /// Hands in the next midnight; one that has passed meanwhile refills first.
    pub fn next_midnight(&mut self, midnight: Time, now: Time) {
        self.advance(now);
        self.refills = Some(midnight);
    }

    /// Taken and not yet settled.
    #[must_use]
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    fn has_refilled(&self, now: Time) -> bool {
        self.refills.is_some_and(|midnight| midnight <= now)
    }

    fn advance(&mut self, now: Time) {
        if self.has_refilled(now) {
            self.left = i128::from(self.quota);
            self.refills = None;
        }
    }

    fn give_back(&mut self, taken: u64, charged: u64, now: Time) {
        let left = self.outstanding.checked_sub(taken);
        self.outstanding = left.expect("daily quota: gave back more than was taken");
        self.advance(now);
        let back = self.left + i128::from(taken) - i128::from(charged);
        self.left = back.min(i128::from(self.quota));
    }
}

impl Account for DailyQuota {
    fn kind(&self) -> Kind {
        Kind::Metered
    }

    fn capacity(&self, _now: Time) -> u64 {
        self.quota
    }

    fn available(&self, now: Time) -> i128 {
        if self.has_refilled(now) { i128::from(self.quota) } else { self.left }
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        if self.available(now) >= level {
            return Horizon::At(now);
        }
        match self.refills {
            Some(midnight) if level <= i128::from(self.quota) => Horizon::At(midnight.max(now)),
            _ => Horizon::OnEvent,
        }
    }

    fn take(&mut self, amount: u64, now: Time) {
        self.advance(now);
        self.left -= i128::from(amount);
        let outstanding = self.outstanding.checked_add(amount);
        self.outstanding = outstanding.expect("taken of a day past u64::MAX");
    }

    fn settle(&mut self, taken: u64, charged: u64, now: Time) {
        self.give_back(taken, charged, now);
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        self.give_back(amount, 0, now);
    }
}
