//! The catalog's limits as accounts of the monitor.
//!
//! Invariants: one account a dimension and period, under the name that the catalog gives it; `http`
//! is the pool of connections, and every call takes one.
//!
//! Not here: the limits' arithmetic (`catalog::limits`), the accounts (`nucleo_core::limits`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_core::limits::{DailyQuota, Limit, Permits, Rate, RateError, TokenBucket};
use nucleo_core::{AccountId, Monitor, Time};
use nucleo_harness::attempt::Counts;

use super::error::StartError;
use super::learn::Learns;
use crate::catalog::{AccountSpec, Capacity, Catalog, Dimension, Period};

/// One account of the catalog, opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    pub(super) id: AccountId,
    pub(super) counts: Counts,
    pub(super) learns: Option<Learns>,
}

/// The accounts of a catalog, opened.
#[derive(Debug)]
pub(super) struct Accounts {
    pub(super) http: AccountId,
    by_name: BTreeMap<Arc<str>, Account>,
    /// Daily quotas and the zones whose midnights refill them.
    pub(super) daily: Vec<(AccountId, Arc<str>)>,
}

impl Accounts {
    pub(super) fn open(
        catalog: &Catalog,
        connections: u64,
        monitor: &mut Monitor,
    ) -> Result<Self, StartError> {
        let http = monitor.open("http", Permits::new(connections));
        let (mut by_name, mut daily) = (BTreeMap::new(), Vec::new());
        for spec in catalog.accounts() {
            let id = monitor.open(Arc::clone(&spec.name), limit(&spec)?);
            if let Capacity::Daily { zone, .. } = &spec.capacity {
                daily.push((id, Arc::clone(zone)));
            }
            let counts = counts(spec.dimension);
            let learns = Learns::of(id, counts, &spec);
            by_name.insert(Arc::clone(&spec.name), Account { id, counts, learns });
        }
        Ok(Self { http, by_name, daily })
    }

    /// The account of a name that the catalog gave.
    pub(super) fn named(&self, name: &str) -> Account {
        *self.by_name.get(name).expect("a model's accounts are accounts of its catalog")
    }
}

fn limit(spec: &AccountSpec) -> Result<Limit, StartError> {
    let wrong = |cause: RateError| StartError::Account {
        account: Arc::clone(&spec.name),
        cause: Box::new(cause),
    };
    Ok(match spec.capacity {
        Capacity::Permits(permits) => Permits::new(permits).into(),
        Capacity::Clocked { rate, period, burst } => {
            let rate = match period {
                Period::Minute => Rate::per_minute(rate),
                Period::Second => Rate::per_second(rate),
            };
            TokenBucket::new(rate.burst(burst)).map_err(wrong)?.into()
        }
        // Until the first midnight is handed in, which is before anything runs.
        Capacity::Daily { quota, .. } => DailyQuota::new(quota, Time::MAX).map_err(wrong)?.into(),
    })
}

const fn counts(dimension: Dimension) -> Counts {
    match dimension {
        Dimension::Requests => Counts::Requests,
        Dimension::Tokens => Counts::Tokens,
        Dimension::InputTokens => Counts::InputTokens,
        Dimension::OutputTokens => Counts::OutputTokens,
        Dimension::Concurrent => Counts::Calls,
    }
}
