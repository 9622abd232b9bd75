//! The rule: in order, the first waiter that is refused or that fits under the present head's
//! set-aside.
//!
//! Invariants: all accounts of a demand are asked before any is taken; the gate is asked before them;
//! a refused waiter goes in its turn of the order, because with it the set-aside may go.
//!
//! Not here: the search behind the head (`index`), protection (`sharing`).

use std::sync::Arc;

use super::super::index::Index;
use super::super::order::{Order, Ticket};
use super::super::slots::{Needs, Probes, State};
use super::{Action, Admitted, Monitor};
use crate::account::{Account as _, AccountId, Horizon};
use crate::error::AdmitError;
use crate::event::LimiterWhat;
use crate::id::AttemptKey;
use crate::memory::Ask;
use crate::time::Time;

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
        if self.head.is_none() && self.index.is_empty() {
            return None;
        }
        let index = &mut self.index;
        self.accounts.ask_foreign(now, |account| index.changed(account));
        self.expire(now);
        self.refresh_head();
        self.refresh_protection(now);
        let (head, ticket) = self.head?;
        let doomed = self.doomed.first_key_value().map(|(order, _)| *order);
        if doomed == Some(head) {
            return Some(self.reject(head));
        }
        self.kept_by_memory = None;
        let found = match self.ask_gate(ticket, now) {
            Ask::Wait(_) => None,
            Ask::Go if self.accounts.head_fits(&self.slots.waiter(ticket).needs, now) => {
                Some((head, ticket))
            }
            Ask::Go => self.follower_with_memory(now),
        };
        match (found, doomed) {
            (Some((order, _)), Some(doomed)) if doomed <= order => Some(self.reject(doomed)),
            (None, Some(doomed)) => Some(self.reject(doomed)),
            (Some((_, ticket)), _) => Some(self.grant(ticket, now)),
            (None, None) => None,
        }
    }

    /// What was decided of a demand at its very arrival, told once: asked right after
    /// [`Monitor::submit`], in place of polling for it.
    pub fn decided_at_arrival(&mut self, ticket: Ticket) -> Option<Action> {
        let is_its_own = self.outbox.back().is_some_and(|action| action.ticket() == ticket);
        if is_its_own { self.outbox.pop_back() } else { None }
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
}

/// Steps.
impl<I: Index> Monitor<I> {
    /// Takes a waiter out of the line; its slot stays.
    pub(super) fn unlink(&mut self, ticket: Ticket) {
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

    pub(super) fn grant(&mut self, ticket: Ticket, now: Time) -> Action {
        self.unlink(ticket);
        let State::Waiting(waiter) = self
            .slots
            .replace(ticket, State::Granted(AttemptKey::default(), Needs::new(), Vec::new(), 0))
        else {
            unreachable!("unlink has just seen it wait");
        };
        let probes = match self.take(waiter.order, &waiter.needs, waiter.memory, now) {
            Ok(probes) => probes,
            Err(error) => {
                self.slots.remove(ticket);
                self.tell(waiter.key, now, || LimiterWhat::Refused { why: error.name() });
                return Action::Reject(ticket, error);
            }
        };
        let waited = now.since(waiter.since);
        self.tell(waiter.key, now, || LimiterWhat::GrantedAfterWait { waited });
        let waited_on = self.shortness.since(&waiter.needs, &waiter.readings);
        self.slots.replace(ticket, State::Granted(waiter.key, waiter.needs, probes, waiter.memory));
        Action::Admit(Admitted { ticket, waited, waited_on, order: waiter.order })
    }

    /// Takes a whole demand, or nothing of it.
    pub(super) fn take(
        &mut self,
        order: Order,
        needs: &Needs,
        memory: u64,
        now: Time,
    ) -> Result<Probes, AdmitError> {
        let probes = self.accounts.take(needs, now)?;
        self.tags.granted(order.tag);
        if let Some(protect) = self.policy.protection() {
            for need in needs {
                self.accounts.overtaking(need.account).granted(order.number, protect);
            }
        }
        if !needs.is_empty()
            && let Some(gate) = &mut self.gate
        {
            gate.released(now, memory);
        }
        Ok(probes)
    }

    pub(super) fn reject(&mut self, order: Order) -> Action {
        let (ticket, error) = self.doomed.remove(&order).expect("the doomed one was just seen");
        let key = self.slots.waiter(ticket).key;
        self.tell(key, self.latest, || LimiterWhat::Refused { why: error.name() });
        self.unlink(ticket);
        self.slots.remove(ticket);
        Action::Reject(ticket, error)
    }

    /// The head changed: what was set aside for the old one is free, the new one's is not.
    pub(super) fn refresh_head(&mut self) {
        let head = self.index.head();
        if head == self.head {
            return;
        }
        let index = &mut self.index;
        self.accounts.free_asides(|account| index.changed(account));
        if let Some((_, ticket)) = head {
            for need in &self.slots.waiter(ticket).needs {
                self.accounts.set_aside(need.account, need.amount);
                self.index.changed(need.account);
            }
        }
        self.head = head;
    }

    /// Dooms everyone whose wait has ended.
    pub(super) fn expire(&mut self, now: Time) {
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
    pub(super) fn short_of(&self, ticket: Ticket) -> Arc<str> {
        let waiter = self.slots.waiter(ticket);
        let is_head = self.head.is_some_and(|(_, head)| head == ticket);
        let short = waiter.needs.iter().find(|need| {
            let aside = if is_head { 0 } else { self.accounts.aside(need.account) };
            let available = self.accounts.limit(need.account).available(self.latest);
            available < i128::from(need.amount) + i128::from(aside)
        });
        short.map_or_else(|| "memory".into(), |need| Arc::clone(self.accounts.name(need.account)))
    }

    /// When the clock alone lets someone go, as far as the monitor can tell.
    pub(super) fn next_fit(&self) -> Horizon {
        let Some((_, ticket)) = self.index.head() else {
            return Horizon::OnEvent;
        };
        let now = self.latest;
        let head = self.accounts.head_when(&self.slots.waiter(ticket).needs, now);
        let line = self.index.deadline(&self.accounts, now);
        self.with_memory(ticket, head, line.min(self.protection_deadline(now)))
    }
}

pub(super) fn account_at(index: usize) -> AccountId {
    AccountId::from_index(u32::try_from(index).expect("account ids are 32 bits"))
}
