//! What the line waited on, account by account.
//!
//! While the head is short of an account, everybody behind it that names the account waits on it
//! too, so one running integral an account tells each waiter's share: the difference between its
//! grant and its arrival. Shares of several accounts may overlap.
//!
//! Invariants: an integral never falls, and does not depend on how often the monitor is polled; keeping it costs a few additions when time passes, and
//! nothing per waiter but the readings at its arrival.
//!
//! Not here: deciding anything.

use std::fmt;

use smallvec::SmallVec;

use crate::account::AccountId;
use crate::demand::Need;
use crate::time::Span;

/// The integrals.
#[derive(Debug, Default)]
pub(crate) struct Shortness {
    accounts: Vec<Span>,
    memory: Span,
}

/// The readings at an arrival: one for each account of the demand, and memory's last. Milliseconds
/// that wrap after 49 days, because a million waiters keep them.
pub(crate) type Readings = SmallVec<[u32; 4]>;

/// How long a grant waited on each account it names, and on memory, in whole milliseconds.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct WaitedOn {
    accounts: SmallVec<[(AccountId, Span); 4]>,
    memory: Span,
}

impl Shortness {
    pub(crate) fn open(&mut self) {
        self.accounts.push(Span::ZERO);
    }

    pub(crate) fn add(&mut self, account: AccountId, span: Span) {
        let sum = &mut self.accounts[account.index()];
        *sum = sum.saturating_add(span);
    }

    pub(crate) const fn add_memory(&mut self, span: Span) {
        self.memory = self.memory.saturating_add(span);
    }

    pub(crate) fn of(&self, account: AccountId) -> Span {
        self.accounts[account.index()]
    }

    pub(crate) const fn of_memory(&self) -> Span {
        self.memory
    }

    pub(crate) fn read(&self, needs: &[Need]) -> Readings {
        let accounts = needs.iter().map(|need| self.of(need.account));
        accounts.chain([self.memory]).map(wrapped).collect()
    }

    pub(crate) fn since(&self, needs: &[Need], readings: &Readings) -> WaitedOn {
        let passed = |now: Span, before: u32| {
            Span::from_millis(u64::from(wrapped(now).wrapping_sub(before)))
        };
        let waits = needs.iter().zip(readings);
        let waits =
            waits.map(|(need, before)| (need.account, passed(self.of(need.account), *before)));
        let accounts = waits.filter(|(_, span)| *span > Span::ZERO).collect();
        let memory = readings.last().map_or(Span::ZERO, |before| passed(self.memory, *before));
        WaitedOn { accounts, memory }
    }
}

/// An integral in milliseconds, as readings keep it.
#[expect(clippy::cast_possible_truncation, reason = "it wraps, and differences are taken wrapping")]
const fn wrapped(integral: Span) -> u32 {
    integral.as_millis() as u32
}

impl WaitedOn {
    /// The accounts that were short, with how long.
    #[must_use]
    pub fn accounts(&self) -> &[(AccountId, Span)] {
        &self.accounts
    }

    /// How long the memory gate kept everyone.
    #[must_use]
    pub const fn memory(&self) -> Span {
        self.memory
    }
}

impl fmt::Debug for WaitedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.accounts.iter().map(|(account, span)| (account, span)))
            .entry(&"memory", &self.memory)
            .finish()
    }
}
