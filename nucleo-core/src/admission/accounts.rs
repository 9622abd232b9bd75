//! The table of a monitor's accounts: names, limits, and what is set aside for the head.
//!
//! Invariants: an id is an index of this table and stays valid for the monitor's life; what is set
//! aside is the head's demand and nothing else.
//!
//! Not here: the line (`monitor`), the limits themselves (`limits`).

use std::sync::Arc;

use super::order::{Order, Ticket};
use super::shares::Overtaking;
use super::slots::Probes;
use crate::account::{Account, AccountId, AccountState, Horizon, Reason};
use crate::demand::Need;
use crate::error::AdmitError;
use crate::limits::Limit;
use crate::time::Time;

/// One account of the table.
#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    limit: Limit,
    /// What the head asks of it: nobody behind the head takes from that.
    aside: u64,
    /// Whom else it is protected for, and how much: nobody but the head and that one takes from it.
    protected: Option<Protected>,
    overtaking: Overtaking,
    /// It refuses everyone, by its owner's word.
    closed: Option<Reason>,
}

/// A waiter whose amount is set aside on one account, besides the head's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Protected {
    pub(crate) order: Order,
    pub(crate) ticket: Ticket,
    pub(crate) amount: u64,
}

impl Entry {
    fn refusing(&self, now: Time) -> Option<Reason> {
        match self.limit.state(now) {
            AccountState::Refusing(reason) => Some(reason),
            AccountState::Open => self.closed,
        }
    }

    /// What is set aside for others than this one.
    fn withheld(&self, whom: Option<Ticket>) -> u64 {
        let others = self.protected.filter(|protected| Some(protected.ticket) != whom);
        self.aside.saturating_add(others.map_or(0, |protected| protected.amount))
    }
}

/// The table.
#[derive(Debug, Default)]
pub struct Accounts {
    entries: Vec<Entry>,
    /// Those of which something is set aside for the head.
    set_aside: Vec<AccountId>,
    /// Those that are a user's own.
    foreign: Vec<AccountId>,
    /// When those were last asked.
    asked: Time,
}

impl Accounts {
    pub(crate) fn open(&mut self, name: Arc<str>, limit: Limit) -> AccountId {
        let index = u32::try_from(self.entries.len()).expect("more than four billion accounts");
        if matches!(limit, Limit::Foreign(_)) {
            self.foreign.push(AccountId::from_index(index));
        }
        let overtaking = Overtaking::default();
        self.entries.push(Entry {
            name,
            limit,
            aside: 0,
            protected: None,
            overtaking,
            closed: None,
        });
        AccountId::from_index(index)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn name(&self, account: AccountId) -> &Arc<str> {
        &self.entries[account.index()].name
    }

    pub(crate) fn limit(&self, account: AccountId) -> &Limit {
        &self.entries[account.index()].limit
    }

    pub(crate) fn limit_mut(&mut self, account: AccountId) -> &mut Limit {
        &mut self.entries[account.index()].limit
    }

    pub(crate) fn set_aside(&mut self, account: AccountId, amount: u64) {
        self.entries[account.index()].aside = amount;
        self.set_aside.push(account);
    }

    /// Sets nothing aside any more; calls `freed` for each account that had something set aside.
    pub(crate) fn free_asides(&mut self, mut freed: impl FnMut(AccountId)) {
        for account in self.set_aside.drain(..) {
            self.entries[account.index()].aside = 0;
            freed(account);
        }
    }

    pub(crate) fn aside(&self, account: AccountId) -> u64 {
        self.entries[account.index()].aside
    }

    /// What a follower finds: what is there, less what is set aside.
    pub(crate) fn free(&self, account: AccountId, now: Time) -> i128 {
        self.free_for(None, account, now)
    }

    /// What this follower finds: what is set aside for itself is free for it.
    pub(crate) fn free_for(&self, whom: Option<Ticket>, account: AccountId, now: Time) -> i128 {
        let entry = &self.entries[account.index()];
        if entry.limit.head_only(now) {
            return 0;
        }
        entry.limit.available(now) - i128::from(entry.withheld(whom))
    }

    /// What is there beside the head's amount.
    pub(crate) fn beside_head(&self, account: AccountId, now: Time) -> i128 {
        let entry = &self.entries[account.index()];
        entry.limit.available(now) - i128::from(entry.aside)
    }

    /// When the clock alone brings `amount` beside the head's.
    pub(crate) fn beside_head_when(&self, account: AccountId, amount: u64, now: Time) -> Horizon {
        let entry = &self.entries[account.index()];
        entry.limit.when(i128::from(amount) + i128::from(entry.aside), now)
    }

    pub(crate) fn protected(&self, account: AccountId) -> Option<Protected> {
        self.entries[account.index()].protected
    }

    pub(crate) fn protect(&mut self, account: AccountId, protected: Option<Protected>) {
        self.entries[account.index()].protected = protected;
    }

    pub(crate) fn overtaking(&mut self, account: AccountId) -> &mut Overtaking {
        &mut self.entries[account.index()].overtaking
    }

    /// When a follower will find `amount` there by the clock alone.
    pub(crate) fn free_when(&self, account: AccountId, amount: u64, now: Time) -> Horizon {
        self.free_when_for(None, account, amount, now)
    }

    fn free_when_for(
        &self,
        whom: Option<Ticket>,
        account: AccountId,
        amount: u64,
        now: Time,
    ) -> Horizon {
        let entry = &self.entries[account.index()];
        if entry.limit.head_only(now) {
            return Horizon::OnEvent;
        }
        entry.limit.when(i128::from(amount) + i128::from(entry.withheld(whom)), now)
    }

    /// Whether the head's demand fits: it meets no set-aside, all of it is its own.
    pub(crate) fn head_fits(&self, needs: &[Need], now: Time) -> bool {
        needs.iter().all(|need| self.limit(need.account).available(now) >= i128::from(need.amount))
    }

    /// When the head's demand fits by the clock alone.
    pub(crate) fn head_when(&self, needs: &[Need], now: Time) -> Horizon {
        let horizons =
            needs.iter().map(|need| self.limit(need.account).when(i128::from(need.amount), now));
        horizons.max().unwrap_or(Horizon::At(now))
    }

    /// Whether a follower's demand fits beside what is set aside for others.
    pub(crate) fn follower_fits(&self, whom: Ticket, needs: &[Need], now: Time) -> bool {
        let free = |need: &Need| self.free_for(Some(whom), need.account, now);
        needs.iter().all(|need| free(need) >= i128::from(need.amount))
    }

    /// When a follower's demand fits by the clock alone.
    pub(crate) fn follower_when(&self, whom: Ticket, needs: &[Need], now: Time) -> Horizon {
        let horizons =
            needs.iter().map(|need| self.free_when_for(Some(whom), need.account, need.amount, now));
        horizons.max().unwrap_or(Horizon::At(now))
    }

    /// Why a demand can't even wait, if so.
    pub(crate) fn refuses(&self, needs: &[Need], now: Time) -> Option<AdmitError> {
        needs.iter().find_map(|need| {
            let Some(entry) = self.entries.get(need.account.index()) else {
                // An id of another monitor: the caller's mistake, and nobody else's.
                let account = format!("an unknown account, {:?},", need.account).into();
                return Some(AdmitError::LargerThanLimit {
                    account,
                    asked: need.amount,
                    capacity: 0,
                });
            };
            let capacity = entry.limit.capacity(now);
            if need.amount > capacity {
                return Some(AdmitError::LargerThanLimit {
                    account: Arc::clone(&entry.name),
                    asked: need.amount,
                    capacity,
                });
            }
            let account = || Arc::clone(&entry.name);
            entry.refusing(now).map(|reason| AdmitError::Refusing { account: account(), reason })
        })
    }

    /// Why an account refuses everyone, if it does.
    pub(crate) fn refusing(&self, account: AccountId, now: Time) -> Option<Reason> {
        self.entries[account.index()].refusing(now)
    }

    /// Closes an account for everyone, or opens it again.
    pub(crate) fn close(&mut self, account: AccountId, reason: Option<Reason>) {
        self.entries[account.index()].closed = reason;
    }

    /// Asks foreign accounts anew when time has passed; calls `grown` for those that have more.
    pub(crate) fn ask_foreign(&mut self, now: Time, mut grown: impl FnMut(AccountId)) {
        if self.foreign.is_empty() || now == self.asked {
            return;
        }
        self.asked = now;
        for account in self.foreign.clone() {
            if self.ask_one(account, now) {
                grown(account);
            }
        }
    }

    /// Asks one foreign account anew; says whether it has more.
    pub(crate) fn ask_one(&mut self, account: AccountId, now: Time) -> bool {
        match self.limit_mut(account) {
            Limit::Foreign(foreign) => foreign.refresh(now),
            _ => false,
        }
    }

    /// Takes a whole demand; tells the accounts on which that is a probe. Foreign accounts first: when
    /// one fails, what was taken from others of them is rolled back, and nothing is taken.
    pub(crate) fn take(&mut self, needs: &[Need], now: Time) -> Result<Probes, AdmitError> {
        if !self.foreign.is_empty() {
            self.take_foreign(needs, now)?;
        }
        let mut probes = Probes::new();
        for need in needs {
            if matches!(self.limit(need.account), Limit::Foreign(_)) {
                continue;
            }
            let limit = self.limit_mut(need.account);
            if limit.head_only(now) {
                probes.push(need.account);
            }
            limit.take(need.amount, now);
        }
        Ok(probes)
    }

    fn take_foreign(&mut self, needs: &[Need], now: Time) -> Result<(), AdmitError> {
        for (at, need) in needs.iter().enumerate() {
            let Limit::Foreign(foreign) = self.limit_mut(need.account) else {
                continue;
            };
            let taken = match foreign.take_fault() {
                Some(cause) => Err(cause),
                None => foreign.try_take(need.amount, now),
            };
            if let Err(cause) = taken {
                foreign.refresh(now);
                for before in &needs[..at] {
                    if let Limit::Foreign(foreign) = self.limit_mut(before.account) {
                        foreign.roll_back(before.amount, now);
                    }
                }
                let account = Arc::clone(self.name(need.account));
                return Err(AdmitError::AccountFault { account, cause });
            }
        }
        Ok(())
    }
}
