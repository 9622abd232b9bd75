//! What a plan says: one outcome a job, and a summary.
//!
//! Invariants: outcomes are in the order of the scenario's jobs; instants are told in milliseconds,
//! rounded up to a nanosecond.
//!
//! Not here: how they come about (`run`).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::money::Money;
use crate::time::Time;

/// What becomes of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was granted.
    Granted,
    /// It can never fit.
    Refused,
    /// It was cancelled while it waited, or the job it comes after never ran.
    Cancelled,
    /// It still waits when nothing more can happen.
    Waiting,
}

/// One job's outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobOutcome {
    /// The job.
    pub id: String,
    /// What became of it.
    pub outcome: Outcome,
    /// When: the grant, the arrival of a refused job, the cancellation of a cancelled one.
    #[serde(skip_serializing_if = "Option::is_none", rename = "at_ms", serialize_with = "as_ms")]
    pub at: Option<Time>,
    /// How long it stood in the line before its grant, in milliseconds.
    #[serde(skip)]
    pub waited_ms: f64,
    /// The account it was refused by, or what it waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The whole plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// One a job, in the scenario's order.
    pub jobs: Vec<JobOutcome>,
    /// All of it in numbers.
    pub summary: Summary,
}

/// A plan in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Jobs granted.
    pub granted: usize,
    /// Jobs refused.
    pub refused: usize,
    /// Jobs cancelled.
    pub cancelled: usize,
    /// Jobs that wait for ever.
    pub waiting: usize,
    /// From the start of the scenario to the end of the last hold, in milliseconds.
    pub makespan_ms: f64,
    /// The mean wait of granted jobs, in milliseconds.
    pub wait_mean_ms: f64,
    /// The 99th percentile of the waits of granted jobs, in milliseconds.
    pub wait_p99_ms: f64,
    /// The longest wait of a granted job, in milliseconds.
    pub wait_max_ms: f64,
    /// What the granted jobs cost, by currency.
    pub cost: Vec<Money>,
    /// The account that jobs were short of for longest, if any waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binding: Option<String>,
    /// For each account, how long some job in the line was short of it, in milliseconds.
    pub short_ms: BTreeMap<String, f64>,
}

impl JobOutcome {
    /// The instant in milliseconds.
    #[must_use]
    pub fn at_ms(&self) -> Option<f64> {
        self.at.map(millis)
    }
}

/// Nanoseconds as milliseconds: the nearest number, which prints to the nanosecond below 2^53 ns.
#[expect(clippy::cast_precision_loss, reason = "printing only")]
pub(crate) fn millis(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e6
}

#[expect(clippy::ref_option, reason = "the signature that serde asks for")]
fn as_ms<S: serde::Serializer>(at: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.map_or(0.0, millis))
}
