//! Faults on request: which, and when.
//!
//! Invariants: what a fault costs is stated with it; random faults are drawn from the seed and the
//! number of the request in order of arrival, so that a repeat of a request may fare better.
//!
//! Not here: playing them (`engine`, `serving`).

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// 429, with `retry-after` in milliseconds if given. Costs nothing.
    RateLimit {
        /// What `retry-after-ms` says.
        retry_after_ms: Option<u64>,
    },
    /// 429 with the code `insufficient_quota`. Costs nothing.
    OutOfCredit,
    /// 529. Costs nothing.
    Overloaded,
    /// 500. Costs nothing.
    ServerError,
    /// 503 whose body says overload. Costs nothing.
    Unavailable,
    /// The connection closes without an answer. Costs nothing.
    Reset,
    /// A web page with status 200. Costs nothing.
    WebPage,
    /// The request is taken and never answered, until the client goes. Costs its input.
    Silent,
    /// The head comes, then nothing, until the client goes. Costs its input.
    Stall,
    /// The answer breaks off half-way. Costs input and the output until there.
    Truncate,
    /// A whole answer that does not say what it used. Costs all of it.
    MissingUsage,
    /// A body cut in the middle of its JSON, as if it were whole. Costs all of it.
    MalformedJson,
    /// Usage twice what it was, in the answer and on the bill.
    DoubledUsage,
}

/// When a fault happens.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// To the first so many requests.
    First(u64),
    /// To so many of a million, at random.
    PerMillion(u32),
    /// To requests in whose last message this text occurs.
    Marker(Box<str>),
    /// To the first so many of those.
    FirstMarked {
        /// The text.
        marker: Box<str>,
        /// How many.
        times: u64,
    },
}

/// A fault and when it happens.
///
/// ```
/// use nucleo_agents::providers::loopback::{Fault, FaultRule, When};
/// let rule = FaultRule::new(When::Marker("[reset]".into()), Fault::Reset);
/// # let _ = rule;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    when: When,
    fault: Fault,
}

impl FaultRule {
    /// The rule that `fault` happens `when`.
    #[must_use]
    pub const fn new(when: When, fault: Fault) -> Self {
        Self { when, fault }
    }
}

/// The rules with what they have counted so far.
#[derive(Debug)]
pub(super) struct FaultDeck {
    rules: Vec<(FaultRule, u64)>,
    seed: u64,
    arrivals: u64,
}

impl FaultDeck {
    pub(super) fn new(rules: &[FaultRule], seed: u64) -> Self {
        Self { rules: rules.iter().map(|rule| (rule.clone(), 0)).collect(), seed, arrivals: 0 }
    }

    pub(super) fn reset(&mut self) {
        self.arrivals = 0;
        self.rules.iter_mut().for_each(|(_, played)| *played = 0);
    }

    /// The fault of the next request, whose last message is `text`; and the request's number.
    pub(super) fn draw(&mut self, text: &str) -> (u64, Option<Fault>) {
        self.arrivals += 1;
        let (seed, number) = (self.seed, self.arrivals);
        for (place, (rule, played)) in self.rules.iter_mut().enumerate() {
            let applies = match &rule.when {
                When::First(times) => *played < *times,
                When::PerMillion(rate) => {
                    let mixed = (number ^ ((place as u64 + 1) << 48)).wrapping_mul(ODD);
                    fastrand::Rng::with_seed(seed ^ mixed).u32(0..1_000_000) < *rate
                }
                When::Marker(marker) => text.contains(&**marker),
                When::FirstMarked { marker, times } => *played < *times && text.contains(&**marker),
            };
            if applies {
                *played += 1;
                return (number, Some(rule.fault));
            }
        }
        (number, None)
    }
}

/// An odd constant (the golden ratio in 64 bits) spreads consecutive numbers over all bits.
pub(super) const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_rates() {
        let rules = [
            FaultRule::new(When::First(2), Fault::ServerError),
            FaultRule::new(When::FirstMarked { marker: "[a]".into(), times: 1 }, Fault::Reset),
            FaultRule::new(When::Marker("[b]".into()), Fault::Stall),
        ];
        let mut deck = FaultDeck::new(&rules, 1);
        let texts = ["x", "[a]", "[a] now", "[a] again", "[b]", "x", "[b]"];
        let drawn: Vec<_> = texts.iter().map(|text| deck.draw(text).1).collect();
        let (error, reset, stall) = (Fault::ServerError, Fault::Reset, Fault::Stall);
        let script = [Some(error), Some(error), Some(reset), None, Some(stall), None, Some(stall)];
        assert_eq!(drawn, script);
        deck.reset();
        assert_eq!(deck.draw("x"), (1, Some(error)));
        let mut deck =
            FaultDeck::new(&[FaultRule::new(When::PerMillion(100_000), Fault::Reset)], 5);
        let hit = (0..10_000).filter(|_| deck.draw("").1.is_some()).count();
        assert!((800..1_200).contains(&hit), "{hit}");
    }
}
