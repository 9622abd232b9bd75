//! What happens to the monitor: arrivals, departures, ends.
//!
//! Invariants: an input never decides about another waiter: that is polled; time never goes back,
//! whatever two callers read from their clocks.
//!
//! Not here: accounts that change (`tuning`), memory (`memory`), deciding (`decide`).

use std::sync::Arc;

use super::super::attribution::WaitedOn;
use super::super::index::Index;
use super::super::order::{Order, Ticket};
use super::super::settlement::{Charge, Settlement};
use super::super::shares::Policy;
use super::super::slots::{Needs, State, Waiter};
use super::decide::account_at;
use super::{Action, Admitted, Monitor};
use crate::account::{Account as _, AccountId, Horizon};
use crate::demand::{Demand, Need};
use crate::error::AdmitError;
use crate::event::{LimiterEvent, LimiterWhat};
use crate::id::AttemptKey;
use crate::limits::Limit;
use crate::memory::Ask;
use crate::time::{Span, Time};

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

    /// A demand arrives. What becomes of it is polled.
    pub fn submit(&mut self, demand: Demand, now: Time) -> Ticket {
        let now = self.advance(now);
        self.numbers += 1;
        let needs = Needs::from_slice(demand.needs());
        let refused = if self.stopped {
            Some(AdmitError::ShutDown)
        } else {
            self.accounts.refuses(&needs, now)
        };
        if let Some(error) = refused {
            return self.refuse(demand.key(), error, now);
        }
        // Whoever is refused has no share of the line.
        let order = demand.place.unwrap_or_else(|| {
            let tag = self.tags.arrive(&self.policy, demand.workflow);
            Order { tag, number: self.numbers }
        });
        let index = &mut self.index;
        self.accounts.ask_foreign(now, |account| index.changed(account));
        let nobody_is_before = self.index.is_empty();
        if needs.is_empty()
            || (nobody_is_before && self.may_start(&needs, demand.expected_memory, now))
        {
            return self.start(&demand, order, needs, now);
        }
        self.enqueue(&demand, order, needs, now)
    }

    /// A waiter leaves the line, or a grant that nobody took is rolled back whole; one that is over
    /// already has nothing to leave. Says whether there was anything.
    pub fn leave(&mut self, ticket: Ticket, now: Time) -> bool {
        let now = self.advance(now);
        match self.slots.get(ticket) {
            State::Free => false,
            State::Waiting(waiter) => {
                let key = waiter.key;
                self.tell(key, now, || LimiterWhat::Left);
                self.unlink(ticket);
                self.slots.remove(ticket);
                true
            }
            State::Granted(..) => {
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
        let Self { slots, accounts, index, .. } = self;
        let State::Granted(key, needs, probes, memory) = slots.get_mut(ticket) else {
            panic!("{ticket:?} is settled but holds no grant");
        };
        let had_resources = !needs.is_empty();
        needs.retain(|need| {
            let limit = accounts.limit_mut(need.account);
            match settlement.of(need.account) {
                Some(Charge::StillHeld) => return true,
                Some(Charge::RolledBack) => limit.roll_back(need.amount, now),
                Some(Charge::Used(used)) => limit.settle(need.amount, used, now),
                None => limit.settle(need.amount, need.amount, now),
            }
            index.changed(need.account);
            false
        });
        if !needs.is_empty() {
            return;
        }
        let (key, probes, memory) = (*key, std::mem::take(probes), *memory);
        slots.end(ticket);
        self.tell(key, now, || LimiterWhat::Settled);
        for account in probes {
            self.accounts.limit_mut(account).probe_over(now);
            self.index.changed(account);
        }
        if had_resources && let Some(gate) = &mut self.gate {
            gate.completed(memory);
        }
    }

    /// The work of a grant never happened: everything comes back whole and the ticket is over.
    ///
    /// # Panics
    /// When the ticket holds no grant.
    pub fn roll_back(&mut self, ticket: Ticket, now: Time) {
        let State::Granted(_, needs, ..) = self.slots.get(ticket) else {
            panic!("{ticket:?} is rolled back but holds no grant");
        };
        let all = needs.iter().fold(Settlement::in_full(), |settlement, need| {
            settlement.charge(need.account, Charge::RolledBack)
        });
        self.settle(ticket, &all, now);
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

/// Steps.
impl<I: Index> Monitor<I> {
    /// Time never goes back here, whatever two callers read from their clocks.
    pub(super) fn advance(&mut self, now: Time) -> Time {
        if now > self.latest {
            self.attribute(now.since(self.latest));
            self.latest = now;
        }
        self.latest
    }

    /// Books the time that passed with what the head was short of meanwhile, and no longer than it
    /// was: what the clock brought by itself may have come before this was asked.
    pub(super) fn attribute(&mut self, passed: Span) {
        let Some((_, head)) = self.index.head() else {
            return;
        };
        let stated = self.slots.waiter(head).memory;
        let latest = self.latest;
        let short_for = |until| match until {
            Horizon::At(at) => at.since(latest).min(passed),
            Horizon::OnEvent => passed,
        };
        if let Ask::Wait(until) = self.gate_says(stated, latest) {
            self.shortness.add_memory(short_for(until));
        }
        for need in &self.slots.waiter(head).needs {
            let (limit, amount) = (self.accounts.limit(need.account), i128::from(need.amount));
            if limit.available(latest) < amount {
                self.shortness.add(need.account, short_for(limit.when(amount, latest)));
            }
        }
    }

    /// Whether a demand may start while nobody is before it.
    pub(super) fn may_start(&self, needs: &[Need], memory: u64, now: Time) -> bool {
        self.gate_says(memory, now) == Ask::Go && self.accounts.head_fits(needs, now)
    }

    /// Grants an arrival at once.
    pub(super) fn start(
        &mut self,
        demand: &Demand,
        order: Order,
        needs: Needs,
        now: Time,
    ) -> Ticket {
        let (key, memory) = (demand.key(), demand.expected_memory);
        let probes = match self.take(order, &needs, memory, now) {
            Ok(probes) => probes,
            Err(error) => return self.refuse(key, error, now),
        };
        self.tell(key, now, || LimiterWhat::GrantedAtOnce);
        let ticket = self.slots.insert(State::Granted(key, needs, probes, memory));
        let (waited, waited_on) = (Span::ZERO, WaitedOn::default());
        self.outbox.push_back(Action::Admit(Admitted { ticket, waited, waited_on, order }));
        ticket
    }

    pub(super) fn enqueue(
        &mut self,
        demand: &Demand,
        order: Order,
        needs: Needs,
        now: Time,
    ) -> Ticket {
        let readings = self.shortness.read(&needs);
        let (key, number) = (demand.key(), self.numbers);
        let expires = now.saturating_add(demand.max_wait);
        if self.events.listens() {
            let free = |need: &&Need| self.accounts.free(need.account, now);
            let short = needs.iter().filter(|need| free(need) < i128::from(need.amount));
            let short = short.map(|need| need.account).collect();
            let waiting = self.index.len() + 1;
            self.tell(key, now, || LimiterWhat::Waiting { short, waiting });
        }
        let memory = demand.expected_memory;
        let waiter = Waiter { order, key, needs, readings, since: now, expires, number, memory };
        let ticket = self.slots.insert(State::Waiting(waiter));
        self.index.insert(order, ticket, &self.slots.waiter(ticket).needs);
        self.expiries.insert((expires, ticket));
        ticket
    }

    /// Refuses an arrival.
    fn refuse(&mut self, key: AttemptKey, error: AdmitError, now: Time) -> Ticket {
        let ticket = self.slots.insert(State::Granted(key, Needs::new(), Vec::new(), 0));
        self.slots.remove(ticket);
        self.tell(key, now, || LimiterWhat::Refused { why: error.name() });
        self.outbox.push_back(Action::Reject(ticket, error));
        ticket
    }

    /// Tells an event to whoever listens.
    pub(super) fn tell(&mut self, key: AttemptKey, at: Time, what: impl FnOnce() -> LimiterWhat) {
        if self.events.listens() {
            self.events.push(LimiterEvent { at, key, what: what() });
        }
    }
}
