//! Usage on the wire, taken apart into disjoint kinds.
//!
//! The wire's totals contain their parts: `cached_tokens` lies inside `prompt_tokens`,
//! `reasoning_tokens` inside `completion_tokens`. Some servers report the parts beside the totals
//! instead. Which of the two a report is follows from its own `total_tokens`; without one, from
//! whether the part can lie inside at all.
//!
//! Invariants: each token is counted once; nothing underflows; what was not reported, and a report
//! of nothing at all, is `None`: unknown is never zero.
//!
//! Not here: what it costs (`nucleo_core::spend`).

use nucleo_core::Usage;
use serde::Deserialize;

use crate::providers::over_http::Count;

/// The `usage` object; every field may be absent, and a malformed number counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageWire {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
    /// Where some servers put what others call `cached_tokens`.
    prompt_cache_hit_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Count,
}

impl UsageWire {
    /// The same in disjoint kinds; `None` when the report does not name both totals.
    pub(super) fn disjoint(&self) -> Option<Usage> {
        let (prompt, completion) = (self.prompt_tokens.0?, self.completion_tokens.0?);
        if prompt == 0 && completion == 0 {
            return None;
        }
        let input = self.prompt_tokens_details.as_ref();
        let read = input
            .and_then(|details| details.cached_tokens.0)
            .or(self.prompt_cache_hit_tokens.0)
            .unwrap_or(0);
        let write = input.and_then(|details| details.cache_write_tokens.0).unwrap_or(0);
        let output = self.completion_tokens_details.as_ref();
        let reasoning = output.and_then(|details| details.reasoning_tokens.0).unwrap_or(0);
        let cached = read.checked_add(write)?;
        // What the total has beyond the two sums is what was reported beside them.
        let beside = self
            .total_tokens
            .0
            .and_then(|total| total.checked_sub(prompt.checked_add(completion)?));
        let both = cached.checked_add(reasoning)?;
        Some(Usage {
            input: apart(prompt, cached, beside, [cached, both]),
            cache_write: write,
            cache_read: read,
            output: apart(completion, reasoning, beside, [reasoning, both]),
            reasoning,
        })
    }
}

/// `total` without `part`, unless `part` was reported beside it.
fn apart(total: u64, part: u64, beside: Option<u64>, when_beside: [u64; 2]) -> u64 {
    let told_beside = part > 0 && beside.is_some_and(|beside| when_beside.contains(&beside));
    if told_beside { total } else { total.checked_sub(part).unwrap_or(total) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(usage: Value) -> Option<[u64; 5]> {
        let wire: UsageWire = serde_json::from_value(usage).unwrap();
        let u = wire.disjoint()?;
        Some([u.input, u.cache_write, u.cache_read, u.output, u.reasoning])
    }

    #[test]
    fn parts_inside_their_totals() {
        let usage = json!({"prompt_tokens": 2000, "completion_tokens": 300, "total_tokens": 2300,
            "prompt_tokens_details": {"cached_tokens": 500, "cache_write_tokens": 300, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 250}});
        assert_eq!(read(usage), Some([1200, 300, 500, 50, 250]));
        let without_total = json!({"prompt_tokens": 20, "completion_tokens": 30, "prompt_cache_hit_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 30}});
        assert_eq!(read(without_total), Some([15, 0, 5, 0, 30]));
    }

    #[test]
    fn parts_beside_their_totals() {
        let by_total = json!({"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 60,
            "completion_tokens_details": {"reasoning_tokens": 10}});
        assert_eq!(read(by_total), Some([20, 0, 0, 30, 10]));
        let too_large = json!({"prompt_tokens": 20, "completion_tokens": 3,
            "completion_tokens_details": {"reasoning_tokens": 10}});
        assert_eq!(read(too_large), Some([20, 0, 0, 3, 10]), "it cannot lie inside");
        let cached = json!({"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 123,
            "prompt_tokens_details": {"cached_tokens": 100}});
        assert_eq!(read(cached), Some([20, 0, 100, 3, 0]));
        let both = json!({"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 65,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 10}});
        assert_eq!(read(both), Some([20, 0, 5, 30, 10]));
    }

    #[test]
    fn unknown_is_never_zero() {
        for usage in [
            json!({}),
            json!({"prompt_tokens": 5}),
            json!({"completion_tokens": 5}),
            json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
            json!({"prompt_tokens": "5", "completion_tokens": 5}),
            json!({"prompt_tokens": -5, "completion_tokens": 5}),
            json!({"prompt_tokens": 5.5, "completion_tokens": 5}),
            json!({"prompt_tokens": null, "completion_tokens": null}),
        ] {
            assert_eq!(read(usage.clone()), None, "{usage}");
        }
    }

    #[test]
    fn malformed_details_lose_only_themselves() {
        let usage = json!({"prompt_tokens": 5.0, "completion_tokens": 2, "total_tokens": 7,
            "prompt_tokens_details": null, "completion_tokens_details": {"reasoning_tokens": null}});
        assert_eq!(read(usage), Some([5, 0, 0, 2, 0]));
    }
}
