//! The ledger: approve, settle, release; a pure state machine.
//!
//! Driving it: call an input (every `&mut self` method but `poll`), then [`Ledger::poll`] until it
//! says `None`. Nothing depends on time: a wait's deadline is the shell's, which then calls
//! [`Ledger::leave`].
//!
//! Invariants: an approval holds the balance law in all scopes of the ask, or changes nothing; a
//! commitment ends exactly once, by [`Ledger::settle`] or [`Ledger::release`]; with nothing under
//! way each scope's committed money is zero, exactly; a refusal is noted here, in its workflow, so
//! an agent that swallows the error hides nothing. Approve and settle take one step for each scope
//! of the ask (few), beside the waiters that they decide; looking names up is logarithmic.
//!
//! What it deliberately doesn't do: stop anything under way. Lowering a cap below what is spent
//! refuses new work and the line, nothing else.
//!
//! Next: the line of waiters is in `line`, the sums in `scope`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use smallvec::SmallVec;

use super::line::Waiter;
use super::refusal::{RefusalLog, Refused};
use super::scope::{Fit, Scope};
use super::slab::{Key, Slab};
use super::totals::{Books, Of, Totals};
use super::{
    Ask, Booked, Booking, Decision, NearCap, Outcome, Overspent, RefusalReason, ScopeId,
    SpendRefusal, Stop, WaitId,
};
use crate::{Money, WorkflowId};

/// One approved, unfinished attempt's money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommitmentId(Key);

/// The money of all workflows: approves, books, and refuses.
///
/// ```
/// use nucleo_core::spend::{Ask, Booking, Decision, Ledger, Of, Price, Rates};
/// use nucleo_core::{Currency, Reserved, Usage, WorkflowId};
/// let mut ledger = Ledger::new();
/// let workflow = WorkflowId::from_u128(7);
/// ledger.open_workflow(workflow, Some("0.03 USD".parse().unwrap()));
/// let price = Price::new(Currency::USD, Rates::new("1".parse()?, "5".parse()?));
/// let ask = Ask::new(workflow, "haiku", Reserved { input: 1_000, output: 4_000 }).price(price);
///
/// let Decision::Approved(commitment) = ledger.approve(ask.clone()) else { panic!("it fits") };
/// assert!(matches!(ledger.approve(ask), Decision::Refused(_)), "0.042 is over 0.03");
/// let usage = Usage { input: 900, output: 120, ..Usage::default() };
/// let booked = ledger.settle(commitment, Booking::Actual(usage));
/// assert_eq!(booked.cost.unwrap().to_string(), "0.0015 USD");
/// assert_eq!(ledger.totals(Of::Workflow(workflow)).unwrap().refusals, 1);
/// # Ok::<(), nucleo_core::spend::PriceError>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    pub(super) scopes: Slab<Scope>,
    pub(super) waiters: BTreeMap<WaitId, Waiter>,
    /// Scopes whose line may move; empty between inputs.
    pub(super) stirred: BTreeSet<Key>,
    pub(super) outcomes: VecDeque<(WaitId, Outcome)>,
    pub(super) arrivals: u64,
    /// Closed scopes that may be idle; empty between inputs.
    retiring: Vec<Key>,
    commitments: Slab<Committed>,
    by_id: BTreeMap<ScopeId, Key>,
    books: Books,
    shut_down: bool,
}

/// The scopes of an ask that are configured, the workflow's first.
pub(super) type ScopeKeys = SmallVec<[Key; 4]>;

#[derive(Debug)]
struct Committed {
    ask: Ask,
    reservation: Option<Money>,
    scopes: ScopeKeys,
}

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

/// A workflow that isn't open has no cap to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} isn't open: open it with its cap first")]
pub struct UnknownScope(pub ScopeId);

impl CommitmentId {
    /// The id as a number, to be handed through code that knows none of this crate.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0.to_bits()
    }

    /// The id that [`CommitmentId::to_bits`] told.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(Key::from_bits(bits))
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// An empty ledger: no scopes, nothing spent.
    #[must_use]
    pub fn new() -> Self {
        Self {
            scopes: Slab::new(),
            waiters: BTreeMap::new(),
            stirred: BTreeSet::new(),
            outcomes: VecDeque::new(),
            arrivals: 0,
            retiring: Vec::new(),
            commitments: Slab::new(),
            by_id: BTreeMap::new(),
            books: Books::default(),
            shut_down: false,
        }
    }

    /// Opens a workflow, with its cap if it has one; only an open one can spend.
    ///
    /// # Panics
    /// When it is open already: two runs under one id would share a cap by accident.
    pub fn open_workflow(&mut self, workflow: WorkflowId, cap: Option<Money>) {
        let id = ScopeId::Workflow(workflow);
        let key = self.scopes.insert(Scope::new(id.clone(), cap));
        assert!(
            self.by_id.insert(id, key).is_none(),
            "{workflow} is opened twice"
        );
        self.books.open(workflow);
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
        let key = *self
            .by_id
            .get(scope)
            .ok_or_else(|| UnknownScope(scope.clone()))?;
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

    /// Decides on one attempt, in all its scopes at once.
    ///
    /// The decision names the scope to blame: first one that no waiting can mend, else the first
    /// that siblings fill, the workflow's before the others.
    pub fn approve(&mut self, ask: Ask) -> Decision {
        if self.shut_down {
            return Decision::Stopped(Stop::ShutDown);
        }
        let Some(scopes) = self.resolve(&ask) else {
            return Decision::Stopped(Stop::WorkflowClosed(ask.workflow));
        };
        let reservation = ask.reservation();
        if let Some((key, why)) = self.blame(&scopes, reservation) {
            let waiting_helps = why.is_none();
            match (why, ask.near_cap) {
                (None, NearCap::WaitForSiblings) => {}
                (why, _) => {
                    let why = why.unwrap_or(RefusalReason::OverCap);
                    return Decision::Refused(self.refuse(&ask, key, why, waiting_helps));
                }
            }
        }
        match (ask.near_cap, reservation) {
            (NearCap::WaitForSiblings, Some(mine)) => self.join_line(ask, mine, scopes),
            _ => Decision::Approved(self.commit(ask, reservation, scopes)),
        }
    }

    /// Ends a commitment with what it owes: that replaces the reservation, once.
    ///
    /// # Panics
    /// When the commitment ended before: a defect of the caller.
    pub fn settle(&mut self, commitment: CommitmentId, booking: Booking) -> Booked {
        let Committed {
            ask,
            reservation,
            scopes,
        } = self
            .commitments
            .remove(commitment.0)
            .expect("a commitment ends exactly once");
        let cost = match (booking, &ask.price) {
            (Booking::Actual(usage) | Booking::SoFar(usage), Some(price)) => {
                Some(price.cost(&usage))
            }
            (Booking::Reservation, _) => reservation,
            (_, None) => None,
        };
        for &key in &scopes {
            let scope = self.scope_mut(key);
            scope.give_back(reservation);
            if let Some(cost) = cost {
                scope.book(cost);
            }
        }
        self.books.book(&ask, booking, cost);
        for &key in &scopes {
            self.after_spending(key);
        }
        self.retire(&scopes);
        self.turn();
        let overspent = match (reservation, cost) {
            (Some(reservation), Some(cost)) if cost.pico() > reservation.pico() => {
                Some(Overspent {
                    attempt: ask.attempt,
                    model: ask.model,
                    reservation,
                    cost,
                })
            }
            _ => None,
        };
        Booked { cost, overspent }
    }

    /// Ends a commitment of which nothing is owed.
    ///
    /// # Panics
    /// When the commitment ended before: a defect of the caller.
    pub fn release(&mut self, commitment: CommitmentId) {
        let Committed {
            reservation,
            scopes,
            ..
        } = self
            .commitments
            .remove(commitment.0)
            .expect("a commitment ends exactly once");
        for &key in &scopes {
            self.scope_mut(key).give_back(reservation);
            self.stirred.insert(key);
        }
        self.retire(&scopes);
        self.turn();
    }

    /// The next waiter that was decided; `None` when there is no more to tell.
    pub fn poll(&mut self) -> Option<(WaitId, Outcome)> {
        self.outcomes.pop_front()
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
            self.outcomes
                .push_back((id, Outcome::Stopped(Stop::WorkflowClosed(workflow))));
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
        assert!(
            !matches!(scope, ScopeId::Workflow(_)),
            "a workflow is closed, not forgotten"
        );
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

    /// Approves nothing any more; every waiter is told so. What is under way settles as ever.
    pub fn shut_down(&mut self) {
        self.shut_down = true;
        while let Some((&id, _)) = self.waiters.first_key_value() {
            let scopes = self.remove_waiter(id).scopes;
            self.retire(&scopes);
            self.outcomes
                .push_back((id, Outcome::Stopped(Stop::ShutDown)));
        }
        self.turn();
    }

    /// Where a scope stands; `None` when it isn't configured.
    #[must_use]
    pub fn position(&self, scope: &ScopeId) -> Option<Position> {
        let scope = self.scope(*self.by_id.get(scope)?);
        let in_each = |amount: fn(&super::scope::Sum) -> i128| {
            scope
                .sums()
                .iter()
                .map(|sum| Money::from_pico(amount(sum), sum.currency))
                .collect()
        };
        Some(Position {
            cap: scope.cap,
            spent: in_each(|sum| sum.spent),
            committed: in_each(|sum| sum.committed),
            under_way: scope.under_way,
            waiting: scope.members.len() as u64,
        })
    }

    /// The totals of a name; `None` when nothing was counted under it.
    #[must_use]
    pub fn totals(&self, of: Of<'_>) -> Option<&Totals> {
        self.books.totals(of)
    }

    /// Every user's totals, by name; those past [`NAMES_KEPT`](super::NAMES_KEPT) names under `…`.
    pub fn users(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.books.users()
    }

    /// Every model's totals, by name, as [`Ledger::users`].
    pub fn models(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.books.models()
    }

    /// Every agent's totals, by name, as [`Ledger::users`].
    pub fn agents(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.books.agents()
    }

    /// The refusals of an open workflow.
    #[must_use]
    pub fn refusals(&self, workflow: WorkflowId) -> Option<&RefusalLog> {
        self.books.refusals(workflow)
    }

    /// Attempts under way in all scopes.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.commitments.len()
    }

    /// Takes the reservation in every scope; the caller has seen that it fits.
    pub(super) fn commit(
        &mut self,
        ask: Ask,
        reservation: Option<Money>,
        scopes: ScopeKeys,
    ) -> CommitmentId {
        for &key in &scopes {
            let scope = self.scope_mut(key);
            assert!(
                scope.fit(reservation) == Fit::Yes,
                "an approval broke the balance law"
            );
            scope.commit(reservation);
        }
        CommitmentId(self.commitments.insert(Committed {
            ask,
            reservation,
            scopes,
        }))
    }

    /// Makes a refusal, and notes it in the workflow.
    pub(super) fn refuse(
        &mut self,
        ask: &Ask,
        scope: Key,
        why: RefusalReason,
        waiting_helps: bool,
    ) -> Box<SpendRefusal> {
        let call = Refused {
            reservation: ask.reservation(),
            model: &ask.model,
            tokens: ask.tokens,
            waiting_helps,
        };
        let refusal = SpendRefusal::by(self.scope(scope), why, &call);
        self.books.refuse(ask, &refusal);
        Box::new(refusal)
    }

    /// The scope that keeps a reservation out, and why if waiting can't help; `None` if it fits.
    pub(super) fn blame(
        &self,
        scopes: &[Key],
        reservation: Option<Money>,
    ) -> Option<(Key, Option<RefusalReason>)> {
        let mut siblings = None;
        for &key in scopes {
            match self.scope(key).fit(reservation) {
                Fit::Yes => {}
                Fit::AfterSiblings => siblings = siblings.or(Some((key, None))),
                Fit::Never(why) => return Some((key, Some(why))),
            }
        }
        siblings
    }

    pub(super) fn scope(&self, key: Key) -> &Scope {
        self.scopes
            .get(key)
            .expect("a scope outlives its attempts and waiters")
    }

    pub(super) fn scope_mut(&mut self, key: Key) -> &mut Scope {
        self.scopes
            .get_mut(key)
            .expect("a scope outlives its attempts and waiters")
    }

    /// Closed scopes that just lost an attempt: the end of the turn looks whether it was the last.
    pub(super) fn retire(&mut self, scopes: &[Key]) {
        let closed = scopes
            .iter()
            .filter(|key| self.scope(**key).closed)
            .copied();
        let closed: ScopeKeys = closed.collect();
        self.retiring.extend(closed);
    }

    /// Gives back the memory of closed scopes that nothing refers to any more.
    pub(super) fn drop_retired(&mut self) {
        while let Some(key) = self.retiring.pop() {
            if self.scopes.get(key).is_some_and(Scope::is_idle) {
                self.scopes.remove(key);
            }
        }
    }

    /// The configured scopes of an ask, each once; `None` when its workflow isn't open.
    fn resolve(&self, ask: &Ask) -> Option<ScopeKeys> {
        let mut keys = ScopeKeys::new();
        keys.push(*self.by_id.get(&ScopeId::Workflow(ask.workflow))?);
        let user = ask
            .user
            .as_ref()
            .map(|name| ScopeId::User(Arc::clone(name)));
        for scope in user.iter().chain(&ask.scopes) {
            match self.by_id.get(scope) {
                Some(key) if !keys.contains(key) => keys.push(*key),
                _ => {}
            }
        }
        Some(keys)
    }
}
