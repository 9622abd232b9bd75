//! What the monitor is made of, and what can be read of it.
//!
//! Invariants: reading changes nothing; the head whose demand is set aside is the index's first.
//!
//! Not here: what happens to it (`inputs`), what it decides (`decide`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::super::accounts::Accounts;
use super::super::attribution::Shortness;
use super::super::classes::ByClass;
use super::super::index::Index;
use super::super::order::{Order, Ticket};
use super::super::shares::{Policy, Tags};
use super::super::slots::Slots;
use super::Action;
use crate::account::AccountId;
use crate::error::AdmitError;
use crate::event::EventRing;
use crate::limits::Limit;
use crate::memory::MemoryGate;
use crate::time::{Span, Time};

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
    pub(super) accounts: Accounts,
    pub(super) index: I,
    pub(super) slots: Slots,
    pub(super) gate: Option<MemoryGate>,
    /// What the first follower that fits its accounts states, when the gate has refused it.
    pub(super) kept_by_memory: Option<u64>,
    /// The head whose demand is set aside now.
    pub(super) head: Option<(Order, Ticket)>,
    /// When each waiter's wait ends.
    pub(super) expiries: BTreeSet<(Time, Ticket)>,
    /// Refused already, taken in their turn of the order.
    pub(super) doomed: BTreeMap<Order, (Ticket, AdmitError)>,
    /// Decided at arrival.
    pub(super) outbox: VecDeque<Action>,
    /// For how long the head was short of each account.
    pub(super) shortness: Shortness,
    pub(super) events: EventRing,
    pub(super) policy: Policy,
    pub(super) tags: Tags,
    pub(super) numbers: u64,
    pub(super) latest: Time,
    pub(super) stopped: bool,
}

impl<I: Index> Default for Monitor<I> {
    fn default() -> Self {
        Self {
            accounts: Accounts::default(),
            index: I::default(),
            slots: Slots::default(),
            gate: None,
            kept_by_memory: None,
            head: None,
            expiries: BTreeSet::new(),
            doomed: BTreeMap::new(),
            outbox: VecDeque::new(),
            shortness: Shortness::default(),
            events: EventRing::default(),
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

impl<I: Index> Monitor<I> {
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
}
