//! The settings of a loopback server that plays a catalog's loopback models.
//!
//! Invariants: it enforces the quotas that the catalog states, without our headroom: it is the
//! provider's side. An entry's faults meet its own requests alone, each as often as it says.
//!
//! Not here: the server (`providers::loopback`).

use std::sync::Arc;

use crate::catalog::{
    self, Catalog, Faults, Limits, LoopbackEntry, ModelEntry, ProviderKind, Settle,
};
use crate::providers::loopback::{
    AskedWait, Dimension, Enforced, Fault, FaultRule, InsideAfter, InsideError, Latency,
    LoopbackConfig, LoopbackModel, LoopbackPrice, Quota, Settle as Unused, When,
};

/// A loopback server that plays the catalog's models of kind `loopback`, or all of them when there
/// are none of that kind.
///
/// ```
/// use nucleo_agents::catalog::Catalog;
/// let config = nucleo_agents::loopback_config(&Catalog::loopback());
/// # let _ = config;
/// ```
#[must_use]
pub fn loopback_config(catalog: &Catalog) -> LoopbackConfig {
    let plays = |model: &&Arc<ModelEntry>| {
        let provider = catalog.provider(&model.provider);
        provider.is_some_and(|provider| provider.kind == ProviderKind::Loopback)
    };
    let mut models: Vec<_> = catalog.models().filter(plays).collect();
    if models.is_empty() {
        models = catalog.models().collect();
    }
    config(catalog, &models)
}

/// A loopback server that plays these models.
pub(super) fn config(catalog: &Catalog, models: &[&Arc<ModelEntry>]) -> LoopbackConfig {
    let config = LoopbackConfig::new(models.iter().map(|entry| model(catalog, entry)));
    let rules = models.iter().flat_map(|entry| {
        let plays = entry.loopback.unwrap_or_default();
        let rules = faults(&plays.faults_permille);
        rules.into_iter().map(|rule| rule.model(Arc::clone(&entry.wire_id)))
    });
    rules.fold(config, LoopbackConfig::fault)
}

fn model(catalog: &Catalog, entry: &ModelEntry) -> LoopbackModel {
    let plays = entry.loopback.unwrap_or_default();
    let LoopbackEntry { first_token_ms, per_token_us, output_tokens, .. } = plays;
    let mut model = LoopbackModel::new(Arc::clone(&entry.wire_id))
        .latency(Latency { first_token_ms, per_token_us })
        .output_tokens(output_tokens.0, output_tokens.1)
        .quota_permille(u32::try_from(plays.quota_permille).expect("at most 1,000 permille"))
        .enforced(match plays.enforced {
            catalog::Enforced::AsStated => Enforced::AsStated,
            catalog::Enforced::BySecond => Enforced::BySecond,
        })
        .settle(match entry.settle {
            Settle::Actual => Unused::Actual,
            Settle::Keep => Unused::Keep,
        });
    if let Some(price) = &entry.price {
        model = model.price(LoopbackPrice {
            currency: price.currency.code().into(),
            input_pico: price.base.input,
            output_pico: price.base.output,
        });
    }
    let shared = catalog.quotas().find(|quota| Some(&quota.name) == entry.quota.as_ref());
    if let Some(quota) = shared {
        model = model.shares(&*quota.name);
    }
    match (&entry.limits, shared) {
        (Some(limits), _) => limited(model, limits),
        (None, Some(quota)) => limited(model, &quota.limits),
        (None, None) => model,
    }
}

fn limited(mut model: LoopbackModel, limits: &Limits) -> LoopbackModel {
    let burst = |quota: Quota| limits.burst_s.map_or(quota, |seconds| quota.burst_s(seconds));
    let minute = [
        (limits.requests_per_minute, Dimension::Requests),
        (limits.tokens_per_minute, Dimension::Tokens),
        (limits.input_tokens_per_minute, Dimension::InputTokens),
        (limits.output_tokens_per_minute, Dimension::OutputTokens),
    ];
    for (amount, dimension) in minute {
        if let Some(amount) = amount {
            model = model.quota(burst(Quota::per_minute(dimension, amount)));
        }
    }
    if let Some(amount) = limits.requests_per_second {
        model = model.quota(burst(Quota::per_second(Dimension::Requests, amount)));
    }
    let day = [
        (limits.requests_per_day, Dimension::Requests),
        (limits.tokens_per_day, Dimension::Tokens),
    ];
    for (amount, dimension) in day {
        if let Some(amount) = amount {
            model = model.quota(Quota::per_day(dimension, amount));
        }
    }
    match limits.max_concurrent {
        Some(requests) => model.concurrent_max(requests),
        None => model,
    }
}

/// Random faults, as thousandths of the requests.
fn faults(faults: &Faults) -> Vec<FaultRule> {
    let inside = |after| Fault::ErrorInside { says: InsideError::ServerError, after };
    let rates = [
        (faults.rate_limited, Fault::RateLimit(AskedWait::Unsaid)),
        (faults.overloaded, Fault::Overloaded(AskedWait::Unsaid)),
        (faults.server_error, Fault::ServerError),
        (faults.unavailable, Fault::Unavailable(AskedWait::Unsaid)),
        (faults.reset, Fault::Reset),
        (faults.stall, Fault::Stall),
        (faults.truncated, Fault::Truncate),
        (faults.no_usage, Fault::MissingUsage),
        (faults.malformed, Fault::MalformedJson),
        (faults.html, Fault::WebPage),
        (faults.out_of_credit, Fault::OutOfCredit),
        (faults.silent, Fault::Silent),
        (faults.keep_alive, Fault::KeepAlive),
        (faults.reset_at_end, Fault::ResetAtEnd),
        (faults.error_inside, inside(InsideAfter::Nothing)),
        (faults.error_midway, inside(InsideAfter::Half)),
        (faults.running_usage, Fault::RunningUsage),
        (faults.doubled_usage, Fault::DoubledUsage),
    ];
    // Each rule is asked about the requests that the rules before it left.
    let mut left = 1_000;
    let mut rules = Vec::new();
    for (permille, fault) in rates {
        if permille > 0 {
            let millionths = (permille * 1_000_000).div_ceil(left);
            let millionths = u32::try_from(millionths).expect("at most all that are left");
            rules.push(FaultRule::new(When::PerMillion(millionths), fault));
            left -= permille;
        }
    }
    rules
}

#[cfg(test)]
#[path = "loopback_tests.rs"]
mod tests;
