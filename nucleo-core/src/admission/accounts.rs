//! The table of a monitor's accounts: names, limits, and what is set aside for the head.
//!
//! Invariants: an id is an index of this table and stays valid for the monitor's life; what is set
//! aside is the head's demand and nothing else.
//!
//! Not here: the line (`monitor`), the limits themselves (`limits`).

use std::sync::Arc;

use crate::account::{Account, AccountId, AccountState, Horizon};
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
}

/// The table.
#[derive(Debug, Default)]
pub struct Accounts {
    entries: Vec<Entry>,
}

impl Accounts {
    pub(crate) fn open(&mut self, name: Arc<str>, limit: Limit) -> AccountId {
        let index = u32::try_from(self.entries.len()).expect("more than four billion accounts");
        self.entries.push(Entry {
            name,
            limit,
            aside: 0,
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
    }

    pub(crate) fn aside(&self, account: AccountId) -> u64 {
        self.entries[account.index()].aside
    }

    /// What a follower finds: what is there, less what is set aside for the head.
    pub(crate) fn free(&self, account: AccountId, now: Time) -> i128 {
        let entry = &self.entries[account.index()];
        entry.limit.available(now) - i128::from(entry.aside)
    }

    /// When a follower will find `amount` there by the clock alone.
    pub(crate) fn free_when(&self, account: AccountId, amount: u64, now: Time) -> Horizon {
        let entry = &self.entries[account.index()];
        entry
            .limit
            .when(i128::from(amount) + i128::from(entry.aside), now)
    }

    /// Whether the head's demand fits: it meets no set-aside, all of it is its own.
    pub(crate) fn head_fits(&self, needs: &[Need], now: Time) -> bool {
        needs
            .iter()
            .all(|need| self.limit(need.account).available(now) >= i128::from(need.amount))
    }

    /// When the head's demand fits by the clock alone.
    pub(crate) fn head_when(&self, needs: &[Need], now: Time) -> Horizon {
        let horizons = needs
            .iter()
            .map(|need| self.limit(need.account).when(i128::from(need.amount), now));
        horizons.max().unwrap_or(Horizon::At(now))
    }

    /// Whether a follower's demand fits beside what is set aside.
    pub(crate) fn follower_fits(&self, needs: &[Need], now: Time) -> bool {
        needs
            .iter()
            .all(|need| self.free(need.account, now) >= i128::from(need.amount))
    }

    /// When a follower's demand fits by the clock alone.
    pub(crate) fn follower_when(&self, needs: &[Need], now: Time) -> Horizon {
        let horizons = needs
            .iter()
            .map(|need| self.free_when(need.account, need.amount, now));
        horizons.max().unwrap_or(Horizon::At(now))
    }

    /// Why a demand can't even wait, if so.
    pub(crate) fn refuses(&self, needs: &[Need], now: Time) -> Option<AdmitError> {
        needs.iter().find_map(|need| {
            let entry = &self.entries[need.account.index()];
            let capacity = entry.limit.capacity(now);
            if need.amount > capacity {
                return Some(AdmitError::LargerThanLimit {
                    account: Arc::clone(&entry.name),
                    asked: need.amount,
                    capacity,
                });
            }
            match entry.limit.state(now) {
                AccountState::Open => None,
                AccountState::Refusing(reason) => Some(AdmitError::Refusing {
                    account: Arc::clone(&entry.name),
                    reason,
                }),
            }
        })
    }

    pub(crate) fn take(&mut self, needs: &[Need], now: Time) {
        for need in needs {
            self.limit_mut(need.account).take(need.amount, now);
        }
    }
}
