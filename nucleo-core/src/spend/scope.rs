//! A scope: one cap, and the sums that are held against it.
//!
//! Invariants: sums are kept by currency and never mixed; only the cap's own currency is judged;
//! giving back more than was committed is a bug, and is heard of in release builds too.
//!
//! Not here: which scopes an attempt belongs to (`ledger`), who is next in a line (`line`).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use smallvec::SmallVec;

use super::{RefusalReason, WaitId};
use crate::{Currency, Money, WorkflowId};

/// What a cap is set on.
///
/// ```
/// use nucleo_core::spend::ScopeId;
/// assert_eq!(ScopeId::User("ann".into()).to_string(), "user ann");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeId {
    /// One workflow.
    Workflow(WorkflowId),
    /// One user, across workflows.
    User(Arc<str>),
    /// One API key, across workflows.
    Key(Arc<str>),
    /// The running day of a zone; the shell says when the next one begins.
    Day(Arc<str>),
}

impl fmt::Display for ScopeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workflow(id) => write!(f, "workflow {id}"),
            Self::User(name) => write!(f, "user {name}"),
            Self::Key(name) => write!(f, "key {name}"),
            Self::Day(zone) => write!(f, "day {zone}"),
        }
    }
}

/// A scope travels as its text, `"workflow w-00000007"`.
impl Serialize for ScopeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A scope as people know it; prints, and travels, as its text: `workflow inbox`, or
/// `day 2026-03-29 (Asia/Tokyo)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeName {
    /// Which scope.
    pub id: ScopeId,
    /// A workflow's name, or the label of the running day.
    pub label: Option<Arc<str>>,
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.id, &self.label) {
            (ScopeId::Workflow(_), Some(name)) => write!(f, "workflow {name}"),
            (ScopeId::Day(zone), Some(day)) => write!(f, "day {day} ({zone})"),
            (id, _) => write!(f, "{id}"),
        }
    }
}

impl Serialize for ScopeName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// How a reservation stands to a scope's cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The law holds.
    Yes,
    /// Only the siblings' commitments are in the way.
    AfterSiblings,
    /// Nothing that siblings do can help.
    Never(RefusalReason),
}

#[derive(Debug)]
pub(super) struct Scope {
    pub(super) name: ScopeName,
    pub(super) cap: Option<Money>,
    /// Those that this scope keeps out, oldest first.
    pub(super) line: BTreeSet<WaitId>,
    /// Every waiter that belongs to this scope, whatever keeps it out, by its reservation in pico.
    pub(super) members: BTreeSet<(i128, WaitId)>,
    /// Attempts under way, unpriced ones included.
    pub(super) under_way: u64,
    /// No new attempts; the scope goes with its last one.
    pub(super) closed: bool,
    sums: SmallVec<[Sum; 1]>,
}

/// One currency's sums, in pico.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) currency: Currency,
    pub(super) spent: i128,
    pub(super) committed: i128,
    pub(super) siblings: u64,
}

impl Scope {
    pub(super) fn new(id: ScopeId, cap: Option<Money>) -> Self {
        Self {
            name: ScopeName { id, label: None },
            cap,
            line: BTreeSet::new(),
            members: BTreeSet::new(),
            under_way: 0,
            closed: false,
            sums: SmallVec::new(),
        }
    }

    /// The balance law, for one reservation.
    pub(super) fn fit(&self, reservation: Option<Money>) -> Fit {
        let Some(cap) = self.cap else { return Fit::Yes };
        let Some(mine) = reservation else {
            return Fit::Never(RefusalReason::Unpriced);
        };
        if mine.currency() != cap.currency() {
            return Fit::Never(RefusalReason::OtherCurrency);
        }
        let sum = self.sum(cap.currency());
        let alone = add(sum.spent, mine.pico());
        if alone > cap.pico() {
            Fit::Never(RefusalReason::OverCap)
        } else if add(alone, sum.committed) > cap.pico() {
            Fit::AfterSiblings
        } else {
            Fit::Yes
        }
    }

    pub(super) fn commit(&mut self, reservation: Option<Money>) {
        self.under_way += 1;
        let Some(mine) = reservation else { return };
        let sum = self.sum_mut(mine.currency());
        sum.committed = add(sum.committed, mine.pico());
        sum.siblings += 1;
    }

    pub(super) fn give_back(&mut self, reservation: Option<Money>) {
        self.under_way = self.under_way.checked_sub(1).expect("an attempt ends once");
        let Some(mine) = reservation else { return };
        let sum = self.sum_mut(mine.currency());
        assert!(sum.committed >= mine.pico(), "gave back more money than was committed");
        sum.committed -= mine.pico();
        sum.siblings = sum.siblings.checked_sub(1).expect("a commitment ends once");
    }

    pub(super) fn book(&mut self, cost: Money) {
        let sum = self.sum_mut(cost.currency());
        sum.spent = add(sum.spent, cost.pico());
    }

    /// A new day: nothing is spent yet. What is under way stays committed.
    pub(super) fn begin_day(&mut self, label: Arc<str>) {
        self.name.label = Some(label);
        for sum in &mut self.sums {
            sum.spent = 0;
        }
    }

    /// The waiter with the largest reservation, if that no longer fits the cap by itself.
    pub(super) fn hopeless(&self) -> Option<WaitId> {
        let cap = self.cap?;
        let (mine, id) = self.members.last()?;
        (add(self.sum(cap.currency()).spent, *mine) > cap.pico()).then_some(*id)
    }

    pub(super) fn sum(&self, currency: Currency) -> Sum {
        let found = self.sums.iter().find(|sum| sum.currency == currency);
        found.copied().unwrap_or(Sum { currency, spent: 0, committed: 0, siblings: 0 })
    }

    pub(super) fn sums(&self) -> &[Sum] {
        &self.sums
    }

    /// Whether nothing refers to it any more.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.members.is_empty()
    }

    fn sum_mut(&mut self, currency: Currency) -> &mut Sum {
        let at = self.sums.iter().position(|sum| sum.currency == currency).unwrap_or_else(|| {
            self.sums.push(Sum { currency, spent: 0, committed: 0, siblings: 0 });
            self.sums.len() - 1
        });
        &mut self.sums[at]
    }
}

/// The sum of two amounts in pico.
pub(super) fn add(left: i128, right: i128) -> i128 {
    left.checked_add(right).expect("a sum of money past 1e26 units")
}
