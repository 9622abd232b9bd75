//! Usage on the wire, put together and taken apart into disjoint kinds.
//!
//! Input, cache writes and cache reads are disjoint there as they are here; thinking lies inside of
//! the output. In a stream the first report tells the input and later ones the output so far, some of
//! them the input anew: each is a running total of what it names.
//!
//! Invariants: each token is counted once; nothing underflows; what was not reported, and a report of
//! nothing at all, is `None`: unknown is never zero. A cache that is not mentioned was not used.
//!
//! Not here: what it costs (`nucleo_core::spend`).

use nucleo_core::Usage;
use serde::Deserialize;

use crate::providers::over_http::{Count, lenient};

/// The `usage` object; every field may be absent, and a malformed number counts as absent.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageWire {
    input_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    output_tokens: Count,
    #[serde(deserialize_with = "lenient")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Count,
}

impl UsageWire {
    /// The same with what `later` says in place of what was said before.
    pub(super) fn with(self, later: Self) -> Self {
        let last = |before: Count, after: Count| Count(after.0.or(before.0));
        Self {
            input_tokens: last(self.input_tokens, later.input_tokens),
            cache_creation_input_tokens: last(
                self.cache_creation_input_tokens,
                later.cache_creation_input_tokens,
            ),
            cache_read_input_tokens: last(
                self.cache_read_input_tokens,
                later.cache_read_input_tokens,
            ),
            output_tokens: last(self.output_tokens, later.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }

    /// The same in disjoint kinds; `None` when it does not name both input and output.
    pub(super) fn disjoint(self) -> Option<Usage> {
        let (input, output) = (self.input_tokens.0?, self.output_tokens.0?);
        let thinking = self.output_tokens_details.and_then(|details| details.thinking_tokens.0);
        // More thinking than output can't be: then it is not known which part it was.
        let reasoning = thinking.filter(|thinking| *thinking <= output).unwrap_or(0);
        let usage = Usage {
            input,
            cache_write: self.cache_creation_input_tokens.0.unwrap_or(0),
            cache_read: self.cache_read_input_tokens.0.unwrap_or(0),
            output: output.saturating_sub(reasoning),
            reasoning,
        };
        (usage != Usage::default()).then_some(usage)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wire(usage: &Value) -> UsageWire {
        serde_json::from_value(usage.clone()).unwrap()
    }

    fn read(usage: UsageWire) -> Option<[u64; 5]> {
        let u = usage.disjoint()?;
        Some([u.input, u.cache_write, u.cache_read, u.output, u.reasoning])
    }

    #[test]
    fn kinds_are_disjoint_and_thinking_lies_in_the_output() {
        for (usage, kinds) in [
            (json!({"input_tokens": 20, "output_tokens": 5}), [20, 0, 0, 5, 0]),
            (
                json!({"input_tokens": 20, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 4000,
                    "cache_creation": {"ephemeral_5m_input_tokens": 300}, "output_tokens": 90,
                    "output_tokens_details": {"thinking_tokens": 60}, "service_tier": "standard"}),
                [20, 300, 4000, 30, 60],
            ),
            (
                json!({"input_tokens": 0, "cache_read_input_tokens": 7, "output_tokens": 0}),
                [0, 0, 7, 0, 0],
            ),
            (
                json!({"input_tokens": 2.0, "cache_read_input_tokens": null, "output_tokens": 9,
                    "output_tokens_details": {"thinking_tokens": 10}}),
                [2, 0, 0, 9, 0],
            ),
            (
                json!({"input_tokens": 2, "output_tokens": 9, "output_tokens_details": "many"}),
                [2, 0, 0, 9, 0],
            ),
        ] {
            assert_eq!(read(wire(&usage)), Some(kinds), "{usage}");
        }
    }

    #[test]
    fn unknown_is_never_zero() {
        for usage in [
            json!({}),
            json!({"input_tokens": 5}),
            json!({"output_tokens": 5}),
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": "5", "output_tokens": 5}),
            json!({"input_tokens": -5, "output_tokens": 5}),
            json!({"input_tokens": null, "output_tokens": 5.5}),
        ] {
            assert_eq!(read(wire(&usage)), None, "{usage}");
        }
    }

    #[test]
    fn later_reports_replace_what_they_name() {
        let first =
            wire(&json!({"input_tokens": 20, "cache_read_input_tokens": 7, "output_tokens": 1}));
        let second = first.with(wire(&json!({"output_tokens": 15})));
        assert_eq!(read(second), Some([20, 0, 7, 15, 0]));
        let third = second.with(wire(&json!({"input_tokens": 520, "output_tokens": 40,
            "cache_read_input_tokens": null, "output_tokens_details": {"thinking_tokens": 9}})));
        assert_eq!(read(third), Some([520, 0, 7, 31, 9]));
    }
}
