//! Money: exact integers of one currency.
//!
//! Invariants: the unit is 1e-12 of the currency's unit, so that any price per million tokens with
//! six decimals is exact for a single token; two currencies never meet in a sum; no floats.
//!
//! Not here: prices and caps (`spend`), conversion between currencies (nowhere, by design).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Parts of one unit of a currency: 1e12.
pub const PICO: i128 = 1_000_000_000_000;

/// A three-letter currency code, upper case, such as `USD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// An amount of one currency, exact to 1e-12 of its unit.
///
/// ```
/// use nucleo_core::Money;
/// let cap: Money = "0.04 USD".parse().unwrap();
/// let spent: Money = "0.0391 USD".parse().unwrap();
/// assert_eq!(cap.minus(spent).unwrap().to_string(), "0.0009 USD");
/// assert_eq!("1 USD".parse::<Money>().unwrap().to_string(), "1.00 USD");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    pico: i128,
    currency: Currency,
}

/// Why a text is no money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MoneyError {
    /// Not of the form `12.34 USD`.
    #[error("`{0}` is not money: write an amount and a currency, as in `5 USD` or `0.04 EUR`")]
    Form(String),
    /// Not a three-letter code.
    #[error("`{0}` is not a currency: write its three-letter code, as in `USD`")]
    Currency(String),
    /// More than twelve decimals, or too large a number.
    #[error("`{0}` can't be told exactly: at most 12 decimals and 24 digits before them")]
    Range(String),
}

/// Two currencies met where one was needed; nothing is ever converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{left} and {right} don't mix: prices and caps of one workflow need one currency")]
pub struct CurrencyMismatch {
    /// The one side's currency.
    pub left: Currency,
    /// The other side's.
    pub right: Currency,
}

impl Currency {
    /// US dollars.
    pub const USD: Self = Self(*b"USD");

    /// The code.
    #[must_use]
    pub fn code(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a currency is three ASCII letters")
    }
}

impl FromStr for Currency {
    type Err = MoneyError;
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        match text.as_bytes() {
            &[a, b, c] if [a, b, c].iter().all(u8::is_ascii_uppercase) => Ok(Self([a, b, c])),
            _ => Err(MoneyError::Currency(text.to_owned())),
        }
    }
}

impl Money {
    /// Nothing, in a currency.
    #[must_use]
    pub const fn zero(currency: Currency) -> Self {
        Self { pico: 0, currency }
    }

    /// `pico` times 1e-12 of a unit.
    #[must_use]
    pub const fn from_pico(pico: i128, currency: Currency) -> Self {
        Self { pico, currency }
    }

    /// The amount in 1e-12 of a unit.
    #[must_use]
    pub const fn pico(self) -> i128 {
        self.pico
    }

    /// The currency.
    #[must_use]
    pub const fn currency(self) -> Currency {
        self.currency
    }

    /// The sum.
    ///
    /// # Errors
    /// [`CurrencyMismatch`] when the currencies differ.
    ///
    /// # Panics
    /// Past 1.7e26 units: no bill is that long, so a sum that is, is a bug.
    pub fn plus(self, other: Self) -> Result<Self, CurrencyMismatch> {
        self.same(other)?;
        let pico = self.pico.checked_add(other.pico).expect("a sum of money past 1e26 units");
        Ok(Self { pico, ..self })
    }

    /// The difference, which may be below zero.
    ///
    /// # Errors
    /// [`CurrencyMismatch`] when the currencies differ.
    ///
    /// # Panics
    /// Past 1.7e26 units, as [`Money::plus`].
    pub fn minus(self, other: Self) -> Result<Self, CurrencyMismatch> {
        self.same(other)?;
        let pico =
            self.pico.checked_sub(other.pico).expect("a difference of money past 1e26 units");
        Ok(Self { pico, ..self })
    }

    /// This amount `n` times.
    ///
    /// # Panics
    /// Past 1.7e26 units, as [`Money::plus`].
    #[must_use]
    pub fn times(self, n: u64) -> Self {
        let pico = self.pico.checked_mul(i128::from(n)).expect("a product past 1e26 units");
        Self { pico, ..self }
    }

    /// Which is more.
    ///
    /// # Errors
    /// [`CurrencyMismatch`] when the currencies differ.
    pub fn compare(self, other: Self) -> Result<std::cmp::Ordering, CurrencyMismatch> {
        self.same(other)?;
        Ok(self.pico.cmp(&other.pico))
    }

    fn same(self, other: Self) -> Result<(), CurrencyMismatch> {
        if self.currency == other.currency {
            return Ok(());
        }
        Err(CurrencyMismatch { left: self.currency, right: other.currency })
    }
}

/// An exact decimal number as 1e-12 parts: `1.25` is 1,250,000,000,000.
///
/// # Errors
/// [`MoneyError::Form`] when the text is no plain decimal number, [`MoneyError::Range`] when it
/// has more than twelve decimals or too many digits.
pub fn parse_pico(text: &str) -> Result<i128, MoneyError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if whole.is_empty() || !plain(whole) || !plain(part) || digits.ends_with('.') {
        return Err(MoneyError::Form(text.to_owned()));
    }
    let whole = whole.replace('_', "");
    let part = part.replace('_', "");
    if whole.len() > 24 || part.len() > 12 || whole.is_empty() {
        return Err(MoneyError::Range(text.to_owned()));
    }
    let number: i128 =
        format!("{whole}{part:0<12}").parse().map_err(|_| MoneyError::Range(text.to_owned()))?;
    Ok(if negative { -number } else { number })
}

impl FromStr for Money {
    type Err = MoneyError;
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let mut words = text.split_whitespace();
        let (Some(amount), Some(currency), None) = (words.next(), words.next(), words.next())
        else {
            return Err(MoneyError::Form(text.to_owned()));
        };
        let pico = parse_pico(amount).map_err(|error| match error {
            MoneyError::Range(_) => MoneyError::Range(text.to_owned()),
            _ => MoneyError::Form(text.to_owned()),
        })?;
        Ok(Self { pico, currency: currency.parse()? })
    }
}

impl fmt::Display for Money {
    /// Exact, without needless zeros, with two decimals at least.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.pico < 0 { "-" } else { "" };
        let abs = self.pico.unsigned_abs();
        let part = format!("{:012}", abs % PICO.unsigned_abs());
        let shown = part.trim_end_matches('0').len().max(2);
        write!(f, "{sign}{}.{} {}", abs / PICO.unsigned_abs(), &part[..shown], self.currency)
    }
}

impl fmt::Debug for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Money travels as its text, `"0.0132 USD"`: a JSON number would lose digits.
impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_prints() {
        for text in ["0.0132 USD", "5.00 EUR", "-0.000000000001 USD", "123456789.10 CHF"] {
            assert_eq!(text.parse::<Money>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_not_money() {
        for text in ["", "5", "USD 5", "5 usd", "5 USD now", "1e3 USD", "5. USD", ".5 USD", "- USD"]
        {
            assert!(text.parse::<Money>().is_err(), "{text}");
        }
        let error = "0.0000000000001 USD".parse::<Money>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`0.0000000000001 USD` can't be told exactly: at most 12 decimals and 24 digits before \
             them"
        );
    }

    #[test]
    fn the_least_amount_can_be_taken_away() {
        let least = Money::from_pico(i128::MIN, Currency::USD);
        let below = Money::from_pico(-1, Currency::USD);
        assert_eq!(below.minus(least).unwrap().pico(), i128::MAX);
    }

    #[test]
    fn currencies_never_mix() {
        let usd: Money = "1 USD".parse().unwrap();
        let eur: Money = "1 EUR".parse().unwrap();
        assert_eq!(usd.plus(eur).unwrap_err().right.code(), "EUR");
    }
}
