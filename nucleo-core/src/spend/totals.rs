//! Totals: what was called, used and paid, by whom.
//!
//! Invariants: every booking is counted once in each total that it belongs to; money of two
//! currencies stands side by side, never summed; each table has a bound ([`NAMES_KEPT`] names, the
//! rest together in one; [`CLOSED_KEPT`] closed workflows, the oldest forgotten first).
//!
//! Not here: caps and reservations (`scope`): a total judges nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;

use super::refusal::RefusalLog;
use super::{Ask, Booking, SpendRefusal};
use crate::{Money, Usage, WorkflowId};

/// How many names each table of totals holds; what later names book is summed under one entry.
pub const NAMES_KEPT: usize = 10_000;

/// How many closed workflows' totals are still known.
pub const CLOSED_KEPT: usize = 1_000;

/// What calls used and cost, for one name or for all.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Attempts that were booked.
    pub calls: u64,
    /// Their tokens, by kind; those of estimates included.
    pub usage: Usage,
    /// What they cost, one amount a currency, in order of first use.
    pub cost: Vec<Money>,
    /// Calls of models without a price.
    pub unpriced: u64,
    /// Calls whose cost or tokens are an estimate.
    pub estimates: u64,
    /// Refusals by the money wall.
    pub refusals: u64,
}

/// Whose totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of<'a> {
    /// Everything since the ledger was made.
    All,
    /// One workflow, also for a while after it was closed.
    Workflow(WorkflowId),
    /// One user.
    User(&'a str),
    /// One model, by the catalog's name.
    Model(&'a str),
    /// One agent.
    Agent(&'a str),
}

/// Totals by name, with a bound on the names.
#[derive(Debug, Default)]
pub(super) struct Table {
    by_name: BTreeMap<Arc<str>, Totals>,
    others: Totals,
}

/// All totals of a ledger.
#[derive(Debug, Default)]
pub(super) struct Books {
    all: Totals,
    users: Table,
    models: Table,
    agents: Table,
    workflows: BTreeMap<WorkflowId, Page>,
    closed: VecDeque<WorkflowId>,
}

/// A workflow's part of the books.
#[derive(Debug, Default)]
struct Page {
    totals: Totals,
    refusals: RefusalLog,
}

impl Totals {
    fn book(&mut self, booking: Booking, usage: &Usage, cost: Option<Money>) {
        self.calls += 1;
        self.usage = self.usage.plus(usage);
        self.estimates += u64::from(booking.is_estimate());
        match cost {
            None => self.unpriced += 1,
            Some(cost) => self.add(cost),
        }
    }

    fn add(&mut self, cost: Money) {
        match self.cost.iter_mut().find(|sum| sum.currency() == cost.currency()) {
            Some(sum) => *sum = sum.plus(cost).expect("found by its currency"),
            None => self.cost.push(cost),
        }
    }
}

impl Table {
    fn of(&mut self, name: &Arc<str>) -> &mut Totals {
        if !self.by_name.contains_key(name) && self.by_name.len() >= NAMES_KEPT {
            return &mut self.others;
        }
        self.by_name.entry(Arc::clone(name)).or_default()
    }

    /// The names in order, with their totals; then, if there were too many, the rest under "…".
    fn iter(&self) -> impl Iterator<Item = (&str, &Totals)> {
        let rest = (self.others != Totals::default()).then_some(("…", &self.others));
        self.by_name.iter().map(|(name, totals)| (&**name, totals)).chain(rest)
    }
}

impl Books {
    pub(super) fn open(&mut self, workflow: WorkflowId) {
        self.closed.retain(|closed| *closed != workflow);
        self.workflows.insert(workflow, Page::default());
    }

    /// Gives up what is kept only for a workflow that runs.
    pub(super) fn close(&mut self, workflow: WorkflowId) -> (Totals, RefusalLog) {
        let page = self.workflows.get_mut(&workflow).expect("a workflow is closed after it opens");
        let refusals = std::mem::take(&mut page.refusals);
        let totals = page.totals.clone();
        self.closed.push_back(workflow);
        if self.closed.len() > CLOSED_KEPT
            && let Some(oldest) = self.closed.pop_front()
        {
            self.workflows.remove(&oldest);
        }
        (totals, refusals)
    }

    pub(super) fn book(&mut self, ask: &Ask, booking: Booking, cost: Option<Money>) {
        let usage = booking.usage(&ask.tokens);
        self.each(ask, |totals| totals.book(booking, &usage, cost));
    }

    pub(super) fn refuse(&mut self, ask: &Ask, refusal: &SpendRefusal) {
        self.each(ask, |totals| totals.refusals += 1);
        if let Some(page) = self.workflows.get_mut(&ask.workflow) {
            page.refusals.note(refusal);
        }
    }

    pub(super) fn totals(&self, of: Of<'_>) -> Option<&Totals> {
        match of {
            Of::All => Some(&self.all),
            Of::Workflow(id) => self.workflows.get(&id).map(|page| &page.totals),
            Of::User(name) => self.users.by_name.get(name),
            Of::Model(name) => self.models.by_name.get(name),
            Of::Agent(name) => self.agents.by_name.get(name),
        }
    }

    pub(super) fn refusals(&self, workflow: WorkflowId) -> Option<&RefusalLog> {
        self.workflows.get(&workflow).map(|page| &page.refusals)
    }

    pub(super) fn users(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.users.iter()
    }

    pub(super) fn models(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.models.iter()
    }

    pub(super) fn agents(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.agents.iter()
    }

    /// Every total that an ask counts in. A page may be gone: a job can outlive its workflow.
    fn each(&mut self, ask: &Ask, mut change: impl FnMut(&mut Totals)) {
        change(&mut self.all);
        change(self.models.of(&ask.model));
        change(self.agents.of(&ask.agent));
        if let Some(user) = &ask.user {
            change(self.users.of(user));
        }
        if let Some(page) = self.workflows.get_mut(&ask.workflow) {
            change(&mut page.totals);
        }
    }
}
