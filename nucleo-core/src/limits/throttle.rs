//! Slow-down: the share of its configured rate that a bucket presently runs at.
//!
//! It changes on events only, never with the clock, so a bucket's deadlines stay exact. Down by a
//! quarter a step, up by a hundredth a success: multiplicative decrease, additive increase.
//!
//! Invariants: 100 to 1000 permille; one congestion event steps down once, however many requests
//! it answers with pushback, because those had left before the first step took effect.
//!
//! Not here: what counts as pushback (`nucleo-harness`, the attempt), parking (`token_bucket`).

use crate::account::Verdict;
use crate::time::{Span, Time};

/// Full speed.
pub(crate) const FULL: u64 = 1_000;
/// The slowest: a tenth.
const FLOOR: u64 = 100;
/// What one success gives back.
const RISE: u64 = 10;
/// After so long without pushback, the next success restores full speed.
const CALM: Span = Span::from_secs(60);

/// The slow-down of one bucket, in permille of its rate.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    permille: u64,
    last_step: Option<Time>,
    last_pushback: Option<Time>,
}

impl Throttle {
    pub(crate) const fn full() -> Self {
        Self { permille: FULL, last_step: None, last_pushback: None }
    }

    pub(crate) const fn permille(&self) -> u64 {
        self.permille
    }

    pub(crate) fn verdict(&mut self, verdict: Verdict, now: Time) {
        match verdict {
            Verdict::Success => self.success(now),
            Verdict::Pushback { sent, steps } => self.pushback(sent, steps, now),
        }
    }

    fn success(&mut self, now: Time) {
        let calm = self.last_pushback.is_none_or(|at| now.since(at) >= CALM);
        self.permille = if calm { FULL } else { (self.permille + RISE).min(FULL) };
    }

    fn pushback(&mut self, sent: Time, steps: u32, now: Time) {
        self.last_pushback = Some(now);
        if self.last_step.is_some_and(|step| sent < step) {
            return;
        }
        self.last_step = Some(now);
        for _ in 0..steps {
            self.permille = (self.permille * 3 / 4).max(FLOOR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_millis(s * 1_000)
    }

    #[test]
    fn one_congestion_event_steps_once() {
        let mut throttle = Throttle::full();
        for _ in 0..50 {
            throttle.verdict(Verdict::Pushback { sent: at(1), steps: 1 }, at(5));
        }
        assert_eq!(throttle.permille(), 750);
        throttle.verdict(Verdict::Pushback { sent: at(6), steps: 3 }, at(7));
        assert_eq!(throttle.permille(), 315, "562, 421, 315: an overload takes three steps");
    }

    #[test]
    fn never_below_a_tenth_and_back_to_full_after_a_calm_minute() {
        let mut throttle = Throttle::full();
        for s in 0..40 {
            throttle.verdict(Verdict::Pushback { sent: at(s), steps: 1 }, at(s));
        }
        assert_eq!(throttle.permille(), 100);
        throttle.verdict(Verdict::Success, at(50));
        assert_eq!(throttle.permille(), 110);
        throttle.verdict(Verdict::Success, at(99));
        assert_eq!(throttle.permille(), 1_000);
    }
}
