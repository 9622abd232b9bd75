//! What must have been booked, as the wire tells it, and how far the server's ledger may be from ours.
//!
//! # The bound
//! Per currency, with `E` the sum of the reservations of the attempts that are booked as an estimate
//! (sent, and no whole answer with usage came):
//!
//! * ours is exactly the sum over all exchanges of the usage told, at the catalog's price, or of the
//!   reservation where it is an estimate;
//! * `server <= ours <= server + E`; so with no estimate they are equal.
//!
//! An attempt that is released (no connection, a 429, an error or a web page without usage, an error in
//! place of an answer) costs nothing on either side. What a server bills beyond the reservation, it tells in the usage, so it is
//! on both sides.

use std::collections::BTreeMap;

use nucleo_agents::catalog::ModelEntry;

use crate::wire::{Asked, Partial, Shown};

/// What the wire says of the money.
#[derive(Debug, Default)]
pub(crate) struct Bills {
    /// In pico, by currency.
    pub(crate) ours: BTreeMap<String, i128>,
    /// The reservations of estimates, by currency.
    pub(crate) estimated: BTreeMap<String, i128>,
    pub(crate) estimates: u64,
    pub(crate) unpriced: u64,
    pub(crate) calls: u64,
    /// What was billed beyond reservations, by workflow.
    pub(crate) overspent: BTreeMap<usize, i128>,
}

/// What becomes of an attempt's money.
enum Booked {
    Nothing,
    Used(u64, u64),
    Reservation,
}

fn booked(shown: Shown) -> Booked {
    match shown {
        Shown::NoConnection
        | Shown::Status(..)
        | Shown::WebPage
        | Shown::ErrorInside(Partial::Nothing) => Booked::Nothing,
        Shown::Whole(input, output) | Shown::BrokenAfterBody(input, output) => {
            Booked::Used(input, output)
        }
        Shown::NoHead
        | Shown::NoBody
        | Shown::KeptAlive
        | Shown::ErrorInside(Partial::Some)
        | Shown::BrokenBeforeHead
        | Shown::BrokenInBody
        | Shown::Unreadable
        | Shown::NoUsage => Booked::Reservation,
    }
}

impl Bills {
    pub(crate) fn add(&mut self, asked: &Asked, shown: Shown) {
        let (input, output, estimate) = match booked(shown) {
            Booked::Nothing => return,
            Booked::Used(input, output) => (input, output, false),
            Booked::Reservation => (asked.input, asked.limit, true),
        };
        self.calls += 1;
        self.estimates += u64::from(estimate);
        let Some(cost) = cost(&asked.entry, input, output) else {
            self.unpriced += 1;
            return;
        };
        let currency = asked.entry.price.as_ref().map(|price| price.currency.code().to_owned());
        let currency = currency.expect("a cost has a currency");
        *self.ours.entry(currency.clone()).or_default() += cost;
        let reserved = cost_reserved(asked);
        *self.overspent.entry(asked.workflow).or_default() += (cost - reserved).max(0);
        if estimate {
            *self.estimated.entry(currency).or_default() += cost;
        }
    }
}

fn cost_reserved(asked: &Asked) -> i128 {
    cost(&asked.entry, asked.input, asked.limit).unwrap_or(0)
}

/// The price is per million tokens, and exact for one.
fn cost(entry: &ModelEntry, input: u64, output: u64) -> Option<i128> {
    let base = &entry.price.as_ref()?.base;
    Some((base.input * i128::from(input) + base.output * i128::from(output)) / 1_000_000)
}

/// A decimal of the server's ledger, in pico and the parts of a pico that it has no more of.
pub(crate) fn pico(decimal: &str) -> i128 {
    let (whole, part) = decimal.split_once('.').expect("the ledger prints decimals");
    let part = format!("{part:0<18}");
    let atto = |digits: &str| digits.parse::<i128>().expect("digits");
    (atto(whole) * 1_000_000_000_000_000_000 + atto(&part)) / 1_000_000
}
