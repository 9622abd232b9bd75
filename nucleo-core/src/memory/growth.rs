//! What jobs add to memory: learnt per job, and expected of those that were let through but have not
//! shown it yet. Only the `adaptive` profile asks.
//!
//! *Learnt*: a moving average of what the jobs in flight hold above the reading at rest, over a moving
//! average of how many they are. Both are averaged, not their ratio, so that the last few jobs of a
//! run, whose memory is not all back yet, do not look enormous.
//!
//! *Expected*: a job does not fill its memory the instant it starts, and a model's answer comes
//! seconds later. So what was let through stays expected until readings have shown as much growth
//! (those that ended since are added back), until 10 s are over, or until nothing is in flight.
//!
//! Invariants: asking changes nothing; a job that states its growth is judged by that alone; growth
//! that is not known is `None`, never zero.
//!
//! Not here: who may go (`gate`).

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::reading::{Signal, share_of};
use crate::time::{Span, Time};

/// How much a new sample counts in the averages.
const WEIGHT: f64 = 1.0 / 16.0;
/// How long growth stays expected that no reading shows.
const EXPECTED_FOR: Span = Span::from_millis(10_000);

/// What is learnt and what is expected, in shares of the limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Growth {
    limit: Option<NonZeroU64>,
    /// The reading with nothing in flight.
    at_rest: Option<f64>,
    /// Averages of what the jobs in flight hold, and of how many they are.
    learnt: Option<(f64, f64)>,
    /// Expected of those let through before each sample, oldest first.
    expected: VecDeque<(Time, f64)>,
    /// Expected of those let through since the latest sample.
    fresh: f64,
    /// The sum of `expected` and `fresh`.
    sum: f64,
    /// What those held that ended since the latest sample.
    ended: f64,
}

/// What the gate tells of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampled {
    pub(crate) before: f64,
    pub(crate) reading: f64,
    pub(crate) signal: Signal,
    pub(crate) in_flight: u64,
    pub(crate) now: Time,
}

impl Growth {
    /// The limit in bytes, of which stated sizes are shares.
    pub(crate) const fn limit(&mut self, limit: NonZeroU64) {
        self.limit = Some(limit);
    }

    pub(crate) fn let_through(&mut self, stated: u64) {
        let amount = self.of(stated).unwrap_or(0.0);
        self.fresh += amount;
        self.sum += amount;
    }

    pub(crate) fn ended(&mut self, stated: u64) {
        self.ended += self.of(stated).unwrap_or(0.0);
    }

    pub(crate) fn sampled(&mut self, sampled: Sampled) {
        let Sampled { before, reading, signal, in_flight, now } = sampled;
        let shown = (reading - before + self.ended).max(0.0);
        self.ended = 0.0;
        self.expected.push_back((now, std::mem::take(&mut self.fresh)));
        if in_flight == 0 {
            self.expected.clear();
            self.sum = 0.0;
            // Pages may be kept after their jobs: the lowest reading at rest is the one that tells.
            self.at_rest = match (signal, self.at_rest) {
                (Signal::Pages, Some(lowest)) => Some(lowest.min(reading)),
                _ => Some(reading),
            };
            return;
        }
        self.show(shown);
        while self.expected.front().is_some_and(|(at, _)| now.since(*at) >= EXPECTED_FOR) {
            self.expected.pop_front();
        }
        self.sum = self.expected.iter().map(|(_, amount)| amount).sum();
        let at_rest = *self.at_rest.get_or_insert(before);
        self.learn((reading - at_rest).max(0.0) + self.sum, in_flight);
    }

    /// The growth of one job, as a share of the limit: stated in bytes, or else learnt.
    pub(crate) fn of(&self, stated: u64) -> Option<f64> {
        match (stated, self.limit) {
            (1.., Some(limit)) => Some(share_of(stated, limit)),
            _ => self.per_job(),
        }
    }

    /// The growth per job as learnt.
    pub(crate) fn per_job(&self) -> Option<f64> {
        self.learnt.map(|(held, jobs)| held / jobs).filter(|per_job| *per_job > 0.0)
    }

    /// What those let through are still to show.
    pub(crate) const fn expected(&self) -> f64 {
        self.sum
    }

    /// Growth was seen: the oldest expectation is met first.
    fn show(&mut self, mut shown: f64) {
        for (_, amount) in &mut self.expected {
            let met = shown.min(*amount);
            *amount -= met;
            shown -= met;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "an average of counts")]
    fn learn(&mut self, held: f64, in_flight: u64) {
        let jobs = in_flight as f64;
        let (average_held, average_jobs) = self.learnt.get_or_insert((held, jobs));
        *average_held += WEIGHT * (held - *average_held);
        *average_jobs += WEIGHT * (jobs - *average_jobs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(growth: &mut Growth, before: f64, reading: f64, in_flight: u64, ms: u64) {
        let now = Time::from_millis(ms);
        growth.sampled(Sampled { before, reading, signal: Signal::Live, in_flight, now });
    }

    #[test]
    fn learnt_from_those_in_flight_above_the_reading_at_rest() {
        let mut growth = Growth::default();
        sample(&mut growth, 0.1, 0.1, 0, 0);
        assert_eq!(growth.of(0), None);
        sample(&mut growth, 0.1, 0.3, 20, 100);
        assert!((growth.of(0).unwrap() - 0.01).abs() < 1e-9);
        sample(&mut growth, 0.3, 0.3, 1, 200);
        assert!(growth.of(0).unwrap() < 0.011, "the last one does not look enormous");
    }

    #[test]
    fn stated_bytes_are_a_share_of_the_limit() {
        let mut growth = Growth::default();
        assert_eq!(growth.of(10), None, "a share of an unknown limit is not known");
        growth.limit(NonZeroU64::new(1_000).unwrap());
        assert_eq!(growth.of(10), Some(0.01));
    }

    #[test]
    fn expected_until_shown_until_late_until_nothing_runs() {
        let mut growth = Growth::default();
        growth.limit(NonZeroU64::new(1_000).unwrap());
        sample(&mut growth, 0.0, 0.0, 0, 0);
        let let_ten_through = |growth: &mut Growth| (0..10).for_each(|_| growth.let_through(10));
        let_ten_through(&mut growth);
        assert!((growth.expected() - 0.1).abs() < 1e-9);
        sample(&mut growth, 0.0, 0.04, 10, 100);
        assert!((growth.expected() - 0.06).abs() < 1e-9, "0.04 of it is shown");
        growth.ended(10);
        sample(&mut growth, 0.04, 0.04, 9, 200);
        assert!((growth.expected() - 0.05).abs() < 1e-9, "one ended and another grew");
        sample(&mut growth, 0.04, 0.04, 9, 10_099);
        assert!((growth.expected() - 0.05).abs() < 1e-9);
        sample(&mut growth, 0.04, 0.04, 9, 10_100);
        assert!(growth.expected().abs() < 1e-9, "nothing shows for ten seconds");
        let_ten_through(&mut growth);
        sample(&mut growth, 0.04, 0.0, 0, 10_200);
        assert!(growth.expected().abs() < 1e-9, "nothing is in flight");
    }
}
