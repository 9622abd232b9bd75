//! The server's token bucket: how much may be taken now, exactly.
//!
//! Written apart from the client's on purpose: two buckets with one mistake would agree.
//!
//! Invariants: the level is an integer count of equal parts of a unit, so refilling loses nothing
//! however often it is asked; it never exceeds the cap; it may fall below zero when more was used
//! than taken; time that passed is counted once, and none is ever taken back. The size of a part
//! does not depend on the share of the quota that is in force, so a level outlives its changes.
//!
//! Not here: several buckets at once (`quota`).

use super::config::Quota;

/// A level that rises with time up to a cap. Times are nanoseconds of the server's clock.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    quota: Quota,
    /// Parts in a unit: a thousand of the period's nanoseconds.
    unit: i128,
    /// Parts that come back in a nanosecond.
    rate: i128,
    cap: i128,
    level: i128,
    at_ns: u64,
}

impl Bucket {
    /// A full bucket of `permille` of the quota.
    pub(super) fn full(quota: &Quota, permille: u32, now_ns: u64) -> Self {
        let unit = i128::from(quota.period_s) * 1_000_000_000 * WHOLE;
        let (rate, cap, level, at_ns) = (0, 0, 0, now_ns);
        let mut bucket = Self { quota: *quota, unit, rate, cap, level, at_ns };
        bucket.set_permille(permille, now_ns);
        bucket.level = bucket.cap;
        bucket
    }

    /// From now on `permille` of the quota is in force: what lies above the new cap is gone, and
    /// what lies below comes back at the new rate.
    pub(super) fn set_permille(&mut self, permille: u32, now_ns: u64) {
        self.refill(now_ns);
        self.rate = i128::from(self.quota.amount) * i128::from(permille);
        let parts = self.rate.saturating_mul(i128::from(self.quota.burst_s));
        let burst = parts / (i128::from(self.quota.period_s) * WHOLE);
        // A quota that lets anything through lets one through at a time.
        let least = i128::from(self.rate > 0);
        self.cap = burst.max(least).saturating_mul(self.unit);
        self.level = self.level.min(self.cap);
    }

    /// The server's clock jumped forward: so much time passed at once.
    pub(super) fn pass(&mut self, ns: u128) {
        let ns = i128::try_from(ns).unwrap_or(i128::MAX);
        self.level = self.level.saturating_add(ns.saturating_mul(self.rate)).min(self.cap);
    }

    /// What is in force of the quota, a period.
    pub(super) fn limit(&self) -> u64 {
        u64::try_from(self.rate / WHOLE).unwrap_or(u64::MAX)
    }

    /// Nanoseconds until `units` fit; zero when they do now, `None` when they never will.
    pub(super) fn wait_ns(&mut self, units: u64, now_ns: u64) -> Option<u64> {
        self.refill(now_ns);
        let need = i128::from(units).saturating_mul(self.unit);
        if need <= self.level {
            return Some(0);
        }
        if need > self.cap || self.rate == 0 {
            return None;
        }
        u64::try_from(self.time_for(need.saturating_sub(self.level))).ok()
    }

    /// Takes what was found to fit.
    pub(super) fn take(&mut self, units: u64) {
        self.level -= i128::from(units).saturating_mul(self.unit);
        assert!(self.level >= 0, "taken without asking first");
    }

    /// Replaces `taken` by `used`: gives back the difference, or charges it.
    pub(super) fn correct(&mut self, taken: u64, used: u64, now_ns: u64) {
        self.refill(now_ns);
        let back = (i128::from(taken) - i128::from(used)).saturating_mul(self.unit);
        self.level = self.level.saturating_add(back).min(self.cap);
    }

    /// What could be taken now, and nanoseconds until it is full.
    pub(super) fn shown(&mut self, now_ns: u64) -> (u64, u64) {
        self.refill(now_ns);
        let units = u64::try_from((self.level / self.unit).max(0)).unwrap_or(u64::MAX);
        let missing = self.cap.saturating_sub(self.level);
        let full_ns = if self.rate == 0 { 0 } else { self.time_for(missing) };
        (units, u64::try_from(full_ns).unwrap_or(u64::MAX))
    }

    /// How long `parts` take to come back, rounded up.
    const fn time_for(&self, parts: i128) -> i128 {
        parts.saturating_add(self.rate - 1) / self.rate
    }

    fn refill(&mut self, now_ns: u64) {
        let elapsed = now_ns.saturating_sub(self.at_ns);
        self.at_ns = self.at_ns.max(now_ns);
        self.pass(elapsed.into());
    }
}

/// A whole in thousandths.
const WHOLE: i128 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::loopback::Dimension;

    const SECOND: u64 = 1_000_000_000;

    fn sixty_a_minute(burst_s: u64) -> Bucket {
        Bucket::full(&Quota::per_minute(Dimension::Requests, 60).burst_s(burst_s), 1_000, 0)
    }

    #[test]
    fn refills_exactly_however_often_it_is_asked() {
        let mut bucket = sixty_a_minute(10);
        bucket.take(10);
        for ns in (0..SECOND).step_by(1_000_003) {
            assert!(bucket.wait_ns(1, ns).unwrap() > 0);
        }
        assert_eq!(bucket.wait_ns(1, SECOND - 1), Some(1));
        assert_eq!(bucket.wait_ns(1, SECOND), Some(0));
    }

    #[test]
    fn an_hour_idle_gives_one_burst() {
        let mut bucket = sixty_a_minute(10);
        assert_eq!(bucket.wait_ns(10, 3_600 * SECOND), Some(0));
        assert_eq!(bucket.wait_ns(11, 3_600 * SECOND), None, "larger than it can ever hold");
    }

    #[test]
    fn corrections_in_both_directions() {
        let mut bucket = sixty_a_minute(10);
        bucket.take(8);
        bucket.correct(8, 3, 0);
        assert_eq!(bucket.shown(0).0, 7);
        bucket.correct(3, 13, 0);
        assert_eq!(bucket.wait_ns(1, 0), Some(4 * SECOND), "three below zero, and one");
        bucket.correct(100, 0, 0);
        assert_eq!(bucket.shown(0), (10, 0), "never above the cap");
    }

    #[test]
    fn a_share_of_a_quota_clips_and_comes_back_at_its_rate() {
        let mut bucket = sixty_a_minute(10);
        bucket.set_permille(500, 0);
        assert_eq!((bucket.limit(), bucket.shown(0)), (30, (5, 0)));
        bucket.take(5);
        assert_eq!(bucket.wait_ns(1, 0), Some(2 * SECOND));
        assert_eq!(bucket.wait_ns(6, 0), None, "larger than the half can ever hold");
        // On the way up the level stays where it is, and rises at the whole rate.
        bucket.set_permille(1_000, SECOND);
        assert_eq!(bucket.wait_ns(1, SECOND), Some(SECOND / 2));
        assert_eq!(bucket.wait_ns(10, SECOND), Some(9 * SECOND + SECOND / 2));
        // What was taken before comes back up to the cap of the moment, no further.
        bucket.set_permille(200, SECOND);
        bucket.correct(5, 0, SECOND);
        assert_eq!(bucket.shown(SECOND).0, 2);
        bucket.correct(0, 7, SECOND);
        bucket.set_permille(1_000, SECOND);
        assert_eq!(bucket.wait_ns(1, SECOND), Some(6 * SECOND), "a debt is no less for it");
    }

    #[test]
    fn nothing_of_a_quota_lets_nothing_through_and_all_of_it_does_again() {
        let mut bucket = sixty_a_minute(10);
        bucket.set_permille(0, 0);
        assert_eq!(bucket.wait_ns(1, 3_600 * SECOND), None);
        assert_eq!(bucket.shown(3_600 * SECOND), (0, 0));
        bucket.set_permille(1_000, 3_600 * SECOND);
        assert_eq!(bucket.wait_ns(1, 3_600 * SECOND), Some(SECOND), "it was empty all the while");
        bucket.set_permille(1, 3_600 * SECOND);
        assert_eq!(bucket.wait_ns(1, 3_600 * SECOND), Some(1_000 * SECOND), "one at a time");
        bucket.set_permille(u32::MAX, 7_200 * SECOND);
        assert!(bucket.wait_ns(1_000_000, 7_300 * SECOND).is_some());
    }

    #[test]
    fn shares_that_change_often_lose_nothing() {
        let (mut often, mut never) = (sixty_a_minute(10), sixty_a_minute(10));
        often.take(10);
        never.take(10);
        for step in 0..1_000_u64 {
            // Half of the time half the rate, half of the time half as much again.
            often.set_permille(if step % 2 == 0 { 500 } else { 1_500 }, step * 1_000_003);
        }
        let end = 1_000 * 1_000_003;
        often.set_permille(1_000, end);
        assert_eq!(often.wait_ns(10, end), never.wait_ns(10, end));
    }

    #[test]
    fn a_jump_of_all_time_fills_and_no_more() {
        let mut bucket = sixty_a_minute(10);
        bucket.take(10);
        bucket.pass(SECOND.into());
        assert_eq!(bucket.shown(0), (1, 9 * SECOND));
        bucket.pass(u128::MAX);
        assert_eq!(bucket.shown(0), (10, 0));
        bucket.take(1);
        assert_eq!(bucket.wait_ns(10, 0), Some(SECOND), "time goes on as before");
        let largest = Quota::per_day(Dimension::Tokens, u64::MAX);
        let mut largest = Bucket::full(&largest, u32::MAX, 0);
        largest.pass(u128::MAX);
        assert_eq!(largest.wait_ns(u64::MAX, u64::MAX), Some(0));
        largest.take(u64::MAX);
        largest.correct(u64::MAX, 0, u64::MAX);
    }
}
