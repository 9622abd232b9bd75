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
/// ledger.open_workflow(workflow, "inbox", Some("0.03 USD".parse().unwrap())).unwrap();
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
    pub(super) by_id: BTreeMap<ScopeId, Key>,
    pub(super) books: Books,
    commitments: Slab<Committed>,
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
        let Committed { ask, reservation, scopes } =
            self.commitments.remove(commitment.0).expect("a commitment ends exactly once");
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
                Some(Overspent { attempt: ask.attempt, model: ask.model, reservation, cost })
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
        let Committed { reservation, scopes, .. } =
            self.commitments.remove(commitment.0).expect("a commitment ends exactly once");
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

    /// Approves nothing any more; every waiter is told so. What is under way settles as ever.
    pub fn shut_down(&mut self) {
        self.shut_down = true;
        while let Some((&id, _)) = self.waiters.first_key_value() {
            let scopes = self.remove_waiter(id).scopes;
            self.retire(&scopes);
            self.outcomes.push_back((id, Outcome::Stopped(Stop::ShutDown)));
        }
        self.turn();
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
            assert!(scope.fit(reservation) == Fit::Yes, "an approval broke the balance law");
            scope.commit(reservation);
        }
        CommitmentId(self.commitments.insert(Committed { ask, reservation, scopes }))
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
        self.scopes.get(key).expect("a scope outlives its attempts and waiters")
    }

    pub(super) fn scope_mut(&mut self, key: Key) -> &mut Scope {
        self.scopes.get_mut(key).expect("a scope outlives its attempts and waiters")
    }

    /// Closed scopes that just lost an attempt: the end of the turn looks whether it was the last.
    pub(super) fn retire(&mut self, scopes: &[Key]) {
        let closed = scopes.iter().filter(|key| self.scope(**key).closed).copied();
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
        let user = ask.user.as_ref().map(|name| ScopeId::User(Arc::clone(name)));
        for scope in user.iter().chain(&ask.scopes) {
            match self.by_id.get(scope) {
                Some(key) if !keys.contains(key) => keys.push(*key),
                _ => {}
            }
        }
        Some(keys)
    }
}
