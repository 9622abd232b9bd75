//! Accounts that change while the monitor runs: pace, capacity, days.
//!
//! Invariants: a change marks its account, so that whoever it may let go is looked at; who can never
//! fit any more is refused, with the reason.
//!
//! Not here: the accounts themselves (`limits`).

use std::sync::Arc;

use super::super::index::Index;
use super::Monitor;
use crate::account::{Account as _, AccountId, Reason, Verdict};
use crate::error::AdmitError;
use crate::limits::{Limit, Rate, RateError};
use crate::time::Time;

/// What a provider's answer says of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// How the quota fills.
    pub rate: Option<Rate>,
    /// What was left of it.
    pub remaining: Option<u64>,
    /// When the request that was answered had left.
    pub sent: Time,
}

impl<I: Index> Monitor<I> {
    /// An answer says something about an account's pace.
    pub fn verdict(&mut self, account: AccountId, verdict: Verdict, now: Time) {
        let now = self.advance(now);
        self.accounts.limit_mut(account).verdict(verdict, now);
        self.index.changed(account);
        self.refuse_if_closed(account, now);
    }

    /// A foreign account says that it has changed.
    pub fn foreign_changed(&mut self, account: AccountId, now: Time) {
        let now = self.advance(now);
        self.accounts.ask_one(account, now);
        self.index.changed(account);
        self.refuse_if_closed(account, now);
    }

    /// Closes an account: it refuses everyone, waiters included, until it is opened again.
    pub fn close(&mut self, account: AccountId, reason: Reason, now: Time) {
        let now = self.advance(now);
        self.accounts.close(account, Some(reason));
        self.refuse_if_closed(account, now);
    }

    /// Opens an account that was closed.
    pub fn reopen(&mut self, account: AccountId, now: Time) {
        self.advance(now);
        self.accounts.close(account, None);
        self.index.changed(account);
    }

    /// Dooms everyone who names an account that refuses everyone.
    fn refuse_if_closed(&mut self, account: AccountId, now: Time) {
        let Some(reason) = self.accounts.refusing(account, now) else {
            return;
        };
        let name = Arc::clone(self.accounts.name(account));
        let (doomed, index) = (&mut self.doomed, &self.index);
        index.naming(account, &mut |order, ticket, _| {
            let error = AdmitError::Refusing { account: Arc::clone(&name), reason };
            doomed.entry(order).or_insert((ticket, error));
        });
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

    /// Hands a daily quota its next midnight; on other accounts it does nothing.
    pub fn next_midnight(&mut self, account: AccountId, midnight: Time, now: Time) {
        let now = self.advance(now);
        if let Limit::Daily(quota) = self.accounts.limit_mut(account) {
            quota.next_midnight(midnight, now);
            self.index.changed(account);
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

    /// What a provider says of its quota: a limit is run at, within what the owner set, and what remains
    /// may only lower the level, unless it is older than the last grant. On an account of another kind
    /// it does nothing.
    ///
    /// # Errors
    /// [`RateError`] when the rate is out of range; nothing has changed then.
    pub fn learn(
        &mut self,
        account: AccountId,
        learnt: Learnt,
        now: Time,
    ) -> Result<(), RateError> {
        let now = self.advance(now);
        let Limit::Bucket(bucket) = self.accounts.limit_mut(account) else {
            return Ok(());
        };
        let changed = match learnt.rate {
            Some(rate) => bucket.learn(rate, now)?,
            None => false,
        };
        if let Some(remaining) = learnt.remaining {
            bucket.hear_remaining(remaining, learnt.sent, now);
        }
        if changed {
            self.capacity_changed(account, now);
        }
        Ok(())
    }

    /// Dooms the waiters that can never fit a new capacity.
    pub(super) fn capacity_changed(&mut self, account: AccountId, now: Time) {
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
}
