//! Who is served when many share: start-time fair queuing between workflows, and protection.
//!
//! Both are off by default, and they combine. *Fair* gives each arrival a start tag, fixed for good:
//! `S = max(V, F_w)` with `V` the largest tag granted so far and `F_w` the workflow's last finish tag;
//! then `F_w = S + 1/weight`, every job costing 1 (Goyal, Vin and Cheng, 1996). The line is ordered by
//! `(S, arrival number)`, so a workflow that comes late with little waits little.
//!
//! *Protect* bounds the wait of a large demand on one account behind a line that is stuck on another:
//! besides the head, on each account the oldest waiter that is short there is protected once it was
//! overtaken often enough or has waited long enough, and its amount is set aside on that account only.
//!
//! Invariants: a tag is given once, a retry keeps it; a workflow without waiters ahead of `V` is
//! forgotten, so nothing grows with the number of workflows that ever were.
//!
//! Not here: the line (`monitor`), finding the oldest that is short (`index`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::id::WorkflowId;
use crate::time::{Span, Time};

/// Who is served when many share: first come, first served, unless told.
///
/// ```
/// use nucleo_core::admission::{Policy, Protect};
/// use nucleo_core::WorkflowId;
/// let policy = Policy::fair().weight(WorkflowId::from_u128(1), 2).protect(Protect::Overtaken(0));
/// assert!(policy.is_fair());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    fair: bool,
    weights: BTreeMap<WorkflowId, u32>,
    protect: Option<Protect>,
}

/// When a waiter that is short on an account is protected there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protect {
    /// Once so many later arrivals that name the account were granted before it; zero: at once.
    Overtaken(usize),
    /// Once it has waited so long.
    Waited(Span),
}

impl Policy {
    /// First come, first served.
    #[must_use]
    pub fn fifo() -> Self {
        Self::default()
    }

    /// Fair between workflows.
    #[must_use]
    pub fn fair() -> Self {
        Self { fair: true, ..Self::default() }
    }

    /// Gives a workflow this many shares; one unless told, and never less.
    #[must_use]
    pub fn weight(mut self, workflow: WorkflowId, shares: u32) -> Self {
        self.weights.insert(workflow, shares.max(1));
        self
    }

    /// Protects large demands on accounts that the head is not stuck on.
    #[must_use]
    pub const fn protect(mut self, protect: Protect) -> Self {
        self.protect = Some(protect);
        self
    }

    /// Whether workflows share fairly.
    #[must_use]
    pub const fn is_fair(&self) -> bool {
        self.fair
    }

    pub(crate) const fn protection(&self) -> Option<Protect> {
        self.protect
    }
}

/// What one job of weight 1 adds to its workflow's tag. Every weight up to 22 divides it, and 24, 25,
/// 50, 100: their tags are exact, so that three jobs at weight 3 cost what one does at weight 1, and
/// ties fall to the arrival number. A `u64` has room for 15 thousand million such jobs.
const COST: u64 = 1_163_962_800;
/// Finish tags are swept of those behind `V` whenever so many more are held.
const SWEEP: usize = 1_024;

/// The tags of fair queuing.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    /// The largest tag granted so far.
    served: u64,
    finish: BTreeMap<WorkflowId, u64>,
    sweep_at: usize,
}

impl Tags {
    /// The tag of an arrival.
    pub(crate) fn arrive(&mut self, policy: &Policy, workflow: WorkflowId) -> u64 {
        if !policy.fair {
            return 0;
        }
        if self.finish.len() >= self.sweep_at {
            let served = self.served;
            self.finish.retain(|_, finish| *finish > served);
            self.sweep_at = self.finish.len() * 2 + SWEEP;
        }
        let weight = policy.weights.get(&workflow).copied().unwrap_or(1);
        let finish = self.finish.entry(workflow).or_insert(0);
        let start = self.served.max(*finish);
        *finish = start + (COST / u64::from(weight)).max(1);
        start
    }

    pub(crate) const fn granted(&mut self, tag: u64) {
        if tag > self.served {
            self.served = tag;
        }
    }
}

/// How often waiters were overtaken on one account: the largest arrival numbers granted there, as
/// many as the protection counts.
#[derive(Debug, Default)]
pub(crate) struct Overtaking {
    latest: BinaryHeap<Reverse<u64>>,
}

impl Overtaking {
    /// An arrival of this number was granted on the account.
    pub(crate) fn granted(&mut self, number: u64, protect: Protect) {
        let Protect::Overtaken(times) = protect else {
            return;
        };
        if self.latest.len() < times {
            self.latest.push(Reverse(number));
        } else if let Some(mut least) = self.latest.peek_mut()
            && number > least.0
        {
            *least = Reverse(number);
        }
    }

    /// Whether a waiter is protected: the `times`-th latest grant came after it, or it waited enough.
    pub(crate) fn protects(&self, number: u64, since: Time, now: Time, protect: Protect) -> bool {
        match protect {
            Protect::Overtaken(0) => true,
            Protect::Overtaken(times) => {
                self.latest.len() == times
                    && self.latest.peek().is_some_and(|least| least.0 > number)
            }
            Protect::Waited(span) => now.since(since) >= span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workflow(n: u128) -> WorkflowId {
        WorkflowId::from_u128(n)
    }

    #[test]
    fn a_late_workflow_starts_at_what_is_served() {
        let policy = Policy::fair().weight(workflow(2), 2);
        let mut tags = Tags::default();
        let first: Vec<u64> = (0..3).map(|_| tags.arrive(&policy, workflow(1))).collect();
        assert_eq!(first, [0, COST, 2 * COST]);
        tags.granted(COST);
        assert_eq!(tags.arrive(&policy, workflow(2)), COST);
        assert_eq!(tags.arrive(&policy, workflow(2)), COST + COST / 2, "two shares");
    }

    #[test]
    fn shares_of_one_job_add_up_to_one_job() {
        for weight in (1..=22).chain([24, 25, 50, 100]) {
            let policy = Policy::fair().weight(workflow(1), weight);
            let mut tags = Tags::default();
            for _ in 0..weight {
                tags.arrive(&policy, workflow(1));
            }
            assert_eq!(tags.arrive(&policy, workflow(1)), COST, "weight {weight}");
        }
    }

    #[test]
    fn overtaken_counts_the_later_arrivals_only() {
        let twice = Protect::Overtaken(2);
        let mut account = Overtaking::default();
        let protects = |account: &Overtaking| account.protects(5, Time::ZERO, Time::ZERO, twice);
        for (number, protected) in [(4, false), (6, false), (3, false), (7, true), (8, true)] {
            account.granted(number, twice);
            assert_eq!(protects(&account), protected, "after {number}");
        }
    }
}
