//! The server's token bucket: how much may be taken now, exactly.
//!
//! Written apart from the client's on purpose: two buckets with one mistake would agree.
//!
//! Invariants: the level is an integer count of `1 / period` parts of a unit, so refilling loses
//! nothing however often it is asked; it never exceeds the cap; it may fall below zero when more was
//! used than taken.
//!
//! Not here: several buckets at once (`quota`).

use super::config::Quota;

/// A level that rises with time up to a cap. Times are nanoseconds of the server's clock.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    amount: i128,
    period_ns: i128,
    cap: i128,
    level: i128,
    at_ns: u64,
}

impl Bucket {
    /// A full bucket.
    pub(super) fn full(quota: &Quota, now_ns: u64) -> Self {
        let amount = i128::from(quota.amount);
        let period_ns = i128::from(quota.period_s) * 1_000_000_000;
        let burst = amount * i128::from(quota.burst_s) / i128::from(quota.period_s);
        let cap = burst.max(1) * period_ns;
        Self { amount, period_ns, cap, level: cap, at_ns: now_ns }
    }

    /// Nanoseconds until `units` fit; zero when they do now, `None` when they never will.
    pub(super) fn wait_ns(&mut self, units: u64, now_ns: u64) -> Option<u64> {
        self.refill(now_ns);
        let need = i128::from(units) * self.period_ns;
        if need <= self.level {
            return Some(0);
        }
        if need > self.cap || self.amount == 0 {
            return None;
        }
        let missing = need - self.level;
        u64::try_from((missing + self.amount - 1) / self.amount).ok()
    }

    /// Takes what was found to fit.
    pub(super) fn take(&mut self, units: u64) {
        self.level -= i128::from(units) * self.period_ns;
        assert!(self.level >= 0, "taken without asking first");
    }

    /// Replaces `taken` by `used`: gives back the difference, or charges it.
    pub(super) fn correct(&mut self, taken: u64, used: u64, now_ns: u64) {
        self.refill(now_ns);
        let back = (i128::from(taken) - i128::from(used)) * self.period_ns;
        self.level = (self.level + back).min(self.cap);
    }

    /// What could be taken now, and nanoseconds until it is full.
    pub(super) fn shown(&mut self, now_ns: u64) -> (u64, u64) {
        self.refill(now_ns);
        let units = u64::try_from((self.level / self.period_ns).max(0)).unwrap_or(u64::MAX);
        let missing = self.cap - self.level;
        let full_ns = if self.amount == 0 { 0 } else { (missing + self.amount - 1) / self.amount };
        (units, u64::try_from(full_ns).unwrap_or(u64::MAX))
    }

    fn refill(&mut self, now_ns: u64) {
        let elapsed = i128::from(now_ns.saturating_sub(self.at_ns));
        self.at_ns = self.at_ns.max(now_ns);
        self.level = (self.level + elapsed * self.amount).min(self.cap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::loopback::Dimension;

    const SECOND: u64 = 1_000_000_000;

    fn sixty_a_minute(burst_s: u64) -> Bucket {
        Bucket::full(&Quota::per_minute(Dimension::Requests, 60).burst_s(burst_s), 0)
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
}
