//! What a job did: attempts, waits, tokens, money.
//!
//! Invariants: it is complete when the job's handle resolves, because every attempt is settled
//! before; it is bounded, whatever the number of attempts.
//!
//! Not here: totals over jobs (`nucleo_core::spend`), reports (`nucleo-agents`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_core::{JobId, Money, Span, Usage};
use serde::Serialize;

use super::guard::Bills;
use super::job::JobError;
use crate::admission::{Admission, Grant};

/// What one job did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JobRecord {
    /// The job.
    pub job: JobId,
    /// Attempts that were granted.
    pub attempts: u32,
    /// How long it waited in the line, over all attempts.
    pub waited: Span,
    /// What it waited on: accounts by name, and `memory`. Shares may overlap.
    pub waited_on: BTreeMap<Arc<str>, Span>,
    /// Tokens used, as far as they were reported.
    pub usage: Usage,
    /// What it cost, one sum a currency.
    pub cost: Vec<Money>,
    /// Calls without a price.
    pub unpriced: u32,
    /// Calls whose cost is an estimate.
    pub estimated: u32,
    /// Calls that were dropped before their ends, and agents below that still run: what those cost is in
    /// the workflow's totals, and not here.
    pub untold: u32,
    /// The model of the last attempt.
    pub model: Option<Arc<str>>,
}

/// How a job ended, and what it did.
#[derive(Debug)]
pub struct JobEnd<Out> {
    /// Its answer.
    pub result: Result<Out, JobError>,
    /// What it did.
    pub record: JobRecord,
}

impl JobRecord {
    pub(crate) fn granted(&mut self, admission: &Admission, grant: &Grant) {
        self.attempts += 1;
        self.waited = self.waited.saturating_add(grant.waited());
        for (account, span) in grant.waited_on().accounts() {
            self.add_wait(admission.name(*account), *span);
        }
        let memory = grant.waited_on().memory();
        if memory > Span::ZERO {
            self.add_wait("memory".into(), memory);
        }
    }

    fn add_wait(&mut self, on: Arc<str>, span: Span) {
        let sum = self.waited_on.entry(on).or_default();
        *sum = sum.saturating_add(span);
    }

    pub(crate) fn booked(&mut self, bills: &Bills) {
        for bill in bills {
            self.usage = self.usage.plus(&bill.usage);
            self.estimated += u32::from(bill.estimated);
            self.unpriced += u32::from(bill.unpriced);
            if let Some(cost) = bill.cost {
                self.add_cost(cost);
            }
        }
    }

    /// Adds another job's deeds, for the sum of an agent's calls.
    pub fn absorb(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.waited = self.waited.saturating_add(other.waited);
        for (on, span) in &other.waited_on {
            self.add_wait(Arc::clone(on), *span);
        }
        self.usage = self.usage.plus(&other.usage);
        for cost in &other.cost {
            self.add_cost(*cost);
        }
        self.unpriced += other.unpriced;
        self.estimated += other.estimated;
        self.untold += other.untold;
        if other.model.is_some() {
            self.model.clone_from(&other.model);
        }
    }

    /// Whether something was paid, or may have been: doing it again may pay that again.
    #[must_use]
    pub fn may_have_paid(&self) -> bool {
        !self.cost.is_empty() || self.untold > 0
    }

    fn add_cost(&mut self, cost: Money) {
        for sum in &mut self.cost {
            if let Ok(added) = sum.plus(cost) {
                *sum = added;
                return;
            }
        }
        self.cost.push(cost);
    }
}
