//! The bound that quotas set: no order of the calls can end earlier.
//!
//! For each limit and each instant `t`: what arrives from `t` on, less the burst, over the rate. The
//! shortest call is added by the caller, because the last one granted still has to run.
//!
//! Invariants: it counts what is charged in the end, not what is reserved, and the provider's whole
//! burst, not ours: a lower bound whatever we do.
//!
//! Not here: measuring (`replay`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_agents::catalog::{Catalog, Limits};

use super::job::Job;

/// What one call is charged.
pub(super) struct Call {
    arrives_s: f64,
    /// By limit: amount, rate a second, burst.
    charges: Vec<(Arc<str>, f64, f64, f64)>,
}

impl Call {
    pub(super) fn of(catalog: &Catalog, job: &Job) -> Self {
        let model = &job.model;
        let quota = catalog.quotas().find(|quota| Some(&quota.name) == model.quota.as_ref());
        let (owner, limits) = match (&model.limits, quota) {
            (Some(limits), _) => (&model.id, Some(limits)),
            (None, Some(quota)) => (&quota.name, Some(&quota.limits)),
            (None, None) => (&model.id, None),
        };
        let charges = limits.map(|limits| charges(owner, limits, job)).unwrap_or_default();
        Self { arrives_s: job.arrives.as_secs_f64(), charges }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a bound in seconds")]
fn charges(owner: &str, limits: &Limits, job: &Job) -> Vec<(Arc<str>, f64, f64, f64)> {
    let (input, output) = (job.row.input_tokens as f64, job.row.output_tokens as f64);
    let all = [
        ("requests", 1.0, limits.requests_per_minute, 60.0),
        ("tokens", input + output, limits.tokens_per_minute, 60.0),
        ("input_tokens", input, limits.input_tokens_per_minute, 60.0),
        ("output_tokens", output, limits.output_tokens_per_minute, 60.0),
        ("requests_per_second", 1.0, limits.requests_per_second, 1.0),
    ];
    let charge = |(name, amount, rate, period_s): (&str, f64, Option<u64>, f64)| {
        let a_second = rate? as f64 / period_s;
        let burst = a_second * limits.burst_s.map_or(period_s, |seconds| seconds as f64);
        Some((Arc::from(format!("{owner}.{name}")), amount, a_second, burst))
    };
    all.into_iter().filter_map(charge).collect()
}

/// The bound in seconds, without the last call.
pub(super) fn of(calls: &[Call]) -> f64 {
    let mut order: Vec<&Call> = calls.iter().collect();
    order.sort_by(|a, b| b.arrives_s.total_cmp(&a.arrives_s));
    let mut from_here: BTreeMap<&str, f64> = BTreeMap::new();
    let mut bound = order.first().map_or(0.0, |call| call.arrives_s);
    for call in order {
        for (name, amount, rate, burst) in &call.charges {
            let sum = from_here.entry(name).or_insert(0.0);
            *sum += amount;
            bound = bound.max(call.arrives_s + (*sum - burst).max(0.0) / rate);
        }
    }
    bound
}
