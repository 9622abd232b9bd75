//! What can be seen of the line: why one waits, and how an account stands.
//!
//! Invariants: looking changes nothing; an account's snapshot prunes by what is known of each part of
//! the line and never sweeps the waiters one by one.
//!
//! Not here: events as they happen (`event`), what a grant waited on (`attribution`).

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;

use super::super::index::Index;
use super::super::order::{Order, Ticket};
use super::super::slots::State;
use super::Monitor;
use crate::account::{Account as _, AccountId, Horizon};
use crate::event::LimiterEvent;
use crate::id::AttemptKey;
use crate::time::{Span, Time};

/// How many of those short on an account a snapshot names.
const NAMED: usize = 100;

/// Why a waiter waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyWaiting {
    /// Whose demand it is.
    pub key: AttemptKey,
    /// How long it has waited.
    pub waited: Span,
    /// The accounts it is short of, with by how much and until when.
    pub short: Vec<ShortOf>,
    /// The memory gate keeps it.
    pub memory: bool,
    /// The head of the line, if that is another: what it waits for is set aside.
    pub ahead: Option<AttemptKey>,
    /// The earliest instant at which the clock alone lets it go; `None` when an event has to come.
    pub earliest: Option<Time>,
}

/// One account that a waiter is short of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShortOf {
    /// Its name.
    pub account: Arc<str>,
    /// By how much, beside what is set aside for others.
    pub by: u64,
    /// What of that is set aside for the head and for those who are protected.
    pub set_aside: u64,
}

/// What it waits for, as part of a sentence: `1200 of scribe.tokens (800 of them set aside)`.
impl fmt::Display for WhyWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, short) in self.short.iter().enumerate() {
            write!(f, "{}{short}", if place == 0 { "" } else { ", " })?;
        }
        match (self.short.is_empty(), self.memory) {
            (true, true) => f.write_str("memory")?,
            (true, false) => f.write_str("its turn")?,
            (false, true) => f.write_str(", memory")?,
            (false, false) => {}
        }
        match self.ahead {
            Some(ahead) => write!(f, ", behind {ahead}"),
            None => f.write_str(", first in line"),
        }
    }
}

impl fmt::Display for ShortOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.by, self.account)?;
        match self.set_aside {
            0 => Ok(()),
            aside => write!(f, " ({aside} of them set aside)"),
        }
    }
}

/// How an account stands, and who is short on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountView {
    /// Its name.
    pub account: Arc<str>,
    /// The most that one demand may ask.
    pub capacity: u64,
    /// What is there; below zero after a debit past the level.
    pub available: i128,
    /// What is set aside for the head of the line.
    pub set_aside: u64,
    /// How many waiters are short on it.
    pub short: usize,
    /// The first hundred of them, in order.
    pub first: Vec<AttemptKey>,
    /// For how long, in all, the head of the line was short of it.
    pub short_for: Span,
}

impl<I: Index> Monitor<I> {
    /// Why a waiter waits; `None` when the ticket doesn't wait.
    #[must_use]
    pub fn why_waiting(&self, ticket: Ticket) -> Option<WhyWaiting> {
        let State::Waiting(waiter) = self.slots.get(ticket) else {
            return None;
        };
        let now = self.latest;
        let head = self.index.head().filter(|(_, head)| *head != ticket);
        let short = waiter.needs.iter().filter_map(|need| {
            let available = self.accounts.limit(need.account).available(now);
            let free = match head {
                Some(_) => self.accounts.free_for(Some(ticket), need.account, now),
                None => available,
            };
            let by = u64::try_from(i128::from(need.amount) - free).ok().filter(|by| *by > 0)?;
            let account = Arc::clone(self.accounts.name(need.account));
            let set_aside = u64::try_from(available - free).unwrap_or(0);
            Some(ShortOf { account, by, set_aside })
        });
        let fits = match head {
            Some(_) => self.accounts.follower_when(ticket, &waiter.needs, now),
            None => self.accounts.head_when(&waiter.needs, now),
        };
        let (memory, earliest) = match self.memory_keeps(ticket) {
            Some(horizon) => (true, fits.max(horizon)),
            None => (false, fits),
        };
        Some(WhyWaiting {
            key: waiter.key,
            waited: now.since(waiter.since),
            short: short.collect(),
            memory,
            ahead: head.map(|(_, head)| self.slots.waiter(head).key),
            earliest: match earliest {
                Horizon::At(at) => Some(at),
                Horizon::OnEvent => None,
            },
        })
    }

    /// The ticket of a waiter, looked for among all of them.
    #[must_use]
    pub fn find(&self, key: AttemptKey) -> Option<Ticket> {
        let mut found = None;
        self.index.in_order(&mut |_, ticket| {
            if self.slots.waiter(ticket).key == key {
                found = Some(ticket);
            }
        });
        found
    }

    /// How an account stands, and who is short on it.
    #[must_use]
    pub fn view(&self, account: AccountId) -> AccountView {
        let now = self.latest;
        let limit = self.accounts.limit(account);
        let free = self.accounts.free(account, now);
        AccountView {
            account: Arc::clone(self.accounts.name(account)),
            capacity: limit.capacity(now),
            available: limit.available(now),
            set_aside: self.accounts.aside(account),
            short: self.index.count_short(account, free),
            first: self.first_short(account, free),
            short_for: self.shortness.of(account),
        }
    }

    /// Keeps the latest `most` limiter events for [`Monitor::events`]; none unless told.
    pub fn keep_events(&mut self, most: usize) {
        self.events.keep(most);
    }

    /// Takes the events kept since the last call, oldest first.
    pub fn events(&mut self) -> impl Iterator<Item = LimiterEvent> + '_ {
        self.events.drain()
    }

    /// How many events were lost, because more happened than were kept.
    #[must_use]
    pub const fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    fn first_short(&self, account: AccountId, free: i128) -> Vec<AttemptKey> {
        let mut found: SmallVec<[Ticket; 8]> = SmallVec::new();
        let mut behind: Option<Order> = None;
        while found.len() < NAMED {
            let Some((order, ticket)) = self.index.first_short(account, free, behind) else {
                break;
            };
            found.push(ticket);
            behind = Some(order);
        }
        found.into_iter().map(|ticket| self.slots.waiter(ticket).key).collect()
    }
}
