//! The rules of a server's faults, with what they have counted so far.
//!
//! Invariants: the first rule that applies decides; random faults are drawn from the seed, the
//! rule's place and the number of the request in order of arrival, so that a repeat of a request may
//! fare better, and a repeat of a run does not fare otherwise.
//!
//! Not here: what the rules are (`fault`), playing a fault (`injected`, `serving`, `flow`).

use super::fault::{Fault, FaultRule, When};

/// A request as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    /// What it calls its model.
    pub(super) model: &'a str,
    /// Its last message.
    pub(super) text: &'a str,
    /// Since the server's start, or since it was last reset.
    pub(super) at_ms: u64,
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
        self.rules.iter_mut().for_each(|(_, drawn)| *drawn = 0);
    }

    /// The fault of the request that arrives next, and its number.
    pub(super) fn draw(&mut self, arrival: Arrival<'_>) -> (u64, Option<Fault>) {
        self.arrivals += 1;
        let (seed, number) = (self.seed, self.arrivals);
        for (place, (rule, drawn)) in self.rules.iter_mut().enumerate() {
            let meant = rule.model.as_ref().is_none_or(|model| **model == *arrival.model);
            // Each rule and each request has a draw of its own, used or not.
            let draw = || {
                let mixed = (number ^ ((place as u64 + 1) << 48)).wrapping_mul(ODD);
                fastrand::Rng::with_seed(seed ^ mixed).u32(0..1_000_000)
            };
            if meant && rule.when.applies(arrival, number, *drawn, draw) {
                *drawn += 1;
                return (number, Some(rule.fault));
            }
        }
        (number, None)
    }
}

impl When {
    fn applies(
        &self,
        arrival: Arrival<'_>,
        number: u64,
        drawn: u64,
        draw: impl Fn() -> u32,
    ) -> bool {
        match self {
            Self::First(times) => drawn < *times,
            Self::Numbers(numbers) => numbers.contains(&number),
            Self::Every(n) => number.is_multiple_of(n.get()),
            Self::During { from_ms, to_ms } => (*from_ms..*to_ms).contains(&arrival.at_ms),
            Self::PerMillion(rate) => draw() < *rate,
            Self::Marker(marker) => arrival.text.contains(&**marker),
            Self::FirstMarked { marker, times } => {
                drawn < *times && arrival.text.contains(&**marker)
            }
        }
    }
}

/// An odd constant (the golden ratio in 64 bits) spreads consecutive numbers over all bits.
pub(super) const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    fn says(text: &str) -> Arrival<'_> {
        Arrival { model: "m", text, at_ms: 0 }
    }

    fn deck(rules: &[(When, Fault)]) -> FaultDeck {
        let rules: Vec<_> =
            rules.iter().map(|(when, fault)| FaultRule::new(when.clone(), *fault)).collect();
        FaultDeck::new(&rules, 5)
    }

    #[test]
    fn scripts_and_rates() {
        let mut scripted = deck(&[
            (When::First(2), Fault::ServerError),
            (When::FirstMarked { marker: "[a]".into(), times: 1 }, Fault::Reset),
            (When::Marker("[b]".into()), Fault::Stall),
        ]);
        let texts = ["x", "[a]", "[a] now", "[a] again", "[b]", "x", "[b]"];
        let drawn: Vec<_> = texts.iter().map(|text| scripted.draw(says(text)).1).collect();
        let (error, reset, stall) = (Fault::ServerError, Fault::Reset, Fault::Stall);
        let script = [Some(error), Some(error), Some(reset), None, Some(stall), None, Some(stall)];
        assert_eq!(drawn, script);
        scripted.reset();
        assert_eq!(scripted.draw(says("x")), (1, Some(error)));
        let mut random = deck(&[(When::PerMillion(100_000), Fault::Reset)]);
        let hit = (0..10_000).filter(|_| random.draw(says("")).1.is_some()).count();
        assert!((800..1_200).contains(&hit), "{hit}");
    }

    #[test]
    fn numbers_and_every_nth() {
        let third = NonZeroU64::new(3).unwrap();
        let mut deck = deck(&[
            (When::Numbers([2, 3, 7].into()), Fault::Reset),
            (When::Every(third), Fault::ServerError),
        ]);
        let drawn: String = (0..9)
            .map(|_| match deck.draw(says("")).1 {
                Some(Fault::Reset) => 'r',
                Some(_) => 'e',
                None => '.',
            })
            .collect();
        assert_eq!(drawn, ".rr..er.e", "the first rule that applies decides");
    }

    #[test]
    fn a_window_has_its_first_millisecond_and_not_its_last() {
        let mut deck = deck(&[(When::During { from_ms: 100, to_ms: 200 }, Fault::Reset)]);
        for (at_ms, hit) in [(0, false), (99, false), (100, true), (199, true), (200, false)] {
            let drawn = deck.draw(Arrival { model: "m", text: "", at_ms });
            assert_eq!(drawn.1.is_some(), hit, "{at_ms}");
        }
    }

    #[test]
    fn a_rule_of_one_model_leaves_the_others_alone() {
        let rule = FaultRule::new(When::First(1), Fault::Reset).model("m");
        let mut deck = FaultDeck::new(&[rule], 1);
        let other = Arrival { model: "other", text: "", at_ms: 0 };
        assert_eq!(deck.draw(other), (1, None));
        assert_eq!(deck.draw(says("")), (2, Some(Fault::Reset)));
        assert_eq!(deck.draw(says("")), (3, None));
    }

    #[test]
    fn draws_depend_on_seed_place_and_number_alone() {
        let rate =
            |other| deck(&[(other, Fault::Stall), (When::PerMillion(300_000), Fault::Reset)]);
        let resets = |mut deck: FaultDeck| -> Vec<bool> {
            (0..200).map(|_| deck.draw(says("x")).1 == Some(Fault::Reset)).collect()
        };
        let alone = resets(rate(When::First(0)));
        assert_eq!(alone, resets(rate(When::Marker("[never]".into()))));
        let some = resets(rate(When::Numbers([5, 50].into())));
        let differ: Vec<_> = (0..200).filter(|n| alone[*n] != some[*n]).collect();
        assert!(differ.iter().all(|n| [4, 49].contains(n)), "{differ:?}");
    }
}
