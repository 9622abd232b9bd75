//! Retry: whether another attempt comes, and after which pause.
//!
//! Each kind of signal has a budget of its own, because they say different things: a rate limit says
//! *later*, an overload says *elsewhere or later*, a correction says *better*. A pause is drawn
//! uniformly from a window that widens with the attempts; a provider's own `Retry-After` replaces
//! the window and is never shortened.
//!
//! Invariants: pauses hold nothing; the same seed gives the same pauses.
//!
//! Not here: pausing (`run`), pacing the account (`nucleo_core::limits`).

use nucleo_core::Span;

use super::signal::Signal;

/// How many more attempts each kind of signal may cause.
///
/// ```
/// use nucleo_harness::attempt::RetryPolicy;
/// let policy = RetryPolicy { corrections: 0, ..RetryPolicy::default() };
/// assert_eq!(policy.rate_limits, 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// After a rate limit: 10, because it says later, not no.
    pub rate_limits: u32,
    /// After an overload or a transient failure, together: 3, so 4 requests.
    pub failures: u32,
    /// After a truncated answer: 1, at the model's full ceiling.
    pub truncations: u32,
    /// After an answer that did not validate: 2.
    pub corrections: u32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { rate_limits: 10, failures: 3, truncations: 1, corrections: 2 }
    }
}

impl RetryPolicy {
    /// No retries at all.
    pub const NEVER: Self = Self { rate_limits: 0, failures: 0, truncations: 0, corrections: 0 };
}

/// What one job has left of its budgets.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: RetryPolicy,
}

/// The first window after a rate limit or a transient failure, in seconds.
const WINDOW: (u64, u64) = (5, 30);
/// The first window after an overload, in seconds.
const WINDOW_OVERLOAD: (u64, u64) = (15, 90);
/// No window reaches further, in seconds.
const WINDOW_MAX: u64 = 300;
/// A provider's own wait is lengthened by up to this share, so that not all come back at once.
const JITTER_PERCENT: u64 = 10;

impl Budget {
    pub(crate) const fn new(policy: RetryPolicy) -> Self {
        Self { left: policy }
    }

    /// Takes one retry for a signal out of its budget, if there is one.
    pub(crate) const fn take(&mut self, signal: Signal) -> bool {
        let left = match signal {
            Signal::RateLimited { .. } => &mut self.left.rate_limits,
            Signal::Overloaded { .. } | Signal::Transient { .. } => &mut self.left.failures,
            Signal::Truncated => &mut self.left.truncations,
            Signal::Correction => &mut self.left.corrections,
            Signal::OutOfCredit | Signal::Permanent => return false,
        };
        if *left == 0 {
            return false;
        }
        *left -= 1;
        true
    }
}

/// The pause after the `attempt`-th attempt (from 1) ended with this signal.
pub(crate) fn pause(signal: Signal, attempt: u32, random: &mut fastrand::Rng) -> Span {
    if let Some(asked) = signal.retry_after() {
        let jitter = asked.as_nanos() / 100 * JITTER_PERCENT;
        return asked.saturating_add(Span::from_nanos(random.u64(0..=jitter)));
    }
    let (low, high) = match signal {
        Signal::RateLimited { .. } | Signal::Transient { .. } => WINDOW,
        Signal::Overloaded { .. } => WINDOW_OVERLOAD,
        _ => return Span::ZERO,
    };
    let widened =
        |edge: u64| Span::from_secs((edge * u64::from(attempt)).min(WINDOW_MAX)).as_nanos();
    Span::from_nanos(random.u64(widened(low)..=widened(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_widen_and_end_at_five_minutes() {
        let mut random = fastrand::Rng::with_seed(7);
        let transient = Signal::Transient { retry_after: None };
        for attempt in 1..60 {
            let pause = pause(transient, attempt, &mut random);
            assert!(pause >= Span::from_secs((5 * u64::from(attempt)).min(300)), "{pause}");
            assert!(pause <= Span::from_secs((30 * u64::from(attempt)).min(300)), "{pause}");
        }
    }

    #[test]
    fn a_wait_that_was_asked_for_is_never_shortened() {
        let mut random = fastrand::Rng::with_seed(7);
        let asked = Span::from_secs(3);
        let limited = Signal::RateLimited { retry_after: Some(asked) };
        for attempt in 1..60 {
            let pause = pause(limited, attempt, &mut random);
            assert!(pause >= asked && pause <= Span::from_millis(3_300), "{pause}");
        }
        let at_once = Signal::RateLimited { retry_after: Some(Span::ZERO) };
        assert_eq!(super::pause(at_once, 1, &mut random), Span::ZERO);
    }

    #[test]
    fn budgets_are_apart() {
        let mut budget = Budget::new(RetryPolicy::default());
        let limited = Signal::RateLimited { retry_after: None };
        let overloaded = Signal::Overloaded { retry_after: None };
        let transient = Signal::Transient { retry_after: None };
        assert_eq!((0..20).filter(|_| budget.take(limited)).count(), 10);
        assert_eq!((0..20).filter(|_| budget.take(overloaded)).count(), 3);
        assert!(!budget.take(transient), "overload and transient share one budget");
        assert_eq!((0..20).filter(|_| budget.take(Signal::Correction)).count(), 2);
        assert_eq!((0..20).filter(|_| budget.take(Signal::Truncated)).count(), 1);
        assert!(!budget.take(Signal::OutOfCredit), "never retried");
        assert!(!budget.take(Signal::Permanent), "never retried");
    }
}
