//! What the server served, refused and billed: the count that ours is compared with.
//!
//! Invariants: every request ends up in exactly one of `answered`, `http_429` and `failed`; amounts
//! are integers of 1e-18 of a currency's unit (a price per million tokens in 1e-12, times tokens),
//! so no rounding happens anywhere; they are printed as exact decimals.
//!
//! Not here: prices of the client (`nucleo_core::spend`), on purpose.

use std::collections::BTreeMap;

use serde::Serialize;

use super::config::LoopbackPrice;
use super::fault::Fault;
use super::quota::Amounts;

/// The server's books at one moment.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use nucleo_agents::providers::loopback::{Engine, LoopbackConfig, LoopbackModel};
/// let engine = Engine::new(LoopbackConfig::new([LoopbackModel::new("small-1")])).unwrap();
/// assert_eq!(engine.ledger().requests, 0);
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Ledger {
    /// Chat requests that arrived.
    pub requests: u64,
    /// Answered to the end with 200.
    pub answered: u64,
    /// Answered 429, injected ones included.
    pub http_429: u64,
    /// Everything else that has ended: errors, cut answers, clients that went away.
    pub failed: u64,
    /// Input tokens billed.
    pub input_tokens: u64,
    /// Output tokens billed.
    pub output_tokens: u64,
    /// Billed amounts as exact decimals, by currency: `{"USD": "0.0132"}`.
    pub billed: BTreeMap<Box<str>, String>,
    /// Faults that were played, by [name](super::Fault::name): not those that fell on a request
    /// which a quota refused, or which asked for nothing that is served here.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<&'static str, u64>,
}

/// How a request ended, for the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Answered,
    Refused429,
    Failed,
}

/// The books themselves.
#[derive(Debug, Default)]
pub(super) struct Books {
    requests: u64,
    answered: u64,
    http_429: u64,
    failed: u64,
    tokens: [u64; 2],
    atto: BTreeMap<Box<str>, i128>,
    faults: BTreeMap<&'static str, u64>,
}

impl Books {
    pub(super) fn arrived(&mut self) {
        self.requests += 1;
    }

    pub(super) fn played(&mut self, fault: Fault) {
        *self.faults.entry(fault.name()).or_default() += 1;
    }

    pub(super) fn ended(&mut self, ended: Ended) {
        match ended {
            Ended::Answered => self.answered += 1,
            Ended::Refused429 => self.http_429 += 1,
            Ended::Failed => self.failed += 1,
        }
    }

    pub(super) fn bill(&mut self, used: Amounts, price: Option<&LoopbackPrice>) {
        self.tokens[0] += used.input;
        self.tokens[1] += used.output;
        let Some(price) = price else { return };
        let part = |tokens: u64, pico: i128| i128::from(tokens).checked_mul(pico);
        let input = part(used.input, price.input_pico);
        let output = part(used.output, price.output_pico);
        let atto = self.atto.entry(price.currency.clone()).or_default();
        *atto = input
            .zip(output)
            .and_then(|(input, output)| atto.checked_add(input)?.checked_add(output))
            .expect("a bill below 1e20 units");
    }

    pub(super) fn shown(&self) -> Ledger {
        Ledger {
            requests: self.requests,
            answered: self.answered,
            http_429: self.http_429,
            failed: self.failed,
            input_tokens: self.tokens[0],
            output_tokens: self.tokens[1],
            billed: self.atto.iter().map(|(code, atto)| (code.clone(), decimal(*atto))).collect(),
            faults: self.faults.clone(),
        }
    }
}

/// An amount of 1e-18 parts as a decimal: exact, with two decimals at least.
fn decimal(atto: i128) -> String {
    const UNIT: u128 = 1_000_000_000_000_000_000;
    let sign = if atto < 0 { "-" } else { "" };
    let (whole, part) = (atto.unsigned_abs() / UNIT, atto.unsigned_abs() % UNIT);
    let part = format!("{part:018}");
    let shown = part.trim_end_matches('0').len().max(2);
    format!("{sign}{whole}.{}", &part[..shown])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bills_are_exact() {
        let price = LoopbackPrice::usd(150_000_000_000, 600_000_000_000);
        let mut books = Books::default();
        for _ in 0..3 {
            books.bill(Amounts { input: 1, output: 1 }, Some(&price));
        }
        books.bill(Amounts { input: 1_000_000, output: 0 }, None);
        assert_eq!(books.shown().billed["USD"], "0.00000225");
        assert_eq!(books.shown().input_tokens, 1_000_003);
    }

    #[test]
    fn decimals() {
        for (atto, text) in [
            (0, "0.00"),
            (1, "0.000000000000000001"),
            (13_200_000_000_000_000, "0.0132"),
            (1_500_000_000_000_000_000, "1.50"),
            (-12_000_000_000_000_000_000, "-12.00"),
        ] {
            assert_eq!(decimal(atto), text);
        }
    }
}
