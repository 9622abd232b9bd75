//! Reads `price = { … }`.
//!
//! Invariants: a price has a currency; each amount is read from its text, has at most six decimals
//! and lies between 0.001 and 1,000 per million tokens (1e-9 to 1e-3 per token), where a price per
//! token or per thousand, the classic mistake, does not.
//!
//! Not here: what a call costs (`nucleo_core::spend`).

use nucleo_core::{Currency, parse_pico};

use super::NUMBER_MAX;
use super::problems::Problems;
use super::section::{Field, Section};
use crate::catalog::price::{BAND_HIGH, BAND_LOW};
use crate::catalog::{PriceEntry, PriceTier, Rates, Rule};

const KEYS: &[&str] =
    &["currency", "input", "output", "cache_read", "cache_write", "reasoning", "tiers"];
const TIER_KEYS: &[&str] =
    &["above_input_tokens", "input", "output", "cache_read", "cache_write", "reasoning"];

pub(super) fn read(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<PriceEntry> {
    let section = field.table(problems, KEYS)?;
    let currency = match section.optional("currency") {
        Some(field) => currency(problems, &field),
        None => {
            problems.push(&field.path, Rule::PriceWithoutCurrency);
            None
        }
    };
    let base = rates(problems, &section);
    let tiers = section.optional("tiers").map(|field| tiers(problems, &field));
    Some(PriceEntry { currency: currency?, base: base?, tiers: tiers.unwrap_or_default() })
}

fn currency(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Currency> {
    let text = field.text(problems)?;
    let currency = text.parse().ok();
    if currency.is_none() {
        problems.push(&field.path, Rule::BadCurrency(text.to_owned()));
    }
    currency
}

fn rates(problems: &mut Problems<'_>, section: &Section<'_>) -> Option<Rates> {
    let input = section.required(problems, "input").and_then(|field| amount(problems, &field));
    let output = section.required(problems, "output").and_then(|field| amount(problems, &field));
    let mut other = |key| section.optional(key).and_then(|field| amount(problems, &field));
    let (cache_read, cache_write) = (other("cache_read"), other("cache_write"));
    let reasoning = other("reasoning");
    Some(Rates { input: input?, output: output?, cache_read, cache_write, reasoning })
}

fn amount(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<i128> {
    let text = field.decimal(problems)?;
    let decimals = text.split_once('.').map_or("", |(_, part)| part).trim_end_matches('0');
    let amount = parse_pico(text).ok().filter(|_| decimals.len() <= 6);
    let Some(amount) = amount else {
        problems.push(&field.path, Rule::PriceNotExact(text.to_owned()));
        return None;
    };
    if !(BAND_LOW..=BAND_HIGH).contains(&amount) {
        problems.push(&field.path, Rule::PriceOutsideBand(text.to_owned()));
        return None;
    }
    Some(amount)
}

fn tiers(problems: &mut Problems<'_>, field: &Field<'_>) -> Vec<PriceTier> {
    let mut tiers: Vec<PriceTier> = Vec::new();
    for field in field.list(problems).unwrap_or_default() {
        let Some(section) = field.table(problems, TIER_KEYS) else {
            continue;
        };
        let above = section
            .required(problems, "above_input_tokens")
            .and_then(|field| field.number(problems, 1, NUMBER_MAX));
        let rates = rates(problems, &section);
        let (Some(above), Some(rates)) = (above, rates) else {
            continue;
        };
        if let Some(before) = tiers.last().map(|tier| tier.above_input_tokens)
            && before >= above
        {
            problems.push(&field.path, Rule::TiersOutOfOrder { above, before });
        }
        tiers.push(PriceTier { above_input_tokens: above, rates });
    }
    tiers
}
