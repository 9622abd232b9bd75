//! The memory gate: asked before every other account whenever a job with resources may go.
//!
//! Memory is not booked, because nobody can say in advance how much a job will use: it is watched.
//! A reading at or above 0.95 latches the gate shut until one falls below 0.90. While jobs wait for
//! memory (the gate's *line*), they are let through by *releases* (the *drain*): one when a job with
//! resources has completed since the last release, or when a delay since the last release has
//! passed. Every grant of a job with resources is a release; under the adaptive profile one release
//! lets through as many as fit.
//!
//! The *floor* is the live set as last seen: the latest reading that was lower than the one before
//! it, or what an allocator counts exactly. Memory that fills up between two falls raises the
//! reading, never the floor, so garbage does not count as growth; the *penalty* on the delay follows
//! the floor's growth over two releases.
//!
//! Invariants: asking changes nothing; the answer differs between two jobs only by the sizes that
//! they state, and who asks first keeps the others behind it; completions do not add up.
//!
//! Not here: growth per job (`growth`), reading memory (`nucleo-harness`, probes); the order of the
//! waiters (`admission`).

use super::curve::{self, PENALTY_MIN};
use super::growth::{Growth, Sampled};
use super::reading::{Reading, Signal};
use super::status::{MemoryProfile, MemoryStatus, Zone};
use crate::account::Horizon;
use crate::time::{Span, Time};

/// A reading at or above this shuts the gate.
const LATCH_SET: f64 = 0.95;
/// A reading below this opens it again.
const LATCH_CLEAR: f64 = 0.90;
/// Up to here a batch may fill memory, by the growth that is expected.
const ROOM_TO: f64 = 0.90;
/// A floor that has not grown for so long halves the penalty (adaptive).
const CALM: Span = Span::from_millis(10_000);
/// Growth by less does not end the calm: a percent is what doubles the penalty, less is noise.
const CALM_GROWTH: f64 = 0.01;

/// What the gate answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// One may go.
    Go,
    /// Nobody may, before this instant or event.
    Wait(Horizon),
}

/// The gate, as the monitor holds it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryGate {
    profile: MemoryProfile,
    sample: Option<f64>,
    floor: Option<f64>,
    latched: bool,
    penalty: f64,
    /// The floors at the last release and at the one before.
    floors: [Option<f64>; 2],
    last_release: Option<Time>,
    completed_since_release: bool,
    in_flight: u64,
    last_trim: Option<Time>,
    /// Who waits for memory: of the waiters numbered up to here, those that still wait.
    joined_through: u64,
    waiting: usize,
    /// The last release lets through whoever fits (adaptive); a sample or an empty line ends it.
    batch: bool,
    /// The lowest floor since the floor last grew, and since when it has been calm (adaptive).
    calm: (f64, Time),
    growth: Growth,
}

impl MemoryGate {
    /// A gate without a sample, which lets everyone pass, beside this many jobs in flight.
    pub(crate) fn new(profile: MemoryProfile, in_flight: u64) -> Self {
        Self {
            profile,
            sample: None,
            floor: None,
            latched: false,
            penalty: PENALTY_MIN,
            floors: [None; 2],
            last_release: None,
            completed_since_release: false,
            in_flight,
            last_trim: None,
            joined_through: 0,
            waiting: 0,
            batch: false,
            calm: (0.0, Time::ZERO),
            growth: Growth::default(),
        }
    }

    /// A new reading with its limit in bytes.
    pub(crate) fn read(&mut self, reading: Reading, now: Time) {
        self.growth.limit(reading.limit);
        self.sample(reading.share(), reading.signal, now);
    }

    /// A new reading, as a share of the limit.
    pub(crate) fn sample(&mut self, reading: f64, signal: Signal, now: Time) {
        let before = self.sample.replace(reading);
        let fell = before.is_some_and(|before| reading < before);
        if fell || self.floor.is_none() || signal == Signal::Live {
            self.floor_is(reading, now);
        }
        if reading >= LATCH_SET {
            self.latched = true;
        } else if reading < LATCH_CLEAR {
            self.latched = false;
        }
        if self.profile == MemoryProfile::Adaptive {
            self.batch = false;
            let (before, in_flight) = (before.unwrap_or(reading), self.in_flight);
            self.growth.sampled(Sampled { before, reading, signal, in_flight, now });
        }
    }

    /// The allocator was asked to hand back what is free.
    pub(crate) const fn trimmed(&mut self, now: Time) {
        self.last_trim = Some(now);
    }

    /// May one job with resources go now, which states a growth of so many bytes, or zero?
    pub(crate) fn ask(&self, now: Time, stated: u64) -> Ask {
        if self.latched {
            return Ask::Wait(Horizon::OnEvent);
        }
        let fits = self.fits(stated);
        let alone = self.waiting == 0 && (self.in_flight == 0 || fits != Some(false));
        let of_the_batch = self.batch && fits == Some(true);
        if alone || of_the_batch || self.completed_since_release {
            return Ask::Go;
        }
        match self.last_release.map(|last| self.due(last, now)) {
            Some(due) if now < due => Ask::Wait(Horizon::At(due)),
            _ => Ask::Go,
        }
    }

    /// One job with resources was granted.
    pub(crate) fn released(&mut self, now: Time, stated: u64) {
        let fits = self.fits(stated);
        self.in_flight += 1;
        if self.profile == MemoryProfile::Adaptive {
            self.growth.let_through(stated);
            if self.batch && fits == Some(true) {
                return;
            }
        }
        self.penalty = self.penalty_at(now);
        let halvings = self.halvings(now);
        // Growth that calm has eased is not counted a second time.
        let before = if halvings > 0 { self.floor } else { self.floors[0] };
        self.floors = [self.floor, before];
        self.calm.1 = self.calm.1.saturating_add(CALM.saturating_mul(halvings));
        self.last_release = Some(now);
        self.completed_since_release = false;
        self.batch = self.waiting > 0 && fits.is_some();
    }

    /// One job with resources ended.
    pub(crate) fn completed(&mut self, stated: u64) {
        self.completed_since_release = true;
        self.in_flight = self.in_flight.checked_sub(1).expect("more jobs ended than were let go");
        if self.profile == MemoryProfile::Adaptive {
            self.growth.ended(stated);
        }
    }

    /// The gate refused: all `waiting` jobs with resources, numbered up to `newest`, are in its line.
    pub(crate) const fn join(&mut self, waiting: usize, newest: u64) {
        self.waiting = waiting;
        self.joined_through = newest;
    }

    /// The waiter of this number is waiting no more.
    pub(crate) fn left(&mut self, number: u64) {
        if number <= self.joined_through {
            self.waiting = self.waiting.checked_sub(1).expect("more left than waited for memory");
            self.batch &= self.waiting > 0;
        }
    }

    pub(crate) const fn is_latched(&self) -> bool {
        self.latched
    }

    /// How many jobs with resources are in flight.
    pub(crate) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(crate) fn status(&self, now: Time) -> MemoryStatus {
        let zone = match (self.latched, self.waiting) {
            (true, _) => Zone::Critical,
            (false, 0) => Zone::Green,
            (false, _) => Zone::Draining,
        };
        MemoryStatus {
            zone,
            sample: self.sample,
            floor: self.floor,
            penalty: self.penalty,
            delay: curve::delay(self.judged(), self.penalty_at(now)),
            waiting: self.waiting,
            in_flight: self.in_flight,
            growth_per_job: self.growth.per_job(),
            expected: self.growth.expected(),
            last_trim: self.last_trim,
        }
    }
}

/// Steps.
impl MemoryGate {
    fn floor_is(&mut self, floor: f64, now: Time) {
        let (lowest, _) = self.calm;
        if floor > lowest + CALM_GROWTH {
            if self.halvings(now) > 0 {
                // What has grown until here is in the eased penalty; from here it is new growth.
                self.penalty = self.penalty_at(now);
                self.floors = [self.floor; 2];
            }
            self.calm = (floor, now);
        } else {
            self.calm.0 = lowest.min(floor);
        }
        self.floor = Some(floor);
    }

    /// The reading to judge by: the sample, and what is expected beyond it.
    fn judged(&self) -> f64 {
        self.sample.unwrap_or(0.0) + self.growth.expected()
    }

    /// Whether one more fits the headroom; `None` when its growth is not known, or not asked for.
    fn fits(&self, stated: u64) -> Option<bool> {
        match self.profile {
            MemoryProfile::Conservative => None,
            MemoryProfile::Adaptive => {
                self.growth.of(stated).map(|growth| self.judged() + growth <= ROOM_TO)
            }
        }
    }

    /// When the delay since the last release will have passed, if nothing else happens: every halving
    /// of the penalty until then shortens it.
    fn due(&self, last: Time, now: Time) -> Time {
        let judged = self.judged();
        let due_at = |at: Time| last.saturating_add(curve::delay(judged, self.penalty_at(at)));
        let mut at = now;
        loop {
            let due = due_at(at);
            let next = self.next_halving(at);
            if due < next || self.penalty_at(at) <= PENALTY_MIN {
                return due.max(at);
            }
            at = next;
        }
    }

    /// The penalty that a release at this instant would leave.
    fn penalty_at(&self, now: Time) -> f64 {
        let penalty = match (self.floor, self.floors[1]) {
            (Some(floor), Some(before)) => curve::penalty(self.penalty, floor - before),
            _ => self.penalty,
        };
        curve::eased(penalty, self.halvings(now))
    }

    /// How often the penalty has been halved since the calm began, or since the last release in it.
    fn halvings(&self, now: Time) -> u64 {
        match self.profile {
            MemoryProfile::Conservative => 0,
            MemoryProfile::Adaptive => now.since(self.calm.1).as_nanos() / CALM.as_nanos(),
        }
    }

    /// The instant of the next halving; never for a profile without.
    fn next_halving(&self, now: Time) -> Time {
        match self.profile {
            MemoryProfile::Conservative => Time::MAX,
            MemoryProfile::Adaptive => {
                let next = self.halvings(now) + 1;
                self.calm.1.saturating_add(CALM.saturating_mul(next))
            }
        }
    }
}
