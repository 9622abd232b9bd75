//! Prices: what tokens cost, exactly.
//!
//! Invariants: a [`Rate`] is a whole number of 1e-12 units per token, so a cost is exact, whatever
//! is counted; each kind of token is paid once; tiers stand in ascending order; a reservation
//! ([`Price::dearest`]) is never less than the cost of a usage within it.
//!
//! Not here: reading prices from a file (`nucleo-agents`, `catalog`), caps (`ledger`).

use std::str::FromStr;

use crate::{Currency, Money, MoneyError, Reserved, Usage, parse_pico};

/// What a million tokens of one kind cost, in a currency that the [`Price`] around it names.
///
/// ```
/// use nucleo_core::spend::Rate;
/// let rate: Rate = "1.25".parse().unwrap();
/// assert_eq!(rate.pico_per_million(), 1_250_000_000_000);
/// assert!("0.0000001".parse::<Rate>().is_err(), "seven decimals aren't exact for one token");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(i128);

/// The rates of one model, or of one tier of it.
///
/// A kind without a rate of its own is paid as plain input, or as plain output.
///
/// ```
/// use nucleo_core::spend::{Rate, Rates};
/// let rates = Rates::new("3".parse()?, "15".parse()?).cache_read("0.30".parse()?);
/// assert_eq!(rates, Rates::new("3".parse()?, "15".parse()?).cache_read("0.3".parse()?));
/// # Ok::<(), nucleo_core::spend::PriceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rates {
    input: Rate,
    output: Rate,
    cache_read: Option<Rate>,
    cache_write: Option<Rate>,
    reasoning: Option<Rate>,
}

/// What a model's tokens cost: base rates, and dearer or cheaper ones for long requests.
///
/// ```
/// use nucleo_core::spend::{Price, Rates};
/// use nucleo_core::{Currency, Usage};
/// let rates = Rates::new("3".parse()?, "15".parse()?)
///     .cache_read("0.30".parse()?)
///     .cache_write("3.75".parse()?);
/// let price = Price::new(Currency::USD, rates);
/// let usage = Usage { input: 1_200, cache_read: 500, cache_write: 300, ..Usage::default() };
/// assert_eq!(price.cost(&usage).to_string(), "0.004875 USD");
/// # Ok::<(), nucleo_core::spend::PriceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    currency: Currency,
    base: Rates,
    tiers: Vec<Tier>,
}

/// Rates for requests above a size.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tier {
    above_input_tokens: u64,
    rates: Rates,
}

/// Why something is no price, or no plausible one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// Not a plain decimal number.
    #[error("a price per million tokens can't be read")]
    Text(#[from] MoneyError),
    /// Finer than can be paid exactly for a single token.
    #[error("{0} pico per million tokens isn't exact for one token: use at most 6 decimals")]
    TooFine(i128),
    /// Below nothing, or above a whole unit for a single token.
    #[error("{0} pico per million tokens is no price: it must lie within 0 and 1000000 units")]
    OutOfRange(i128),
    /// A tier that is not above the one before it.
    #[error(
        "the tier above {above_input_tokens} input tokens must come after one above fewer: \
         list tiers in ascending order, each once"
    )]
    TierOrder {
        /// The threshold out of order.
        above_input_tokens: u64,
    },
    /// Outside what any model costs: as a rule a price per token or per thousand.
    #[error(
        "the {kind} price, {per_million} per million tokens, lies outside 0.001 to 1000: \
         write prices per million tokens, not per thousand or per token"
    )]
    Implausible {
        /// Which price, such as `input`.
        kind: &'static str,
        /// What a million tokens would cost.
        per_million: Money,
    },
}

/// A rate of 1e-12 units per token, times a million.
const PER_TOKEN: i128 = 1_000_000;
/// The dearest rate that can be told: one unit for one token.
const RATE_MAX: i128 = crate::PICO * PER_TOKEN;
/// The sanity band, 1e-9 ..= 1e-3 units per token, in pico per million.
const PLAUSIBLE: std::ops::RangeInclusive<i128> = 1_000 * PER_TOKEN..=1_000_000_000 * PER_TOKEN;

impl Rate {
    /// Nothing at all: a model that runs for free.
    pub const FREE: Self = Self(0);

    /// `pico` times 1e-12 of a unit for a million tokens.
    ///
    /// # Errors
    /// [`PriceError::TooFine`] when one token's share is no whole number of 1e-12 units,
    /// [`PriceError::OutOfRange`] below zero or above one unit a token.
    pub const fn from_pico_per_million(pico: i128) -> Result<Self, PriceError> {
        if pico < 0 || pico > RATE_MAX {
            return Err(PriceError::OutOfRange(pico));
        }
        if pico % PER_TOKEN != 0 {
            return Err(PriceError::TooFine(pico));
        }
        Ok(Self(pico))
    }

    /// The rate in 1e-12 units for a million tokens.
    #[must_use]
    pub const fn pico_per_million(self) -> i128 {
        self.0
    }

    /// What `tokens` cost, in 1e-12 units. Can't overflow: 1e12 a token, 2^64 tokens.
    fn of(self, tokens: u64) -> i128 {
        self.0 / PER_TOKEN * i128::from(tokens)
    }
}

impl FromStr for Rate {
    type Err = PriceError;
    /// Reads an amount per million tokens, such as `1.25`.
    fn from_str(text: &str) -> Result<Self, PriceError> {
        Self::from_pico_per_million(parse_pico(text)?)
    }
}

impl Rates {
    /// Plain input and plain output; the other kinds cost the same until set.
    #[must_use]
    pub const fn new(input: Rate, output: Rate) -> Self {
        Self { input, output, cache_read: None, cache_write: None, reasoning: None }
    }

    /// What input read from the provider's cache costs.
    #[must_use]
    pub fn cache_read(self, rate: Rate) -> Self {
        Self { cache_read: Some(rate), ..self }
    }

    /// What input written to the provider's cache costs.
    #[must_use]
    pub fn cache_write(self, rate: Rate) -> Self {
        Self { cache_write: Some(rate), ..self }
    }

    /// What output spent on reasoning costs.
    #[must_use]
    pub fn reasoning(self, rate: Rate) -> Self {
        Self { reasoning: Some(rate), ..self }
    }

    /// Every rate with its name, absent ones left out.
    fn named(&self) -> impl Iterator<Item = (&'static str, Rate)> {
        [
            ("input", Some(self.input)),
            ("output", Some(self.output)),
            ("cache_read", self.cache_read),
            ("cache_write", self.cache_write),
            ("reasoning", self.reasoning),
        ]
        .into_iter()
        .filter_map(|(name, rate)| Some((name, rate?)))
    }

    fn cost(&self, usage: &Usage) -> i128 {
        self.input.of(usage.input)
            + self.cache_write.unwrap_or(self.input).of(usage.cache_write)
            + self.cache_read.unwrap_or(self.input).of(usage.cache_read)
            + self.output.of(usage.output)
            + self.reasoning.unwrap_or(self.output).of(usage.reasoning)
    }

    /// Every token at the dearest rate that it may be billed at.
    fn dearest(&self, tokens: &Reserved) -> i128 {
        let dearer = |plain: Rate, other: Option<Rate>| other.map_or(plain, |rate| plain.max(rate));
        let input = dearer(dearer(self.input, self.cache_write), self.cache_read);
        input.of(tokens.input) + dearer(self.output, self.reasoning).of(tokens.output)
    }
}

impl Price {
    /// One set of rates for requests of every size.
    #[must_use]
    pub const fn new(currency: Currency, rates: Rates) -> Self {
        Self { currency, base: rates, tiers: Vec::new() }
    }

    /// Other rates for requests whose whole input is above `above_input_tokens`.
    ///
    /// # Errors
    /// [`PriceError::TierOrder`] unless the threshold is above those of the tiers before.
    pub fn tier(mut self, above_input_tokens: u64, rates: Rates) -> Result<Self, PriceError> {
        if self.tiers.last().is_some_and(|last| last.above_input_tokens >= above_input_tokens) {
            return Err(PriceError::TierOrder { above_input_tokens });
        }
        self.tiers.push(Tier { above_input_tokens, rates });
        Ok(self)
    }

    /// The currency.
    #[must_use]
    pub const fn currency(&self) -> Currency {
        self.currency
    }

    /// What a call cost: each token once, at the rates of the tier that its whole input reached.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        let rates = self.reachable(usage.input_total()).last().expect("the base is reachable");
        Money::from_pico(rates.cost(usage), self.currency)
    }

    /// What a call within `tokens` costs at most: all input at the dearest of plain, cache write
    /// and cache read, all output at the dearer of plain and reasoning, in the dearest tier that
    /// the input's size can reach.
    #[must_use]
    pub fn dearest(&self, tokens: &Reserved) -> Money {
        let pico = self.reachable(tokens.input).map(|rates| rates.dearest(tokens)).max();
        Money::from_pico(pico.expect("the base is reachable"), self.currency)
    }

    /// Checks each rate against what models cost, 1e-9 to 1e-3 units a token; zero is free and
    /// passes. A price per thousand or per token falls outside, and would trip every cap.
    ///
    /// # Errors
    /// [`PriceError::Implausible`] names the first rate outside.
    pub fn check_plausible(&self) -> Result<(), PriceError> {
        for (kind, rate) in self.reachable(u64::MAX).flat_map(Rates::named) {
            if rate != Rate::FREE && !PLAUSIBLE.contains(&rate.0) {
                let per_million = Money::from_pico(rate.0, self.currency);
                return Err(PriceError::Implausible { kind, per_million });
            }
        }
        Ok(())
    }

    /// The rates that a request of so many input tokens, or fewer, may be billed at; the last are
    /// those of exactly that many.
    fn reachable(&self, input_tokens: u64) -> impl Iterator<Item = &Rates> {
        let tiers = self.tiers.iter().take_while(move |t| t.above_input_tokens < input_tokens);
        std::iter::once(&self.base).chain(tiers.map(|tier| &tier.rates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(input: &str, output: &str) -> Rates {
        Rates::new(input.parse().unwrap(), output.parse().unwrap())
    }

    #[test]
    fn six_decimals_are_exact_for_one_token() {
        let price = Price::new(Currency::USD, rates("0.000001", "0"));
        let usage = Usage { input: 1, ..Usage::default() };
        assert_eq!(price.cost(&usage).pico(), 1);
        assert_eq!("0.0000001".parse::<Rate>(), Err(PriceError::TooFine(100_000)));
        assert_eq!("-1".parse::<Rate>(), Err(PriceError::OutOfRange(-crate::PICO)));
    }

    #[test]
    fn absent_kinds_are_paid_as_plain_ones() {
        let price = Price::new(Currency::USD, rates("2", "8"));
        let usage = Usage { input: 1, cache_write: 1, cache_read: 1, output: 1, reasoning: 1 };
        assert_eq!(price.cost(&usage).to_string(), "0.000022 USD");
    }

    #[test]
    fn a_tier_begins_above_its_threshold() {
        let price = Price::new(Currency::USD, rates("1", "2")).tier(100, rates("3", "4")).unwrap();
        let cost = |input| price.cost(&Usage { input, ..Usage::default() }).pico();
        assert_eq!((cost(100), cost(101)), (100_000_000, 303_000_000));
        let again = price.tier(100, rates("3", "4"));
        assert_eq!(again, Err(PriceError::TierOrder { above_input_tokens: 100 }));
    }

    #[test]
    fn largest_numbers_do_not_overflow() {
        let price = Price::new(Currency::USD, rates("1000000", "1000000"));
        let most = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert!(price.cost(&most).pico() > 0);
    }

    #[test]
    fn the_sanity_band_names_the_price() {
        let price = |input, output| Price::new(Currency::USD, rates(input, output));
        assert_eq!(price("0.001", "1000").check_plausible(), Ok(()));
        assert_eq!(price("0", "0").check_plausible(), Ok(()), "a free model is one");
        assert_eq!(
            price("15000", "1").check_plausible().unwrap_err().to_string(),
            "the input price, 15000.00 USD per million tokens, lies outside 0.001 to 1000: \
             write prices per million tokens, not per thousand or per token"
        );
        assert!(price("1", "0.000999").check_plausible().is_err());
        assert!(price("1", "2").tier(9, rates("1", "1001")).unwrap().check_plausible().is_err());
    }

    #[test]
    fn no_usage_within_a_reservation_costs_more() {
        let mut random = fastrand::Rng::with_seed(7);
        let rate = |random: &mut fastrand::Rng| Rate(i128::from(random.u32(0..9)) * PER_TOKEN);
        for _ in 0..2_000 {
            let set = |random: &mut fastrand::Rng| Rates {
                input: rate(random),
                output: rate(random),
                cache_read: random.bool().then(|| rate(random)),
                cache_write: random.bool().then(|| rate(random)),
                reasoning: random.bool().then(|| rate(random)),
            };
            let price = Price::new(Currency::USD, set(&mut random));
            let price = price.tier(10, set(&mut random)).unwrap();
            let price = price.tier(20, set(&mut random)).unwrap();
            let tokens = Reserved { input: random.u64(0..30), output: random.u64(0..30) };
            let input = random.u64(0..=tokens.input);
            let cache_read = random.u64(0..=tokens.input - input);
            let cache_write = random.u64(0..=tokens.input - input - cache_read);
            let output = random.u64(0..=tokens.output);
            let reasoning = random.u64(0..=tokens.output - output);
            let usage = Usage { input, cache_write, cache_read, output, reasoning };
            assert!(
                price.cost(&usage).pico() <= price.dearest(&tokens).pico(),
                "{price:?} {tokens:?} {usage:?}"
            );
        }
    }
}
