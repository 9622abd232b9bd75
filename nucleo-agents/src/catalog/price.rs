//! Prices of a catalog, exact, per million tokens.
//!
//! Invariants: amounts are 1e-12 of the currency's unit per million tokens, read from the text of
//! the number, never through a float; at most six decimals, so that the cost of one token is a
//! whole number of 1e-12; every amount lies in the sanity band.
//!
//! Not here: what a call costs (`nucleo_core::spend`), conversion between currencies (nowhere).

use nucleo_core::{Currency, Money, PICO, Reserved};
use serde::Serialize;

/// What a model costs, per million tokens, in 1e-12 of `currency`'s unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PriceEntry {
    /// The currency of every amount.
    pub currency: Currency,
    /// The amounts for a request whose size reaches no tier.
    pub base: Rates,
    /// Dearer amounts of larger requests, by ascending size.
    pub tiers: Vec<PriceTier>,
}

/// Amounts per million tokens, in 1e-12 of the unit, by kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rates {
    /// Plain input.
    pub input: i128,
    /// Output.
    pub output: i128,
    /// Input read from a cache; the plain input's when `None`.
    pub cache_read: Option<i128>,
    /// Input written to a cache; the plain input's when `None`.
    pub cache_write: Option<i128>,
    /// Reasoning; the output's when `None`.
    pub reasoning: Option<i128>,
}

/// Amounts of requests with more input than a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PriceTier {
    /// The tier holds when the whole input is more than this many tokens.
    pub above_input_tokens: u64,
    /// Its amounts.
    pub rates: Rates,
}

/// The least sane price: 1e-9 of a unit per token, 0.001 per million.
pub(crate) const BAND_LOW: i128 = PICO / 1_000;
/// The greatest sane price: 1e-3 of a unit per token, 1,000 per million.
pub(crate) const BAND_HIGH: i128 = PICO * 1_000;

impl PriceEntry {
    /// The amounts that a request with `input_tokens` of input meets.
    #[must_use]
    pub fn rates(&self, input_tokens: u64) -> &Rates {
        let reached = |tier: &&PriceTier| tier.above_input_tokens < input_tokens;
        self.tiers.iter().rev().find(reached).map_or(&self.base, |tier| &tier.rates)
    }

    /// What `tokens` cost at the plain input and output prices, in 1e-18 of the unit.
    ///
    /// Good for comparing models of one currency; the bill itself is the ledger's.
    ///
    /// # Panics
    /// Never for amounts inside the sanity band: 1e15 times 2^64 stays far below 2^127.
    #[must_use]
    pub fn weight(&self, tokens: &Reserved) -> i128 {
        let rates = self.rates(tokens.input);
        rates.input * i128::from(tokens.input) + rates.output * i128::from(tokens.output)
    }

    /// An amount per million tokens as money.
    #[must_use]
    pub fn per_million(&self, amount: i128) -> Money {
        Money::from_pico(amount, self.currency)
    }
}
