//! A retry budget: how many retries all jobs together may cause at one model.
//!
//! When a model fails, each of a thousand jobs has retries of its own left, and together they would
//! multiply the load just when it is too much. So retries are bounded by what goes well: a share of
//! the last minute's successes, and a few in any case, so that a quiet model can be tried again.
//!
//! The minute is counted in steps of five seconds: what is older than that is forgotten step by step.
//!
//! Invariants: it changes on events only; what is kept is twelve counts, whatever happens; a clock
//! that does not move forgets nothing.
//!
//! Not here: a job's own budget (`nucleo-harness`, the attempt), pacing (`throttle`): a rate limit
//! says *later* and is not counted here.

use crate::time::{Span, Time};

/// The share of successes, in percent, that may be retries, unless told.
pub const RETRY_PERCENT_DEFAULT: u32 = 10;
/// How many retries a minute are allowed in any case, unless told.
pub const RETRIES_A_MINUTE_DEFAULT: u32 = 10;

/// How many retries a model may see.
///
/// ```
/// use nucleo_core::limits::RetryShare;
/// assert_eq!(RetryShare::default(), RetryShare { percent: 10, least_a_minute: 10 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryShare {
    /// So many retries for a hundred successes of the last minute.
    pub percent: u32,
    /// And so many a minute in any case.
    pub least_a_minute: u32,
}

impl RetryShare {
    /// Ten for a hundred successes, and ten a minute in any case.
    pub const DEFAULT: Self =
        Self { percent: RETRY_PERCENT_DEFAULT, least_a_minute: RETRIES_A_MINUTE_DEFAULT };
}

impl Default for RetryShare {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One model's successes and retries of the last minute.
///
/// ```
/// use nucleo_core::Time;
/// use nucleo_core::limits::{RetryBudget, RetryShare};
/// let mut budget = RetryBudget::new(RetryShare { percent: 10, least_a_minute: 2 });
/// let granted = (0..5).filter(|_| budget.take(Time::ZERO)).count();
/// assert_eq!(granted, 2);
/// (0..40).for_each(|_| budget.success(Time::ZERO));
/// assert!(budget.take(Time::ZERO), "forty successes allow four");
/// ```
#[derive(Clone, Debug)]
pub struct RetryBudget {
    share: RetryShare,
    steps: [Step; STEPS],
    /// The number of the step that `steps[number % STEPS]` is about.
    latest: u64,
}

/// What happened in one step.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    successes: u64,
    retries: u64,
}

const STEPS: usize = 12;
const STEP: Span = Span::from_secs(5);

impl RetryBudget {
    /// A budget of which nothing is used.
    #[must_use]
    pub fn new(share: RetryShare) -> Self {
        Self { share, steps: [Step::default(); STEPS], latest: 0 }
    }

    /// The model answered.
    pub fn success(&mut self, now: Time) {
        self.step(now).successes += 1;
    }

    /// Takes one retry, if there is one.
    pub fn take(&mut self, now: Time) -> bool {
        if !self.has_one(now) {
            return false;
        }
        self.step(now).retries += 1;
        true
    }

    /// Whether there is one to take.
    #[must_use]
    pub fn has_one(&mut self, now: Time) -> bool {
        self.used(now) < self.allowed(now)
    }

    /// How many retries the last minute may have in all.
    #[must_use]
    pub fn allowed(&mut self, now: Time) -> u64 {
        self.step(now);
        let successes: u64 = self.steps.iter().map(|step| step.successes).sum();
        let share = u128::from(successes) * u128::from(self.share.percent) / 100;
        u64::try_from(share).unwrap_or(u64::MAX).max(self.share.least_a_minute.into())
    }

    /// How many it has had.
    #[must_use]
    pub fn used(&mut self, now: Time) -> u64 {
        self.step(now);
        self.steps.iter().map(|step| step.retries).sum()
    }

    /// The running step; those that fell out of the minute are forgotten.
    fn step(&mut self, now: Time) -> &mut Step {
        let number = now.since(Time::ZERO).as_nanos() / STEP.as_nanos();
        while self.latest < number {
            self.latest = if number - self.latest > STEPS as u64 {
                number - STEPS as u64
            } else {
                self.latest + 1
            };
            self.steps[place(self.latest)] = Step::default();
        }
        &mut self.steps[place(self.latest)]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a remainder below twelve")]
const fn place(number: u64) -> usize {
    (number % STEPS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_millis(s * 1_000)
    }

    fn takes(budget: &mut RetryBudget, now: Time, tries: usize) -> usize {
        (0..tries).filter(|_| budget.take(now)).count()
    }

    #[test]
    fn a_few_in_any_case_and_a_share_of_what_goes_well() {
        let mut budget = RetryBudget::new(RetryShare::default());
        assert_eq!(takes(&mut budget, at(0), 100), 10);
        (0..99).for_each(|_| budget.success(at(1)));
        assert_eq!(takes(&mut budget, at(1), 100), 0, "a tenth of 99 is no more than the ten");
        (0..401).for_each(|_| budget.success(at(2)));
        assert_eq!(takes(&mut budget, at(2), 100), 40, "a tenth of 500, ten of them taken");
    }

    #[test]
    fn a_minute_later_all_is_forgotten() {
        let mut budget = RetryBudget::new(RetryShare::default());
        (0..1_000).for_each(|_| budget.success(at(0)));
        assert_eq!(takes(&mut budget, at(4), 1_000), 100);
        assert_eq!(takes(&mut budget, at(59), 1_000), 0);
        assert_eq!(takes(&mut budget, at(60), 1_000), 10, "the successes are gone as well");
        assert_eq!(takes(&mut budget, at(1_000_000_000), 1_000), 10, "a long sleep costs nothing");
    }

    /// Against a list of everything that happened.
    #[test]
    fn agrees_with_a_plain_list() {
        let mut random = fastrand::Rng::with_seed(11);
        for seed in 0..50 {
            let share = RetryShare { percent: random.u32(0..50), least_a_minute: random.u32(0..5) };
            let mut budget = RetryBudget::new(share);
            let (mut successes, mut retries, mut now) = (vec![], vec![], 0);
            for step in 0..400 {
                now += random.u64(0..9);
                let recent = |list: &Vec<u64>| {
                    list.iter().filter(|then| now / 5 - **then / 5 < 12).count() as u64
                };
                if random.u8(0..4) > 0 {
                    budget.success(at(now));
                    successes.push(now);
                    continue;
                }
                let allowed = recent(&successes) * u64::from(share.percent) / 100;
                let fits = recent(&retries) < allowed.max(share.least_a_minute.into());
                assert_eq!(budget.take(at(now)), fits, "seed {seed} step {step}");
                retries.extend(fits.then_some(now));
            }
        }
    }
}
