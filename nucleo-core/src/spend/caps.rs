//! Scopes and their caps, while the ledger runs: opened, raised, lowered, closed.
//!
//! Invariants: only an open workflow spends, so that closing one can't be a way past its cap; a cap
//! may change at any time and never touches work under way; a closed or forgotten scope is gone
//! from memory with its last attempt.
//!
//! Not here: the decision about one attempt (`ledger`), the line that a changed cap stirs (`line`).

use std::sync::Arc;

use super::scope::{Scope, Sum};
use super::totals::Totals;
use super::{Ledger, Outcome, RefusalLog, ScopeId, Stop, WaitId};
use crate::{Money, WorkflowId};

/// Where a scope stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The cap, if there is one.
    pub cap: Option<Money>,
    /// Booked so far, one amount a currency; earlier runs' money carried over included.
    pub spent: Vec<Money>,
    /// Reserved by attempts under way, one amount a currency.
    pub committed: Vec<Money>,
    /// Attempts under way.
    pub under_way: u64,
    /// Attempts that wait for siblings.
    pub waiting: u64,
}

/// What is left to say of a workflow when it is closed.
#[derive(Clone, Debug)]
pub struct WorkflowClosing {
    /// What was booked until now.
    pub totals: Totals,
    /// Its refusals.
    pub refusals: RefusalLog,
}

/// A scope that isn't configured has no sums and no cap to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} isn't known to the ledger: open the workflow, or set a cap, first")]
pub struct UnknownScope(pub ScopeId);

/// A workflow of this id is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is open already: close it first, or give this run an id of its own")]
pub struct AlreadyOpen(pub WorkflowId);

impl Ledger {
    /// Opens a workflow, with its cap if it has one; only an open one can spend.
    ///
    /// The name is for people: refusals print it; it may be empty.
    ///
    /// # Errors
    /// [`AlreadyOpen`] when it is: two runs under one id would share a cap by accident.
    pub fn open_workflow(
        &mut self,
        workflow: WorkflowId,
        name: impl Into<Arc<str>>,
        cap: Option<Money>,
    ) -> Result<(), AlreadyOpen> {
        let id = ScopeId::Workflow(workflow);
        if self.by_id.contains_key(&id) {
            return Err(AlreadyOpen(workflow));
        }
        let mut scope = Scope::new(id.clone(), cap);
        scope.name.label = Some(name.into()).filter(|name| !name.is_empty());
        let key = self.scopes.insert(scope);
        self.by_id.insert(id, key);
        self.books.open(workflow);
        Ok(())
    }

    /// Sets or lifts a cap; a user's, a key's or a day's scope counts from its first cap on.
    ///
    /// Work under way isn't touched. Waiters that the new cap can't admit are refused, and those
    /// that it can are approved.
    ///
    /// # Errors
    /// [`UnknownScope`] for a workflow that isn't open.
    pub fn set_cap(&mut self, scope: ScopeId, cap: Option<Money>) -> Result<(), UnknownScope> {
        let key = match (self.by_id.get(&scope), &scope) {
            (Some(key), _) => *key,
            (None, ScopeId::Workflow(_)) => return Err(UnknownScope(scope)),
            (None, _) => {
                let key = self.scopes.insert(Scope::new(scope.clone(), cap));
                self.by_id.insert(scope, key);
                key
            }
        };
        self.scope_mut(key).cap = cap;
        self.refuse_misfits(key);
        self.stirred.insert(key);
        self.turn();
        Ok(())
    }

    /// Counts money that an earlier process spent in a scope, so that a resumed run's cap holds
    /// for both; it is in no total of calls.
    ///
    /// # Errors
    /// [`UnknownScope`] when the scope isn't configured.
    pub fn carry_over(&mut self, scope: &ScopeId, spent: Money) -> Result<(), UnknownScope> {
        let key = *self.by_id.get(scope).ok_or_else(|| UnknownScope(scope.clone()))?;
        self.scope_mut(key).book(spent);
        self.after_spending(key);
        self.turn();
        Ok(())
    }

    /// The next day of a zone begins: its scope, if configured, has spent nothing yet. What is
    /// under way stays committed, and is booked in the day in which it settles.
    pub fn begin_day(&mut self, zone: &str, label: impl Into<Arc<str>>) {
        let Some(key) = self.by_id.get(&ScopeId::Day(Arc::from(zone))).copied() else {
            return;
        };
        self.scope_mut(key).begin_day(label.into());
        self.stirred.insert(key);
        self.turn();
    }

    /// Closes a workflow: it approves no more, its waiters are told so, and its memory is given
    /// back with its last commitment. `None` when it isn't open.
    ///
    /// Its totals stay, with those of the last [`CLOSED_KEPT`](super::CLOSED_KEPT) closed ones, and
    /// go on counting what still settles.
    pub fn close_workflow(&mut self, workflow: WorkflowId) -> Option<WorkflowClosing> {
        let key = self.by_id.remove(&ScopeId::Workflow(workflow))?;
        self.scope_mut(key).closed = true;
        let members: Vec<WaitId> = self.scope(key).members.iter().map(|(_, id)| *id).collect();
        for id in members {
            self.remove_waiter(id);
            self.outcomes.push_back((id, Outcome::Stopped(Stop::WorkflowClosed(workflow))));
        }
        self.retire(&[key]);
        self.turn();
        let (totals, refusals) = self.books.close(workflow);
        Some(WorkflowClosing { totals, refusals })
    }

    /// Forgets a user's, key's or day's scope, and with it the cap and what was spent.
    ///
    /// # Panics
    /// For a workflow: that is closed, with [`Ledger::close_workflow`].
    pub fn forget(&mut self, scope: &ScopeId) {
        assert!(!matches!(scope, ScopeId::Workflow(_)), "a workflow is closed, not forgotten");
        let Some(key) = self.by_id.remove(scope) else {
            return;
        };
        let forgotten = self.scope_mut(key);
        forgotten.cap = None;
        forgotten.closed = true;
        self.stirred.insert(key);
        self.retire(&[key]);
        self.turn();
    }

    /// Where a scope stands; `None` when it isn't configured.
    #[must_use]
    pub fn position(&self, scope: &ScopeId) -> Option<Position> {
        let scope = self.scope(*self.by_id.get(scope)?);
        let in_each = |amount: fn(&Sum) -> i128| {
            scope.sums().iter().map(|sum| Money::from_pico(amount(sum), sum.currency)).collect()
        };
        Some(Position {
            cap: scope.cap,
            spent: in_each(|sum| sum.spent),
            committed: in_each(|sum| sum.committed),
            under_way: scope.under_way,
            waiting: scope.members.len() as u64,
        })
    }
}
