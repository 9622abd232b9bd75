//! What became of all inputs.
//!
//! Invariants: the counts add up to the inputs, as far as their number is known; refused items that
//! booked no money and inputs that were never pulled are handed back in input order, so that a second
//! fan-out goes on without paying twice.
//!
//! Not here: one item (`item`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use nucleo_core::spend::SpendRefusal;
use nucleo_core::{Money, Span, Usage};

use super::inputs::Inputs;
use super::item::{Item, ItemStatus};
use crate::workflow::WorkflowView;

/// A refused item that had already paid something when the wall refused a further call.
#[derive(Debug)]
#[non_exhaustive]
pub struct Interrupted<In> {
    /// The input's number.
    pub index: usize,
    /// The input.
    pub input: In,
    /// What it spent, one sum a currency.
    pub spent: Vec<Money>,
}

/// How long jobs waited on one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Waits {
    /// How many items waited on it.
    pub jobs: u64,
    /// In all.
    pub total: Span,
    /// The longest.
    pub longest: Span,
}

/// What became of all inputs.
#[derive(Debug)]
pub struct Report<In, Out> {
    answers: Vec<(usize, Out)>,
    failures: Vec<Item<In, Out>>,
    refused: Vec<Item<In, Out>>,
    tally: Tally,
    rest: Inputs<In>,
    workflow: WorkflowView,
}

/// Counts of a fan-out that go on while it runs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Items with an answer.
    pub answered: usize,
    /// Items that failed.
    pub failed: usize,
    /// Items that the money wall refused.
    pub refused: usize,
    /// What the items used.
    pub usage: Usage,
    /// What they cost, one sum a currency.
    pub cost: Vec<Money>,
    /// How long they waited, by account.
    pub waits: BTreeMap<Arc<str>, Waits>,
}

impl Tally {
    /// Counts one item.
    pub fn count<In, Out>(&mut self, item: &Item<In, Out>) {
        match item.status {
            ItemStatus::Answered => self.answered += 1,
            ItemStatus::Failed => self.failed += 1,
            ItemStatus::Refused => self.refused += 1,
        }
        self.usage = self.usage.plus(&item.record.usage);
        for cost in &item.record.cost {
            let mut sums = self.cost.iter_mut();
            match sums.find(|sum| sum.currency() == cost.currency()) {
                Some(sum) => *sum = sum.plus(*cost).expect("one currency a sum"),
                None => self.cost.push(*cost),
            }
        }
        for (account, span) in &item.record.waited_on {
            let waits = self.waits.entry(Arc::clone(account)).or_default();
            waits.jobs += 1;
            waits.total = waits.total.saturating_add(*span);
            waits.longest = waits.longest.max(*span);
        }
    }
}

impl<In, Out> Report<In, Out>
where
    In: Send + 'static,
{
    pub(super) fn new(rest: Inputs<In>, workflow: WorkflowView) -> Self {
        let (answers, failures, refused) = (Vec::new(), Vec::new(), Vec::new());
        Self { answers, failures, refused, tally: Tally::default(), rest, workflow }
    }

    pub(super) fn set_rest(&mut self, rest: Inputs<In>) {
        self.rest = rest;
    }

    pub(super) fn add(&mut self, item: Item<In, Out>) {
        self.tally.count(&item);
        match (item.status, item.result) {
            (_, Ok(out)) => self.answers.push((item.index, out)),
            (ItemStatus::Refused, result) => self.refused.push(Item { result, ..item }),
            (_, result) => self.failures.push(Item { result, ..item }),
        }
    }

    /// The answers with their inputs' numbers, in order of completion.
    #[must_use]
    pub fn answers(&self) -> &[(usize, Out)] {
        &self.answers
    }

    /// The answers alone, in input order.
    #[must_use]
    pub fn into_answers(mut self) -> Vec<Out> {
        self.answers.sort_by_key(|(index, _)| *index);
        self.answers.into_iter().map(|(_, out)| out).collect()
    }

    /// The items that failed, in order of completion.
    #[must_use]
    pub fn failures(&self) -> &[Item<In, Out>] {
        &self.failures
    }

    /// How many were answered.
    #[must_use]
    pub const fn answered(&self) -> usize {
        self.tally.answered
    }

    /// How many failed.
    #[must_use]
    pub const fn failed(&self) -> usize {
        self.tally.failed
    }

    /// How many were refused.
    #[must_use]
    pub const fn refused(&self) -> usize {
        self.tally.refused
    }

    /// How many inputs were never pulled; `None` where their number is not known.
    #[must_use]
    pub fn not_submitted(&self) -> Option<usize> {
        self.rest.left()
    }

    /// Tokens, money, waits.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Every refusal of the workflow, oldest first; the first 1,000 are kept whole.
    #[must_use]
    pub fn refusals(&self) -> Vec<SpendRefusal> {
        self.workflow.refusals()
    }

    /// Refused items that had paid something already, with what they spent: running one again pays
    /// that again. One that dropped a call before its end is here, too: what that cost is not known to
    /// the item.
    pub fn interrupted(&self) -> impl Iterator<Item = Interrupted<In>> + '_
    where
        In: Clone,
    {
        self.refused.iter().filter(|item| item.record.may_have_paid()).map(|item| Interrupted {
            index: item.index,
            input: item.input.clone(),
            spent: item.record.cost.clone(),
        })
    }

    /// Everything that has no answer for want of money, in input order: as [`Report::rest`], and the
    /// interrupted items too, whose first calls are then paid again.
    #[must_use]
    pub fn unfinished(self) -> Inputs<In> {
        let mut refused = self.refused;
        refused.sort_by_key(|item| item.index);
        self.rest.after(refused.into_iter().map(|item| item.input).collect())
    }

    /// What a second fan-out goes on with, under a higher cap: refused items that booked no money and
    /// the inputs never pulled, in input order.
    #[must_use]
    pub fn rest(self) -> Inputs<In> {
        let mut unpaid: Vec<_> =
            self.refused.into_iter().filter(|item| !item.record.may_have_paid()).collect();
        unpaid.sort_by_key(|item| item.index);
        self.rest.after(unpaid.into_iter().map(|item| item.input).collect())
    }
}

impl<In: Send + 'static, Out> fmt::Display for Report<In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { answered, failed, refused, .. } = &self.tally;
        write!(f, "{answered} answered, {failed} failed, {refused} refused")?;
        let paid = self.refused.iter().filter(|item| item.record.may_have_paid()).count();
        if paid > 0 {
            write!(f, " ({paid} of them had paid something)")?;
        }
        match self.not_submitted() {
            Some(0) => {}
            Some(left) => write!(f, ", {left} never submitted")?,
            None => write!(f, ", the rest never submitted")?,
        }
        match (self.workflow.spent(), self.workflow.cap()) {
            (Some(spent), Some(cap)) if spent.currency() == cap.currency() => {
                let spent = spent.to_string();
                let amount = spent.split(' ').next().unwrap_or_default();
                write!(f, "; {amount} of {cap}")
            }
            (Some(spent), _) => write!(f, "; {spent}"),
            (None, Some(cap)) => write!(f, "; nothing of {cap}"),
            (None, None) => Ok(()),
        }
    }
}
