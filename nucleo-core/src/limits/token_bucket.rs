//! Token bucket: the level is computed from the clock when asked; there is no refill task.
//!
//! The level is held in units of token x period (ns) x 1000, so that every instant in nanoseconds
//! and every slow-down in permille is exact: in `t` ns a bucket of `rate` tokens a period gains
//! `rate x permille x t` units (the virtual-scheduling form of the Generic Cell Rate Algorithm,
//! ITU-T I.371, with a level in place of a theoretical arrival time).
//!
//! Invariants: the level never exceeds the cap; asking changes nothing; `available(when(n)) >= n`
//! exactly, and not one nanosecond earlier; what is outstanding (taken, not settled) is counted, and
//! more never comes back.
//!
//! Not here: waiting (`admission`), the slow-down's rule (`throttle`), prices (`spend`).

use super::throttle::{FULL, Throttle};
use crate::account::{Account, Horizon, Kind, Verdict};
use crate::time::{Span, Time};

/// The largest rate and burst: with it, no product of a level can pass `i128`.
pub const AMOUNT_MAX: u64 = 1_000_000_000_000_000;

/// How a bucket fills: `rate` a `period`, at most `burst` at once.
///
/// ```
/// use nucleo_core::limits::Rate;
/// let rate = Rate::per_minute(60_000).burst(10_000);
/// assert_eq!(rate.burst_amount(), 10_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    rate: u64,
    period: Span,
    burst: u64,
}

/// A rate that a bucket cannot run at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a rate and a burst are within 1 ..= {AMOUNT_MAX}, not {rate} and {burst}")]
pub struct RateError {
    /// Tokens a period.
    pub rate: u64,
    /// Tokens at once.
    pub burst: u64,
}

impl Rate {
    /// `rate` a minute, a minute's worth at once.
    #[must_use]
    pub const fn per_minute(rate: u64) -> Self {
        Self { rate, period: Span::from_mins(1), burst: rate }
    }

    /// `rate` a second, a second's worth at once.
    #[must_use]
    pub const fn per_second(rate: u64) -> Self {
        Self { rate, period: Span::from_secs(1), burst: rate }
    }

    /// The most that may go at once.
    #[must_use]
    pub const fn burst(mut self, burst: u64) -> Self {
        self.burst = burst;
        self
    }

    /// The most that may go at once.
    #[must_use]
    pub const fn burst_amount(&self) -> u64 {
        self.burst
    }

    /// Tokens a period.
    #[must_use]
    pub const fn amount(&self) -> u64 {
        self.rate
    }

    /// The period.
    #[must_use]
    pub const fn period(&self) -> Span {
        self.period
    }

    /// This rate, if a bucket can run at it.
    ///
    /// # Errors
    /// [`RateError`] when the rate or the burst is zero or past [`AMOUNT_MAX`].
    pub const fn checked(self) -> Result<Self, RateError> {
        if self.rate >= 1
            && self.rate <= AMOUNT_MAX
            && self.burst >= 1
            && self.burst <= AMOUNT_MAX
            && self.period.as_nanos() > 0
        {
            return Ok(self);
        }
        Err(RateError { rate: self.rate, burst: self.burst })
    }

    /// Units of level that one token is.
    fn scale(&self) -> i128 {
        i128::from(self.period.as_nanos()) * i128::from(FULL)
    }

    fn cap(&self) -> i128 {
        i128::from(self.burst) * self.scale()
    }
}

/// So many a period: tokens a minute, requests a second.
///
/// ```
/// use nucleo_core::limits::{Rate, TokenBucket};
/// use nucleo_core::{Account, Horizon, Time};
/// let mut bucket = TokenBucket::new(Rate::per_second(10)).unwrap();
/// bucket.take(10, Time::ZERO);
/// assert_eq!(bucket.when(5, Time::ZERO), Horizon::At(Time::from_millis(500)));
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// What its owner set; a learnt rate is never above it.
    configured: Rate,
    /// When something was taken last.
    taken_at: Option<Time>,
    /// As of `at`, in token x period x 1000.
    level: i128,
    at: Time,
    throttle: Throttle,
    /// Nothing is taken before this instant.
    not_before: Time,
    outstanding: u64,
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range.
    pub fn new(rate: Rate) -> Result<Self, RateError> {
        let rate = rate.checked()?;
        Ok(Self {
            rate,
            configured: rate,
            taken_at: None,
            level: rate.cap(),
            at: Time::ZERO,
            throttle: Throttle::full(),
            not_before: Time::ZERO,
            outstanding: 0,
        })
    }

    /// Runs at another rate from now on; the level stays, at most the new cap.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range; nothing has changed then.
    pub fn reconfigure(&mut self, rate: Rate, now: Time) -> Result<(), RateError> {
        self.run_at(rate, now)?;
        self.configured = rate;
        Ok(())
    }

    /// Runs at a rate that somebody else told, within what its owner set, and back at that when the
    /// other tells more. Says whether anything changed.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range; nothing has changed then.
    pub fn learn(&mut self, rate: Rate, now: Time) -> Result<bool, RateError> {
        let most = self.configured;
        let within = rate.period == most.period && rate.rate < most.rate;
        let rate = if within { rate.burst(rate.burst.min(most.burst)) } else { most };
        let changes = rate != self.rate;
        if changes {
            self.run_at(rate, now)?;
        }
        Ok(changes)
    }

    /// Whether it runs at a learnt rate.
    #[must_use]
    pub fn is_learnt(&self) -> bool {
        self.rate != self.configured
    }

    /// Lowers the level to what was left elsewhere for a request that was sent at `sent`, if it is
    /// above; a word from before something else was taken says nothing any more.
    pub fn hear_remaining(&mut self, remaining: u64, sent: Time, now: Time) {
        if self.taken_at.is_none_or(|taken| taken <= sent) {
            self.lower_to(remaining, now);
        }
    }

    fn run_at(&mut self, rate: Rate, now: Time) -> Result<(), RateError> {
        let rate = rate.checked()?;
        self.advance(now);
        // One unit is another amount of token when the period differs.
        self.level = self.level / self.rate.scale() * rate.scale()
            + self.level % self.rate.scale() * rate.scale() / self.rate.scale();
        self.level = self.level.min(rate.cap());
        self.rate = rate;
        Ok(())
    }

    /// Lets nothing go before `until`; of two such instants the later wins.
    pub fn park(&mut self, until: Time) {
        self.not_before = self.not_before.max(until);
    }

    /// Lowers the level to zero, if it is above: the provider says that nothing is left.
    pub fn drain(&mut self, now: Time) {
        self.advance(now);
        self.level = self.level.min(0);
    }

    /// Lowers the level to `amount`, if it is above: the provider says that no more is left.
    pub fn lower_to(&mut self, amount: u64, now: Time) {
        self.advance(now);
        self.level = self.level.min(i128::from(amount) * self.rate.scale());
    }

    /// How it fills.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// Taken and not yet settled.
    #[must_use]
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The share of the rate it presently runs at, in permille.
    #[must_use]
    pub const fn slow_down_permille(&self) -> u64 {
        self.throttle.permille()
    }

    /// Units gained in a nanosecond.
    fn pace(&self) -> i128 {
        i128::from(self.rate.rate) * i128::from(self.throttle.permille())
    }

    fn level_at(&self, now: Time) -> i128 {
        let gained = self.pace() * i128::from(now.since(self.at).as_nanos());
        self.level.saturating_add(gained).min(self.rate.cap())
    }

    fn advance(&mut self, now: Time) {
        self.level = self.level_at(now);
        self.at = self.at.max(now);
    }

    fn give_back(&mut self, taken: u64, charged: u64, now: Time) {
        let left = self.outstanding.checked_sub(taken);
        self.outstanding = left.expect("token bucket: gave back more than was taken");
        self.advance(now);
        let difference = i128::from(taken) - i128::from(charged);
        self.level = (self.level + difference * self.rate.scale()).min(self.rate.cap());
    }
}

impl Account for TokenBucket {
    fn kind(&self) -> Kind {
        Kind::Metered
    }

    fn capacity(&self, _now: Time) -> u64 {
        self.rate.burst
    }

    fn available(&self, now: Time) -> i128 {
        let tokens = self.level_at(now).div_euclid(self.rate.scale());
        if now < self.not_before { tokens.min(0) } else { tokens }
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        if level > i128::from(self.rate.burst) {
            return Horizon::OnEvent;
        }
        let missing = level.saturating_mul(self.rate.scale()).saturating_sub(self.level_at(now));
        let wait = if missing <= 0 { 0 } else { (missing - 1) / self.pace() + 1 };
        let Some(at) = u64::try_from(wait).ok().and_then(|ns| now.as_nanos().checked_add(ns))
        else {
            return Horizon::OnEvent;
        };
        // A parked bucket shows nothing above zero until it opens.
        let parked = if level > 0 { self.not_before } else { Time::ZERO };
        Horizon::At(Time::from_nanos(at).max(parked))
    }

    fn take(&mut self, amount: u64, now: Time) {
        self.advance(now);
        self.taken_at = Some(now);
        self.level -= i128::from(amount) * self.rate.scale();
        let outstanding = self.outstanding.checked_add(amount);
        self.outstanding = outstanding.expect("tokens outstanding past u64::MAX");
    }

    fn settle(&mut self, taken: u64, charged: u64, now: Time) {
        self.give_back(taken, charged, now);
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        self.give_back(amount, 0, now);
    }

    fn verdict(&mut self, verdict: Verdict, now: Time) {
        self.advance(now);
        self.throttle.verdict(verdict, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learnt_rate_stays_within_the_owner_s() {
        let mut bucket = TokenBucket::new(Rate::per_minute(600).burst(500)).unwrap();
        assert!(bucket.learn(Rate::per_minute(60).burst(50), Time::ZERO).unwrap());
        assert_eq!((bucket.rate().amount(), bucket.available(Time::ZERO)), (60, 50));
        assert!(!bucket.learn(Rate::per_minute(60).burst(50), Time::ZERO).unwrap(), "said twice");
        assert!(bucket.learn(Rate::per_minute(9_000), Time::ZERO).unwrap());
        assert_eq!((bucket.rate().burst_amount(), bucket.is_learnt()), (500, false));
        assert!(bucket.learn(Rate::per_minute(0), Time::ZERO).is_err(), "no rate at all");
        bucket.learn(Rate::per_minute(60), Time::ZERO).unwrap();
        bucket.reconfigure(Rate::per_minute(30), Time::ZERO).unwrap();
        assert_eq!((bucket.rate().amount(), bucket.is_learnt()), (30, false), "the owner's word");
        assert!(!bucket.learn(Rate::per_minute(60), Time::ZERO).unwrap());
    }

    #[test]
    fn an_old_word_of_what_remains_is_not_heard() {
        let at = Time::from_millis;
        let mut bucket = TokenBucket::new(Rate::per_minute(600)).unwrap();
        bucket.hear_remaining(400, at(0), at(0));
        assert_eq!(bucket.available(at(0)), 400);
        bucket.take(10, at(5));
        bucket.hear_remaining(3, at(4), at(6));
        assert_eq!(bucket.available(at(6)), 390);
        bucket.hear_remaining(3, at(5), at(6));
        assert_eq!(bucket.available(at(6)), 3);
    }
}
