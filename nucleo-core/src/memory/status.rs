//! How the gate stands, for people and metrics.
//!
//! Invariants: a status is a value taken at one instant; it decides nothing.
//!
//! Not here: deciding (`gate`).

use serde::Serialize;

use crate::time::{Span, Time};

/// How careful the gate is, and about what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryProfile {
    /// Trusts the sample alone. A burst let through at one low reading can outgrow the limit before
    /// the next, and a climb that ended at the latch leaves one release an hour for as long as the
    /// live set stays high and no job ends.
    Conservative,
    /// Answers both. It differs in three ways. The penalty halves for every 10 s without growth of
    /// the floor. One release lets through as many jobs as fit the headroom to 0.90 by the growth
    /// per job, at least one. And the gate judges by the sample plus the growth expected of those
    /// whom it has let through since and who have not shown it yet: nobody who would pass 0.90 by
    /// that starts beside others, but by the drain. The growth per job is stated by the demand
    /// ([`Demand::expected_memory`](crate::Demand::expected_memory)) or learnt.
    #[default]
    Adaptive,
}

/// How the gate stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Zone {
    /// Nobody waits for memory.
    Green,
    /// Those who wait are let through one release at a time.
    Draining,
    /// Latched: nobody goes.
    Critical,
}

/// How the gate stands, for people and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// How many jobs with resources are in flight.
    pub in_flight: u64,
    /// The growth per job as learnt, as a share of the limit; `None` while nothing is learnt, and
    /// under [`MemoryProfile::Conservative`].
    pub growth_per_job: Option<f64>,
    /// The growth still expected of those let through, as a share of the limit.
    pub expected: f64,
    /// When the allocator was last asked to hand back what is free.
    pub last_trim: Option<Time>,
}
