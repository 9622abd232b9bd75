//! What a loopback server offers: models, their quotas, prices and latency, and its faults.
//!
//! Invariants: plain values with consuming setters; everything that can be wrong is told when the
//! engine is built.
//!
//! Not here: reading a catalog (`catalog`), the rules themselves (`quota`, `ledger`, `fault`).

use std::net::SocketAddr;
use std::sync::Arc;

use super::fault::FaultRule;
use crate::wire::WallClock;

/// A loopback server.
///
/// ```
/// use nucleo_agents::providers::loopback::{
///     Dimension, Latency, LoopbackConfig, LoopbackModel, LoopbackPrice, Quota,
/// };
/// let config = LoopbackConfig::new([LoopbackModel::new("small-1")
///     .quota(Quota::per_minute(Dimension::Requests, 600))
///     .quota(Quota::per_minute(Dimension::Tokens, 90_000).burst_s(10))
///     .price(LoopbackPrice::usd(150_000_000_000, 600_000_000_000)) // 0.15 and 0.60 a million
///     .latency(Latency { first_token_ms: (80, 200), per_token_us: 2_000 })])
/// .seed(7);
/// # let _ = config;
/// ```
#[derive(Clone, Debug)]
pub struct LoopbackConfig {
    pub(super) models: Vec<LoopbackModel>,
    pub(super) seed: u64,
    pub(super) faults: Vec<FaultRule>,
    pub(super) connections_max: usize,
    pub(super) wall_clock: WallClock,
}

/// One model of a loopback server. Without quotas it takes everything; without a price it is free.
#[derive(Clone, Debug)]
pub struct LoopbackModel {
    pub(super) wire_id: Arc<str>,
    pub(super) quotas: Vec<Quota>,
    pub(super) quota_permille: u32,
    pub(super) enforced: Enforced,
    pub(super) shares: Option<Box<str>>,
    pub(super) concurrent_max: Option<u64>,
    pub(super) settle: Settle,
    pub(super) price: Option<LoopbackPrice>,
    pub(super) latency: Latency,
    pub(super) output_tokens: (u64, u64),
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Requests.
    Requests,
    /// Input tokens and the output limit together.
    Tokens,
    /// Input tokens.
    InputTokens,
    /// The output limit.
    OutputTokens,
}

/// So much a period, of which a burst may go at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub(super) dimension: Dimension,
    pub(super) amount: u64,
    pub(super) period_s: u64,
    pub(super) burst_s: u64,
}

/// How a minute's quota is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforced {
    /// As it is stated: its burst may go at once.
    #[default]
    AsStated,
    /// By the second: a sixtieth of it may go at once, at least one request or token. What a
    /// provider does that means a rate where its manual says a minute. Days and seconds stay.
    BySecond,
}

/// What happens at the end to tokens that were taken and not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Settle {
    /// They are given back.
    #[default]
    Actual,
    /// They stay taken.
    Keep,
}

/// What a million tokens cost, in 1e-12 of a currency's unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopbackPrice {
    /// The currency's code, as the ledger prints it.
    pub currency: Box<str>,
    /// A million input tokens.
    pub input_pico: i128,
    /// A million output tokens.
    pub output_pico: i128,
}

/// How long an answer takes: a time to the first token, uniform within its bounds, and a time for
/// each token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Least and most time before the first token, in milliseconds.
    pub first_token_ms: (u64, u64),
    /// Time per output token, in microseconds.
    pub per_token_us: u64,
}

/// Why a loopback server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopbackError {
    /// No model to serve.
    #[error("the loopback server has no model: give it at least one")]
    NoModel,
    /// Two models of one name.
    #[error("two loopback models are called `{0}`: rename one")]
    Duplicate(Arc<str>),
    /// Bounds in the wrong order.
    #[error("loopback model `{model}`: the lower bound of {what} is above the upper one")]
    Bounds {
        /// The model.
        model: Arc<str>,
        /// Which bounds.
        what: &'static str,
    },
    /// The address can't be listened on.
    #[error("can't listen on {address}: choose another address or port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
}

impl LoopbackConfig {
    /// A server of these models, seed 0, without faults.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = LoopbackModel>) -> Self {
        let models = models.into_iter().collect();
        Self {
            models,
            seed: 0,
            faults: Vec::new(),
            connections_max: 16_384,
            wall_clock: nucleo_harness::runtime::system_wall,
        }
    }

    /// With this seed: answers, latencies and random faults follow from it.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With this fault as well. For each request the first rule that applies decides.
    #[must_use]
    pub fn fault(mut self, rule: FaultRule) -> Self {
        self.faults.push(rule);
        self
    }

    /// With this wall clock, read once, when the server starts: the dates that it sends go on from
    /// there. The system's unless set.
    #[must_use]
    pub const fn wall_clock(mut self, clock: WallClock) -> Self {
        self.wall_clock = clock;
        self
    }

    /// With at most this many open connections; further ones wait to be accepted. 16,384 unless set.
    #[must_use]
    pub const fn connections_max(mut self, connections: usize) -> Self {
        self.connections_max = connections;
        self
    }
}

impl LoopbackModel {
    /// A model of this name: no quota, no price, no latency, answers of 16 to 128 tokens.
    #[must_use]
    pub fn new(wire_id: impl Into<Arc<str>>) -> Self {
        Self {
            wire_id: wire_id.into(),
            quotas: Vec::new(),
            quota_permille: 1_000,
            enforced: Enforced::AsStated,
            shares: None,
            concurrent_max: None,
            settle: Settle::Actual,
            price: None,
            latency: Latency::default(),
            output_tokens: (16, 128),
        }
    }

    /// With this quota as well.
    #[must_use]
    pub fn quota(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// With so many thousandths of its quotas in force, whatever it says of itself elsewhere: 500 is
    /// a server that is stricter by half than its client was told. Rounded down, and at least one at
    /// a time; 0 lets nothing through. How many requests there may be at a time stays.
    #[must_use]
    pub const fn quota_permille(mut self, permille: u32) -> Self {
        self.quota_permille = permille;
        self
    }

    /// With its minute's quotas enforced so.
    #[must_use]
    pub const fn enforced(mut self, enforced: Enforced) -> Self {
        self.enforced = enforced;
        self
    }

    /// Under one set of quotas with all models that share this name: those of the first of them.
    #[must_use]
    pub fn shares(mut self, name: impl Into<Box<str>>) -> Self {
        self.shares = Some(name.into());
        self
    }

    /// With at most this many requests at a time; the next is answered 429 at once.
    #[must_use]
    pub const fn concurrent_max(mut self, requests: u64) -> Self {
        self.concurrent_max = Some(requests);
        self
    }

    /// With this rule for unused tokens.
    #[must_use]
    pub const fn settle(mut self, settle: Settle) -> Self {
        self.settle = settle;
        self
    }

    /// At this price.
    #[must_use]
    pub fn price(mut self, price: LoopbackPrice) -> Self {
        self.price = Some(price);
        self
    }

    /// With this latency.
    #[must_use]
    pub const fn latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// With answers of this many tokens, least and most, where the request does not say.
    #[must_use]
    pub const fn output_tokens(mut self, least: u64, most: u64) -> Self {
        self.output_tokens = (least, most);
        self
    }

    pub(super) fn check(&self) -> Result<(), LoopbackError> {
        let first = self.latency.first_token_ms;
        for (bounds, what) in [(first, "first_token_ms"), (self.output_tokens, "output_tokens")] {
            if bounds.0 > bounds.1 {
                return Err(LoopbackError::Bounds { model: self.wire_id.clone(), what });
            }
        }
        Ok(())
    }
}

impl Quota {
    /// So much a second, all of it at once.
    #[must_use]
    pub const fn per_second(dimension: Dimension, amount: u64) -> Self {
        Self { dimension, amount, period_s: 1, burst_s: 1 }
    }

    /// So much a minute, all of it at once.
    #[must_use]
    pub const fn per_minute(dimension: Dimension, amount: u64) -> Self {
        Self { dimension, amount, period_s: 60, burst_s: 60 }
    }

    /// So much in 24 hours, all of it at once.
    #[must_use]
    pub const fn per_day(dimension: Dimension, amount: u64) -> Self {
        Self { dimension, amount, period_s: 86_400, burst_s: 86_400 }
    }

    /// Of which only this many seconds' worth may go at once (rounded down, at least 1).
    #[must_use]
    pub const fn burst_s(mut self, seconds: u64) -> Self {
        self.burst_s = seconds;
        self
    }
}

impl Enforced {
    /// The quota as it is enforced.
    pub(super) fn of(self, quota: Quota) -> Quota {
        match self {
            Self::BySecond if quota.period_s == 60 => quota.burst_s(quota.burst_s.min(1)),
            Self::AsStated | Self::BySecond => quota,
        }
    }
}

impl LoopbackPrice {
    /// A price in US dollars, in 1e-12 dollars a million tokens.
    #[must_use]
    pub fn usd(input_pico: i128, output_pico: i128) -> Self {
        Self { currency: "USD".into(), input_pico, output_pico }
    }
}
