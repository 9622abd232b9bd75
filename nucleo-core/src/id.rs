//! Names of workflows, jobs and attempts.
//!
//! Invariants: a job's id derives from its parent and its place under it, so that a run which is
//! resumed finds its own jobs again; nothing here is random (the caller hands in a workflow's id).
//!
//! Not here: human names (`nucleo-harness`, workflow), account ids (`account`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// One run of a workflow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkflowId(u128);

/// One job: its workflow and its place in the tree of jobs, mixed into 128 bits.
///
/// ```
/// use nucleo_core::{JobId, WorkflowId};
/// let root = JobId::root(WorkflowId::from_u128(7));
/// assert_eq!(root.child(3), root.child(3));
/// assert_ne!(root.child(3), root.child(4));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "u128", into = "u128")]
pub struct JobId {
    // Two halves, because a million waiters keep one each and `u128` would round them up to 16.
    high: u64,
    low: u64,
}

/// One attempt of one job: the idempotency key that every demand carries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct AttemptKey {
    /// The job.
    pub job: JobId,
    /// Counted from 1.
    pub attempt: u32,
}

impl WorkflowId {
    /// The workflow with these 128 bits, as drawn by the caller.
    #[must_use]
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl JobId {
    /// The root of a workflow's tree, of which all its jobs descend.
    #[must_use]
    pub const fn root(workflow: WorkflowId) -> Self {
        Self::from_u128(mix(FNV_OFFSET, workflow.0))
    }

    /// The `place`-th child, counted from 0.
    #[must_use]
    pub const fn child(self, place: u64) -> Self {
        Self::from_u128(mix(self.as_u128(), place as u128))
    }

    /// The bits.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        (self.high as u128) << 64 | self.low as u128
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
    const fn from_u128(bits: u128) -> Self {
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// The key of this job's `attempt`-th attempt, counted from 1.
    #[must_use]
    pub const fn attempt(self, attempt: u32) -> AttemptKey {
        AttemptKey { job: self, attempt }
    }
}

impl From<u128> for JobId {
    fn from(bits: u128) -> Self {
        Self::from_u128(bits)
    }
}

impl From<JobId> for u128 {
    fn from(job: JobId) -> Self {
        job.as_u128()
    }
}

/// Offset and prime of the 128-bit FNV-1a hash (Fowler, Noll, Vo).
const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// FNV-1a over the sixteen bytes of `value`, started from `state`.
const fn mix(mut state: u128, value: u128) -> u128 {
    let bytes = value.to_le_bytes();
    let mut at = 0;
    while at < bytes.len() {
        state = (state ^ bytes[at] as u128).wrapping_mul(FNV_PRIME);
        at += 1;
    }
    state
}

/// The last eight hexadecimal digits tell siblings apart in a log; all 32 would drown it.
const SHOWN: u128 = 0xffff_ffff;

impl fmt::Display for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w-{:08x}", self.0 & SHOWN)
    }
}

impl fmt::Debug for WorkflowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "j-{:08x}", self.as_u128() & SHOWN)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.job, self.attempt)
    }
}
