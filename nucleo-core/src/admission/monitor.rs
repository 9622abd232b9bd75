//! The monitor: accounts, line and memory gate as one pure state machine.
//!
//! Inputs are methods ([`Monitor::submit`], [`Monitor::leave`], [`Monitor::settle`], …), outputs are
//! polled. The driving contract, once: *after any input, call [`Monitor::poll`] until it says
//! `None`; then wait for the next input or for [`Monitor::poll_timeout`], whichever is earlier, and
//! poll again.* A late or repeated poll is harmless.
//!
//! Invariants:
//! - a demand is granted whole or holds nothing: all accounts are asked before any is taken;
//! - the head's whole demand is set aside on every account it names, so nobody takes what the head
//!   waits for; a follower goes past it only when it fits beside that;
//! - a demand larger than an account can ever hold, and one on an account that refuses everyone, is
//!   refused and never waits;
//! - at rest, nothing held implies that nobody waits.
//!
//! Not here: locks, wake-ups, clocks (`nucleo-harness`); the search (`index`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::accounts::{Accounts, Protected};
use super::attribution::{Shortness, WaitedOn};
use super::classes::ByClass;
use super::index::{Found, Index};
use super::order::{Order, Ticket};
use super::settlement::{Charge, Settlement};
use super::shares::{Policy, Tags};
use super::slots::{Needs, Slots, State, Waiter};
use crate::account::{Account, AccountId, Horizon, Verdict};
use crate::demand::{Demand, amount_of};
use crate::error::AdmitError;
use crate::limits::{Limit, Rate, RateError};
use crate::memory::{Ask, MemoryGate, MemoryStatus};
use crate::time::{Span, Time};

/// What the monitor has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a decision that nobody carries out strands its waiter"]
pub enum Action {
    /// Granted: all it asked for is taken.
    Admit(Admitted),
    /// Refused: nothing is taken, and the ticket is over.
    Reject(Ticket, AdmitError),
}

/// A grant, as the monitor tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Whose.
    pub ticket: Ticket,
    /// How long it waited.
    pub waited: Span,
    /// What it waited on.
    pub waited_on: WaitedOn,
    /// The place it had, for a retry to keep.
    pub order: Order,
}

impl Action {
    /// Whom it concerns.
    #[must_use]
    pub const fn ticket(&self) -> Ticket {
        match self {
            Self::Admit(admitted) => admitted.ticket,
            Self::Reject(ticket, _) => *ticket,
        }
    }
}

/// Accounts, line and memory gate.
///
/// ```
/// use nucleo_core::limits::Permits;
/// use nucleo_core::{Action, Demand, JobId, Monitor, Settlement, Time, WorkflowId};
///
/// let mut monitor = Monitor::new();
/// let pool = monitor.open("http", Permits::new(1));
/// let job = JobId::root(WorkflowId::from_u128(1));
/// let first = monitor.submit(Demand::new(job.child(0).attempt(1)).need(pool, 1), Time::ZERO);
/// let second = monitor.submit(Demand::new(job.child(1).attempt(1)).need(pool, 1), Time::ZERO);
///
/// assert!(matches!(monitor.poll(Time::ZERO), Some(Action::Admit(grant)) if grant.ticket == first));
/// assert_eq!(monitor.poll(Time::ZERO), None);
/// monitor.settle(first, &Settlement::in_full(), Time::from_millis(5));
/// let next = monitor.poll(Time::from_millis(5));
/// assert!(matches!(next, Some(Action::Admit(grant)) if grant.ticket == second));
/// ```
#[derive(Debug)]
pub struct Monitor<I = ByClass> {
    accounts: Accounts,
    index: I,
    slots: Slots,
    gate: Option<MemoryGate>,
    /// The head whose demand is set aside now.
    head: Option<(Order, Ticket)>,
    /// When each waiter's wait ends.
    expiries: BTreeSet<(Time, Ticket)>,
    /// Refused already, taken in their turn of the order.
    doomed: BTreeMap<Order, (Ticket, AdmitError)>,
    /// Decided at arrival.
    outbox: VecDeque<Action>,
    /// For how long the head was short of each account.
    shortness: Shortness,
    policy: Policy,
    tags: Tags,
    numbers: u64,
    latest: Time,
    stopped: bool,
}

impl<I: Index> Default for Monitor<I> {
    fn default() -> Self {
        Self {
            accounts: Accounts::default(),
            index: I::default(),
            slots: Slots::default(),
            gate: None,
            head: None,
            expiries: BTreeSet::new(),
            doomed: BTreeMap::new(),
            outbox: VecDeque::new(),
            shortness: Shortness::default(),
            policy: Policy::default(),
            tags: Tags::default(),
            numbers: 0,
            latest: Time::ZERO,
            stopped: false,
        }
    }
}

impl Monitor {
    /// A monitor without accounts, and without a memory gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Inputs.
impl<I: Index> Monitor<I> {
    /// Opens an account under a name that errors and reports print.
    pub fn open(&mut self, name: impl Into<Arc<str>>, limit: impl Into<Limit>) -> AccountId {
        self.shortness.open();
        self.accounts.open(name.into(), limit.into())
    }

    /// Sets who is served when many share, for the arrivals from now on.
    pub fn share(&mut self, policy: Policy) {
        self.policy = policy;
        for account in (0..self.accounts.len()).map(account_at) {
            if self.accounts.protected(account).is_some() {
                self.accounts.protect(account, None);
                self.index.changed(account);
            }
        }
    }

    /// Sets a memory gate before all accounts; without a sample it lets everyone pass.
    pub fn watch_memory(&mut self) {
        self.gate.get_or_insert_with(MemoryGate::new);
    }

    /// A demand arrives. What becomes of it is polled.
    pub fn submit(&mut self, demand: Demand, now: Time) -> Ticket {
        let now = self.advance(now);
        self.numbers += 1;
        let order = demand.place.unwrap_or_else(|| {
            let tag = self.tags.arrive(&self.policy, demand.workflow);
            Order { tag, number: self.numbers }
        });
        let needs = Needs::from_slice(demand.needs());
        let refused = if self.stopped {
            Some(AdmitError::ShutDown)
        } else {
            self.accounts.refuses(&needs, now)
        };
        if let Some(error) = refused {
            let ticket = self.slots.insert(State::Granted(Needs::new()));
            self.slots.remove(ticket);
            self.outbox.push_back(Action::Reject(ticket, error));
            return ticket;
        }
        let nobody_is_before = self.index.is_empty();
        if needs.is_empty() || (nobody_is_before && self.may_start(&needs, now)) {
            return self.start(order, needs, now);
        }
        self.enqueue(order, needs, now.saturating_add(demand.max_wait), now)
    }

    /// A waiter leaves the line, or a grant that nobody took is rolled back whole; one that is over
    /// already has nothing to leave. Says whether there was anything.
    pub fn leave(&mut self, ticket: Ticket, now: Time) -> bool {
        let now = self.advance(now);
        match self.slots.get(ticket) {
            State::Free => false,
            State::Waiting(_) => {
                self.unlink(ticket);
                self.slots.remove(ticket);
                true
            }
            State::Granted(_) => {
                self.roll_back(ticket, now);
                true
            }
        }
    }

    /// The work of a grant ended: held accounts come back, metered ones are charged as told. The
    /// ticket is over, unless the settlement leaves something still held.
    ///
    /// # Panics
    /// When the ticket holds no grant: a grant is settled or rolled back once.
    pub fn settle(&mut self, ticket: Ticket, settlement: &Settlement, now: Time) {
        let now = self.advance(now);
        let State::Granted(needs) = self.slots.replace(ticket, State::Granted(Needs::new())) else {
            panic!("{ticket:?} is settled but holds no grant");
        };
        let had_resources = !needs.is_empty();
        let mut kept = Needs::new();
        for need in needs {
            let limit = self.accounts.limit_mut(need.account);
            match settlement.of(need.account) {
                Some(Charge::StillHeld) => {
                    kept.push(need);
                    continue;
                }
                Some(Charge::RolledBack) => limit.roll_back(need.amount, now),
                Some(Charge::Used(used)) => limit.settle(need.amount, used, now),
                None => limit.settle(need.amount, need.amount, now),
            }
            self.index.changed(need.account);
        }
        if !kept.is_empty() {
            self.slots.replace(ticket, State::Granted(kept));
            return;
        }
        self.slots.remove(ticket);
        if had_resources && let Some(gate) = &mut self.gate {
            gate.completed();
        }
    }

    /// The work of a grant never happened: everything comes back whole and the ticket is over.
    ///
    /// # Panics
    /// When the ticket holds no grant.
    pub fn roll_back(&mut self, ticket: Ticket, now: Time) {
        let State::Granted(needs) = self.slots.get(ticket) else {
            panic!("{ticket:?} is rolled back but holds no grant");
        };
        let all = needs.iter().fold(Settlement::in_full(), |settlement, need| {
            settlement.charge(need.account, Charge::RolledBack)
        });
        self.settle(ticket, &all, now);
    }

    /// A reading of memory, as a share of its limit.
    ///
    /// # Panics
    /// When memory is not watched.
    pub fn sample_memory(&mut self, reading: f64, now: Time) {
        self.advance(now);
        self.gate.as_mut().expect("a sample without a memory gate").sample(reading);
    }

    /// An answer says something about an account's pace.
    pub fn verdict(&mut self, account: AccountId, verdict: Verdict, now: Time) {
        let now = self.advance(now);
        self.accounts.limit_mut(account).verdict(verdict, now);
        self.index.changed(account);
    }

    /// Lets nothing go from a bucket before `until`; on other accounts it does nothing.
    pub fn park(&mut self, account: AccountId, until: Time, now: Time) {
        self.advance(now);
        if let Limit::Bucket(bucket) = self.accounts.limit_mut(account) {
            bucket.park(until);
        }
    }

    /// Lowers a bucket's level to `amount`, if it is above; on other accounts it does nothing.
    pub fn lower(&mut self, account: AccountId, amount: u64, now: Time) {
        let now = self.advance(now);
        if let Limit::Bucket(bucket) = self.accounts.limit_mut(account) {
            bucket.lower_to(amount, now);
        }
    }

    /// Changes the number of permits; holders drain, waiters that can never fit now are refused. On
    /// an account of another kind it does nothing.
    pub fn resize(&mut self, account: AccountId, capacity: u64, now: Time) {
        let now = self.advance(now);
        if let Limit::Permits(permits) = self.accounts.limit_mut(account) {
            permits.resize(capacity);
            self.capacity_changed(account, now);
        }
    }

    /// Changes a bucket's rate; waiters that can never fit now are refused. On an account of another
    /// kind it does nothing.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range; nothing has changed then.
    pub fn reconfigure(
        &mut self,
        account: AccountId,
        rate: Rate,
        now: Time,
    ) -> Result<(), RateError> {
        let now = self.advance(now);
        if let Limit::Bucket(bucket) = self.accounts.limit_mut(account) {
            bucket.reconfigure(rate, now)?;
            self.capacity_changed(account, now);
        }
        Ok(())
    }

    /// Refuses every waiter and every later arrival; grants live on until they are settled.
    pub fn stop(&mut self, now: Time) {
        self.advance(now);
        self.stopped = true;
        let (doomed, index) = (&mut self.doomed, &self.index);
        index.in_order(&mut |order, ticket| {
            doomed.entry(order).or_insert((ticket, AdmitError::ShutDown));
        });
    }
}

/// Outputs.
impl<I: Index> Monitor<I> {
    /// The next decision, if there is one at `now`.
    ///
    /// The rule in one line: in order, the first waiter that is refused or that fits under the
    /// present head's set-aside.
    pub fn poll(&mut self, now: Time) -> Option<Action> {
        let now = self.advance(now);
        while let Some(action) = self.outbox.pop_front() {
            let left_since = matches!(&action, Action::Admit(admitted)
                if matches!(self.slots.get(admitted.ticket), State::Free));
            if !left_since {
                return Some(action);
            }
        }
        self.expire(now);
        self.refresh_head();
        self.refresh_protection(now);
        let (head, ticket) = self.head?;
        let doomed = self.doomed.first_key_value().map(|(order, _)| *order);
        if doomed == Some(head) {
            return Some(self.reject(head));
        }
        let found = match self.ask_gate(now) {
            Ask::Wait(_) => None,
            Ask::Go if self.accounts.head_fits(&self.slots.waiter(ticket).needs, now) => {
                Some((head, ticket))
            }
            Ask::Go => self.first_follower(now),
        };
        match (found, doomed) {
            (Some((order, _)), Some(doomed)) if doomed <= order => Some(self.reject(doomed)),
            (None, Some(doomed)) => Some(self.reject(doomed)),
            (Some((_, ticket)), _) => Some(self.grant(ticket, now)),
            (None, None) => None,
        }
    }

    /// When to poll again if no input comes before: the earliest instant at which the clock alone
    /// may change an answer.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if !self.outbox.is_empty() || !self.doomed.is_empty() {
            return Some(self.latest);
        }
        let expiry = self.expiries.first().map(|(at, _)| *at);
        match self.next_fit() {
            Horizon::At(at) => Some(expiry.map_or(at, |expiry| expiry.min(at))),
            Horizon::OnEvent => expiry,
        }
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.index.len()
    }

    /// An account's name.
    #[must_use]
    pub fn name(&self, account: AccountId) -> &Arc<str> {
        self.accounts.name(account)
    }

    /// An account, to be asked.
    #[must_use]
    pub fn limit(&self, account: AccountId) -> &Limit {
        self.accounts.limit(account)
    }

    /// All accounts, in the order in which they were opened.
    pub fn account_ids(&self) -> impl Iterator<Item = AccountId> + use<I> {
        let count = u32::try_from(self.accounts.len()).expect("account ids are 32 bits");
        (0..count).map(AccountId::from_index)
    }

    /// For how long, in all, the head of the line was short of an account.
    #[must_use]
    pub fn short_time(&self, account: AccountId) -> Span {
        self.shortness.of(account)
    }

    /// For how long, in all, the memory gate kept the line.
    #[must_use]
    pub const fn memory_time(&self) -> Span {
        self.shortness.of_memory()
    }

    /// How the memory gate stands; `None` when memory is not watched.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryStatus> {
        self.gate.as_ref().map(MemoryGate::status)
    }
}

/// Steps.
impl<I: Index> Monitor<I> {
    /// Time never goes back here, whatever two callers read from their clocks.
    fn advance(&mut self, now: Time) -> Time {
        if now > self.latest {
            self.attribute(now.since(self.latest));
            self.latest = now;
        }
        self.latest
    }

    /// Books the time that passed with what the head was short of meanwhile.
    fn attribute(&mut self, passed: Span) {
        let Some((_, head)) = self.index.head() else {
            return;
        };
        let gate = self.gate.as_ref().map(|gate| gate.ask(self.latest));
        if matches!(gate, Some(Ask::Wait(_))) {
            self.shortness.add_memory(passed);
        }
        for need in &self.slots.waiter(head).needs {
            let available = self.accounts.limit(need.account).available(self.latest);
            if available < i128::from(need.amount) {
                self.shortness.add(need.account, passed);
            }
        }
    }

    /// Whether a demand may start while nobody is before it.
    fn may_start(&self, needs: &[crate::demand::Need], now: Time) -> bool {
        let gate_lets = self.gate.as_ref().is_none_or(|gate| gate.ask(now) == Ask::Go);
        gate_lets && self.accounts.head_fits(needs, now)
    }

    /// Grants an arrival at once.
    fn start(&mut self, order: Order, needs: Needs, now: Time) -> Ticket {
        self.take(order, &needs, now);
        let ticket = self.slots.insert(State::Granted(needs));
        self.outbox.push_back(Action::Admit(Admitted {
            ticket,
            waited: Span::ZERO,
            waited_on: WaitedOn::default(),
            order,
        }));
        ticket
    }

    fn enqueue(&mut self, order: Order, needs: Needs, expires: Time, now: Time) -> Ticket {
        let readings = self.shortness.read(&needs);
        let number = self.numbers;
        let waiter = Waiter { order, needs, readings, since: now, expires, number };
        let ticket = self.slots.insert(State::Waiting(waiter));
        self.index.insert(order, ticket, &self.slots.waiter(ticket).needs);
        self.expiries.insert((expires, ticket));
        ticket
    }

    /// Takes a waiter out of the line; its slot stays.
    fn unlink(&mut self, ticket: Ticket) {
        let waiter = self.slots.waiter(ticket);
        self.index.remove(waiter.order, &waiter.needs);
        self.expiries.remove(&(waiter.expires, ticket));
        self.doomed.remove(&waiter.order);
        for need in &waiter.needs {
            let protected = self.accounts.protected(need.account);
            if protected.is_some_and(|protected| protected.ticket == ticket) {
                self.accounts.protect(need.account, None);
                self.index.changed(need.account);
            }
        }
        if let Some(gate) = &mut self.gate {
            gate.left(waiter.number);
        }
        self.refresh_head();
    }

    fn grant(&mut self, ticket: Ticket, now: Time) -> Action {
        self.unlink(ticket);
        let State::Waiting(waiter) = self.slots.replace(ticket, State::Granted(Needs::new()))
        else {
            unreachable!("unlink has just seen it wait");
        };
        self.take(waiter.order, &waiter.needs, now);
        let waited = now.since(waiter.since);
        let waited_on = self.shortness.since(&waiter.needs, &waiter.readings);
        self.slots.replace(ticket, State::Granted(waiter.needs));
        Action::Admit(Admitted { ticket, waited, waited_on, order: waiter.order })
    }

    fn take(&mut self, order: Order, needs: &Needs, now: Time) {
        self.tags.granted(order.tag);
        if let Some(protect) = self.policy.protection() {
            for need in needs {
                self.accounts.overtaking(need.account).granted(order.number, protect);
            }
        }
        self.accounts.take(needs, now);
        if !needs.is_empty()
            && let Some(gate) = &mut self.gate
        {
            gate.released(now);
        }
    }

    fn reject(&mut self, order: Order) -> Action {
        let (ticket, error) = self.doomed.remove(&order).expect("the doomed one was just seen");
        self.unlink(ticket);
        self.slots.remove(ticket);
        Action::Reject(ticket, error)
    }

    /// Asks the gate for those who wait: a refusal puts all of them into its line.
    fn ask_gate(&mut self, now: Time) -> Ask {
        let Some(gate) = &mut self.gate else {
            return Ask::Go;
        };
        let answer = gate.ask(now);
        if matches!(answer, Ask::Wait(_)) {
            gate.join(self.index.len(), self.numbers);
        }
        answer
    }

    /// The head changed: what was set aside for the old one is free, the new one's is not.
    fn refresh_head(&mut self) {
        let head = self.index.head();
        if head == self.head {
            return;
        }
        for account in (0..self.accounts.len()).map(account_at) {
            if self.accounts.aside(account) > 0 {
                self.accounts.set_aside(account, 0);
                self.index.changed(account);
            }
        }
        if let Some((_, ticket)) = head {
            for need in &self.slots.waiter(ticket).needs {
                self.accounts.set_aside(need.account, need.amount);
                self.index.changed(need.account);
            }
        }
        self.head = head;
    }

    /// The first behind the head that fits: of the line, or of those that are protected somewhere and
    /// so meet less that is set aside.
    fn first_follower(&mut self, now: Time) -> Option<(Order, Ticket)> {
        let found = match self.index.first_fit(&self.accounts, now) {
            Found::Waiter(order, ticket) => Some((order, ticket)),
            Found::Nobody | Found::Unfinished => None,
        };
        if self.policy.protection().is_none() {
            return found;
        }
        let fits = |protected: &Protected| {
            let needs = &self.slots.waiter(protected.ticket).needs;
            self.accounts.follower_fits(protected.ticket, needs, now)
        };
        let protected =
            (0..self.accounts.len()).filter_map(|at| self.accounts.protected(account_at(at)));
        let protected = protected.filter(fits).map(|protected| (protected.order, protected.ticket));
        found.into_iter().chain(protected).min()
    }

    /// Sees anew whom each account is protected for.
    fn refresh_protection(&mut self, now: Time) {
        let Some(protect) = self.policy.protection() else {
            return;
        };
        let head = self.head.map(|(order, _)| order);
        for account in (0..self.accounts.len()).map(account_at) {
            let free = self.accounts.beside_head(account, now);
            let oldest = self.index.first_short(account, free, head).filter(|(order, ticket)| {
                let since = self.slots.waiter(*ticket).since;
                self.accounts.overtaking(account).protects(order.number, since, now, protect)
            });
            let protected = oldest.map(|(order, ticket)| {
                let amount = amount_of(&self.slots.waiter(ticket).needs, account);
                Protected { order, ticket, amount }
            });
            if protected != self.accounts.protected(account) {
                self.accounts.protect(account, protected);
                self.index.changed(account);
            }
        }
    }

    /// When the clock alone lets a protected waiter go, or brings it what it was short of, so that
    /// what is set aside for it is free again.
    fn protection_deadline(&self, now: Time) -> Horizon {
        let ends = (0..self.accounts.len()).filter_map(|at| {
            let account = account_at(at);
            let protected = self.accounts.protected(account)?;
            let needs = &self.slots.waiter(protected.ticket).needs;
            let goes = self.accounts.follower_when(protected.ticket, needs, now);
            let enough = self.accounts.beside_head_when(account, protected.amount, now);
            Some(goes.min(enough))
        });
        ends.min().unwrap_or(Horizon::OnEvent)
    }

    /// Dooms everyone whose wait has ended.
    fn expire(&mut self, now: Time) {
        while let Some(&(at, ticket)) = self.expiries.first()
            && at <= now
        {
            self.expiries.pop_first();
            let waiter = self.slots.waiter(ticket);
            let error =
                AdmitError::Expired { waited: now.since(waiter.since), on: self.short_of(ticket) };
            self.doomed.entry(waiter.order).or_insert((ticket, error));
        }
    }

    /// The name of what a waiter is short of.
    fn short_of(&self, ticket: Ticket) -> Arc<str> {
        let waiter = self.slots.waiter(ticket);
        let is_head = self.head.is_some_and(|(_, head)| head == ticket);
        let short = waiter.needs.iter().find(|need| {
            let aside = if is_head { 0 } else { self.accounts.aside(need.account) };
            let available = self.accounts.limit(need.account).available(self.latest);
            available < i128::from(need.amount) + i128::from(aside)
        });
        short.map_or_else(|| "memory".into(), |need| Arc::clone(self.accounts.name(need.account)))
    }

    /// Dooms the waiters that can never fit a new capacity.
    fn capacity_changed(&mut self, account: AccountId, now: Time) {
        self.index.changed(account);
        let capacity = self.accounts.limit(account).capacity(now);
        let name = Arc::clone(self.accounts.name(account));
        let (doomed, index) = (&mut self.doomed, &self.index);
        index.naming(account, &mut |order, ticket, asked| {
            if asked > capacity {
                let account = Arc::clone(&name);
                let error = AdmitError::LargerThanLimit { account, asked, capacity };
                doomed.entry(order).or_insert((ticket, error));
            }
        });
    }

    /// When the clock alone lets someone go, as far as the monitor can tell.
    fn next_fit(&self) -> Horizon {
        let Some((_, ticket)) = self.index.head() else {
            return Horizon::OnEvent;
        };
        let now = self.latest;
        let head = self.accounts.head_when(&self.slots.waiter(ticket).needs, now);
        let line = self.index.deadline(&self.accounts, now);
        let first = head.min(line).min(self.protection_deadline(now));
        match self.gate.as_ref().map(|gate| gate.ask(now)) {
            Some(Ask::Wait(horizon)) => first.max(horizon),
            _ => first,
        }
    }
}

fn account_at(index: usize) -> AccountId {
    AccountId::from_index(u32::try_from(index).expect("account ids are 32 bits"))
}
