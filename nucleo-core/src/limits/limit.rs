//! The closed set of accounts, as the monitor holds them.
//!
//! A `match` in place of a virtual call: the monitor's own state holds its accounts, so asking all
//! and taking all is one critical section by construction, and the common path stays short.
//!
//! Not here: what each account does (its own file).

use super::{DailyQuota, ElasticWindow, Foreign, Permits, TokenBucket};
use crate::account::{Account, AccountState, Horizon, Kind, Verdict};
use crate::time::Time;

/// Any account that the monitor can hold.
#[derive(Debug)]
#[non_exhaustive]
pub enum Limit {
    /// So many at once.
    Permits(Permits),
    /// So many a period.
    Bucket(TokenBucket),
    /// So many a day.
    Daily(DailyQuota),
    /// So many in a window that stretches under pushback.
    Window(ElasticWindow),
    /// A user's own.
    Foreign(Foreign),
}

impl From<Permits> for Limit {
    fn from(permits: Permits) -> Self {
        Self::Permits(permits)
    }
}

impl From<TokenBucket> for Limit {
    fn from(bucket: TokenBucket) -> Self {
        Self::Bucket(bucket)
    }
}

impl From<DailyQuota> for Limit {
    fn from(quota: DailyQuota) -> Self {
        Self::Daily(quota)
    }
}

impl From<ElasticWindow> for Limit {
    fn from(window: ElasticWindow) -> Self {
        Self::Window(window)
    }
}

impl From<Foreign> for Limit {
    fn from(foreign: Foreign) -> Self {
        Self::Foreign(foreign)
    }
}

/// Calls the same method of whichever account it is.
macro_rules! each {
    ($limit:expr, $account:ident => $call:expr) => {
        match $limit {
            Limit::Permits($account) => $call,
            Limit::Bucket($account) => $call,
            Limit::Daily($account) => $call,
            Limit::Window($account) => $call,
            Limit::Foreign($account) => $call,
        }
    };
}

impl Account for Limit {
    fn kind(&self) -> Kind {
        each!(self, account => account.kind())
    }

    fn capacity(&self, now: Time) -> u64 {
        each!(self, account => account.capacity(now))
    }

    fn available(&self, now: Time) -> i128 {
        each!(self, account => account.available(now))
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        each!(self, account => account.when(level, now))
    }

    fn state(&self, now: Time) -> AccountState {
        each!(self, account => account.state(now))
    }

    fn head_only(&self, now: Time) -> bool {
        each!(self, account => account.head_only(now))
    }

    fn probe_over(&mut self, now: Time) {
        each!(self, account => account.probe_over(now));
    }

    fn take(&mut self, amount: u64, now: Time) {
        each!(self, account => account.take(amount, now));
    }

    fn settle(&mut self, taken: u64, charged: u64, now: Time) {
        each!(self, account => account.settle(taken, charged, now));
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        each!(self, account => account.roll_back(amount, now));
    }

    fn verdict(&mut self, verdict: Verdict, now: Time) {
        each!(self, account => account.verdict(verdict, now));
    }
}
