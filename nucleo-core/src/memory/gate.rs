//! The memory gate: asked before every other account whenever a job with resources may go.
//!
//! Memory is not booked, because nobody can say in advance how much a job will use: it is watched.
//! A reading at or above 0.95 latches the gate shut until one falls below 0.90. While jobs wait for
//! memory (the gate's *line*), they are let through one at a time (the *drain*): one when a job with
//! resources has completed since the last release, or when a delay since the last release has
//! passed. Every grant of a job with resources is a release.
//!
//! The *floor* is the live set as last seen: the latest reading that was lower than the one before
//! it. Memory that fills up between two falls raises the reading, never the floor, so garbage does
//! not count as growth; the *penalty* on the delay follows the floor's growth over two releases.
//!
//! Invariants: asking changes nothing; the answer is the same for every job with resources at one
//! instant, so a refusal of one puts all that wait into the line; completions do not add up.
//!
//! Not here: reading memory (`nucleo-harness`, probes); the order of the waiters (`admission`).

use super::curve;
use crate::account::Horizon;
use crate::time::{Span, Time};

/// A reading at or above this shuts the gate.
const LATCH_SET: f64 = 0.95;
/// A reading below this opens it again.
const LATCH_CLEAR: f64 = 0.90;

/// What the gate answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// One may go.
    Go,
    /// Nobody may, before this instant or event.
    Wait(Horizon),
}

/// How the gate stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Nobody waits for memory.
    Green,
    /// Those who wait are let through one at a time.
    Draining,
    /// Latched: nobody goes.
    Critical,
}

/// How the gate stands, for people and metrics.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct MemoryStatus {
    /// In one word.
    pub zone: Zone,
    /// The latest reading, as a share of the limit.
    pub sample: Option<f64>,
    /// The live set as last seen, as a share of the limit.
    pub floor: Option<f64>,
    /// What multiplies the delay, from 1 to 72,000.
    pub penalty: f64,
    /// The delay that the next release has to keep from the last one.
    pub delay: Span,
    /// How many wait for memory.
    pub waiting: usize,
}

/// The gate, as the monitor holds it.
#[derive(Clone, Debug)]
pub(crate) struct MemoryGate {
    sample: Option<f64>,
    floor: Option<f64>,
    latched: bool,
    penalty: f64,
    /// The floors at the last release and at the one before.
    floors: [Option<f64>; 2],
    releases: u64,
    last_release: Option<Time>,
    completed_since_release: bool,
    /// Who waits for memory: of the waiters numbered up to here, those that still wait.
    joined_through: u64,
    waiting: usize,
}

impl MemoryGate {
    pub(crate) const fn new() -> Self {
        Self {
            sample: None,
            floor: None,
            latched: false,
            penalty: 1.0,
            floors: [None; 2],
            releases: 0,
            last_release: None,
            completed_since_release: false,
            joined_through: 0,
            waiting: 0,
        }
    }

    /// A new reading, as a share of the limit.
    pub(crate) fn sample(&mut self, reading: f64) {
        let fell = self.sample.is_some_and(|before| reading < before);
        if fell || self.floor.is_none() {
            self.floor = Some(reading);
        }
        self.sample = Some(reading);
        if reading >= LATCH_SET {
            self.latched = true;
        } else if reading < LATCH_CLEAR {
            self.latched = false;
        }
    }

    /// May one job with resources go now?
    pub(crate) fn ask(&self, now: Time) -> Ask {
        if self.latched {
            return Ask::Wait(Horizon::OnEvent);
        }
        if self.waiting == 0 || self.completed_since_release {
            return Ask::Go;
        }
        match self.last_release {
            None => Ask::Go,
            Some(last) => {
                let due = last.saturating_add(self.delay());
                if now >= due { Ask::Go } else { Ask::Wait(Horizon::At(due)) }
            }
        }
    }

    /// One job with resources was granted.
    pub(crate) fn released(&mut self, now: Time) {
        self.penalty = self.next_penalty();
        self.floors = [self.floor, self.floors[0]];
        self.releases += 1;
        self.last_release = Some(now);
        self.completed_since_release = false;
    }

    /// One job with resources ended.
    pub(crate) const fn completed(&mut self) {
        self.completed_since_release = true;
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
        }
    }

    pub(crate) fn status(&self) -> MemoryStatus {
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
            delay: self.delay(),
            waiting: self.waiting,
        }
    }

    /// From the present reading and the penalty that a release now would leave.
    fn delay(&self) -> Span {
        curve::delay(self.sample.unwrap_or(0.0), self.next_penalty())
    }

    fn next_penalty(&self) -> f64 {
        match (self.floor, self.floors[1]) {
            (Some(now), Some(before)) => curve::penalty(self.penalty, now - before),
            _ => self.penalty,
        }
    }
}
