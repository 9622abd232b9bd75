//! A route: one entry of the catalog with its provider, its accounts and its price.
//!
//! Invariants: what a binding reserves is what its request will send as the limit.
//!
//! Not here: choosing among routes (`picker`).

use std::fmt;
use std::sync::Arc;

use nucleo_core::spend::{Price, PriceError, Rate, Rates};
use nucleo_core::{Reserved, Time};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::{Binding, Counted, Counts, Unused};

use super::accounts::Account;
use crate::catalog::{self, ModelEntry, PriceEntry, Settle};
use crate::providers::Provider;
use crate::wire::LimitFacts;

/// One way to a model.
pub(crate) struct Route {
    entry: Arc<ModelEntry>,
    provider: Arc<dyn Provider>,
    accounts: Vec<Account>,
    price: Option<Arc<Price>>,
}

impl Route {
    pub(super) fn new(
        entry: Arc<ModelEntry>,
        provider: Arc<dyn Provider>,
        accounts: Vec<Account>,
    ) -> Result<Self, PriceError> {
        let price = entry.price.as_ref().map(price).transpose()?.map(Arc::new);
        Ok(Self { entry, provider, accounts, price })
    }

    pub(crate) fn wire_id(&self) -> &Arc<str> {
        &self.entry.wire_id
    }

    pub(crate) fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The most that the model can answer.
    pub(crate) fn output_ceiling(&self) -> u64 {
        self.entry.max_output
    }

    /// The route's accounts hear what the head of an answer says of them.
    pub(crate) fn learn(&self, admission: &Admission, facts: &LimitFacts, sent: Time) {
        let learning = self.accounts.iter().filter_map(|account| account.learns);
        learning.for_each(|account| account.hear(admission, facts, sent));
    }

    /// The entry bound to a request of this size.
    pub(crate) fn binding(&self, tokens: Reserved) -> Binding {
        let counted = |account: &Account| {
            let amount = match account.counts {
                Counts::Requests | Counts::Calls => 1,
                Counts::Tokens => tokens.total(),
                Counts::InputTokens => tokens.input,
                Counts::OutputTokens => tokens.output,
            };
            Counted { account: account.id, counts: account.counts, amount }
        };
        Binding {
            model: Arc::clone(&self.entry.id),
            tokens,
            accounts: self.accounts.iter().map(counted).collect(),
            price: self.price.clone(),
            unused: match self.entry.settle {
                Settle::Actual => Unused::GivenBack,
                Settle::Keep => Unused::Kept,
            },
            key: Some(Arc::clone(&self.entry.provider)),
        }
    }
}

/// The catalog's price as the ledger's.
fn price(entry: &PriceEntry) -> Result<Price, PriceError> {
    let base = Price::new(entry.currency, rates(&entry.base)?);
    entry
        .tiers
        .iter()
        .try_fold(base, |price, tier| price.tier(tier.above_input_tokens, rates(&tier.rates)?))
}

fn rates(entry: &catalog::Rates) -> Result<Rates, PriceError> {
    let rate = Rate::from_pico_per_million;
    let mut rates = Rates::new(rate(entry.input)?, rate(entry.output)?);
    if let Some(amount) = entry.cache_read {
        rates = rates.cache_read(rate(amount)?);
    }
    if let Some(amount) = entry.cache_write {
        rates = rates.cache_write(rate(amount)?);
    }
    if let Some(amount) = entry.reasoning {
        rates = rates.reasoning(rate(amount)?);
    }
    Ok(rates)
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route").field("model", &self.entry.id).finish_non_exhaustive()
    }
}
