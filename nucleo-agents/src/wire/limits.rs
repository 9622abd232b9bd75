//! What rate-limit headers say, as plain numbers.
//!
//! Read are `x-ratelimit-limit-D`, `-remaining-D` and `-reset-D` with D one of `requests`,
//! `tokens`, `input-tokens`, `output-tokens`. A reset is a span such as `1h2m3.5s` or `120ms`, or a
//! plain number of seconds. Where these say nothing of a dimension, `anthropic-ratelimit-D-limit`,
//! `-remaining` and `-reset` do, whose resets are RFC 3339 dates; not of `tokens`, which there means
//! whichever limit is the tightest at the moment.
//!
//! Invariants: what can't be read is absent; nothing is derived.
//!
//! Not here: what follows. A limit sets a capacity, a remaining may only lower a level: that is the
//! account's rule (`nucleo_core::limits`).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use jiff::Timestamp;
use nucleo_core::Span;

use super::retry_after::decimal;

/// The four dimensions a provider may speak of.
///
/// ```
/// use nucleo_agents::wire::LimitFacts;
/// let mut headers = http::HeaderMap::new();
/// headers.insert("x-ratelimit-limit-requests", "60".parse().unwrap());
/// let facts = LimitFacts::read(&headers, std::time::SystemTime::UNIX_EPOCH);
/// assert_eq!(facts.requests.unwrap().limit, Some(60));
/// assert_eq!(facts.tokens, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitFacts {
    /// Requests.
    pub requests: Option<LimitFact>,
    /// Tokens, input and output together.
    pub tokens: Option<LimitFact>,
    /// Input tokens alone.
    pub input_tokens: Option<LimitFact>,
    /// Output tokens alone.
    pub output_tokens: Option<LimitFact>,
}

/// One dimension of a quota, as the provider states it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitFact {
    /// The most there ever is, a period.
    pub limit: Option<u64>,
    /// What is left now.
    pub remaining: Option<u64>,
    /// When it is all there again.
    pub resets_in: Option<Span>,
}

impl LimitFacts {
    /// What `headers` say; `now` is what a reset that is a date is counted from.
    #[must_use]
    pub fn read(headers: &HeaderMap, now: SystemTime) -> Self {
        let either = |spans, dates| {
            LimitFact::read(headers, spans, span)
                .or_else(|| LimitFact::read(headers, dates, |text| until(text, now)))
        };
        Self {
            requests: either(REQUESTS, REQUESTS_DATED),
            tokens: LimitFact::read(headers, TOKENS, span),
            input_tokens: either(INPUT_TOKENS, INPUT_TOKENS_DATED),
            output_tokens: either(OUTPUT_TOKENS, OUTPUT_TOKENS_DATED),
        }
    }
}

type Names = [&'static str; 3];

const REQUESTS: Names =
    ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"];
const TOKENS: Names =
    ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"];
const INPUT_TOKENS: Names = [
    "x-ratelimit-limit-input-tokens",
    "x-ratelimit-remaining-input-tokens",
    "x-ratelimit-reset-input-tokens",
];
const OUTPUT_TOKENS: Names = [
    "x-ratelimit-limit-output-tokens",
    "x-ratelimit-remaining-output-tokens",
    "x-ratelimit-reset-output-tokens",
];

const REQUESTS_DATED: Names = [
    "anthropic-ratelimit-requests-limit",
    "anthropic-ratelimit-requests-remaining",
    "anthropic-ratelimit-requests-reset",
];
const INPUT_TOKENS_DATED: Names = [
    "anthropic-ratelimit-input-tokens-limit",
    "anthropic-ratelimit-input-tokens-remaining",
    "anthropic-ratelimit-input-tokens-reset",
];
const OUTPUT_TOKENS_DATED: Names = [
    "anthropic-ratelimit-output-tokens-limit",
    "anthropic-ratelimit-output-tokens-remaining",
    "anthropic-ratelimit-output-tokens-reset",
];

impl LimitFact {
    fn read(
        headers: &HeaderMap,
        [limit, remaining, reset]: Names,
        resets_in: impl Fn(&str) -> Option<Span>,
    ) -> Option<Self> {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let number = |name| text(name).and_then(|text| text.parse().ok());
        let fact = Self {
            limit: number(limit),
            remaining: number(remaining),
            resets_in: text(reset).and_then(resets_in),
        };
        (fact != Self::default()).then_some(fact)
    }
}

/// A sequence of numbers with units, `1h2m3.5s`, or one number of seconds.
fn span(text: &str) -> Option<Span> {
    let mut rest = text;
    let mut total = Span::ZERO;
    loop {
        let number_ends =
            rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_ends);
        let unit_ends = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_ends);
        total = total.saturating_add(decimal(number, unit_ns(unit)?)?);
        if after.is_empty() {
            return Some(total);
        }
        rest = after;
    }
}

/// The span from `now` to an RFC 3339 date; one that has passed is at once.
fn until(text: &str, now: SystemTime) -> Option<Span> {
    let (at, now) = (text.parse::<Timestamp>().ok()?, Timestamp::try_from(now).ok()?);
    let left = Duration::try_from(at.duration_since(now));
    Some(left.map_or(Span::ZERO, Span::from))
}

fn unit_ns(unit: &str) -> Option<u64> {
    const SECOND: u64 = super::retry_after::NANOS_A_SECOND;
    Some(match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" | "" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" => 86_400 * SECOND,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_every_form() {
        for (text, ms) in [
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("120ms", Some(120)),
            ("1h2m3.5s", Some(3_723_500)),
            ("2d", Some(172_800_000)),
            ("7.66s", Some(7_660)),
            ("12", Some(12_000)),
            ("", None),
            ("soon", None),
            ("-3s", None),
            ("3 s", None),
            ("1.2.3s", None),
        ] {
            assert_eq!(span(text), ms.map(Span::from_millis), "{text}");
        }
    }

    #[test]
    fn garbage_is_absent() {
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-limit-tokens", "many".parse().unwrap());
        headers.insert("x-ratelimit-remaining-requests", "0".parse().unwrap());
        let facts = LimitFacts::read(&headers, SystemTime::UNIX_EPOCH);
        assert_eq!(facts.tokens, None);
        assert_eq!(facts.requests.unwrap().remaining, Some(0));
    }

    #[test]
    fn resets_that_are_dates_count_from_the_servers_clock() {
        let now = httpdate::parse_http_date("Fri, 01 May 2026 12:00:00 GMT").unwrap();
        for (reset, ms) in [
            ("2026-05-01T12:00:30Z", Some(30_000)),
            ("2026-05-01T12:00:00.250Z", Some(250)),
            ("2026-05-01T14:01:00+02:00", Some(60_000)),
            ("2026-05-01T11:59:59Z", Some(0)),
            ("2026-05-01 12:00", None),
            ("30s", None),
            ("soon", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("anthropic-ratelimit-input-tokens-limit", "40000".parse().unwrap());
            headers.insert("anthropic-ratelimit-input-tokens-remaining", "39000".parse().unwrap());
            headers.insert("anthropic-ratelimit-input-tokens-reset", reset.parse().unwrap());
            headers.insert("anthropic-ratelimit-tokens-limit", "48000".parse().unwrap());
            let facts = LimitFacts::read(&headers, now);
            let resets_in = ms.map(Span::from_millis);
            let fact = LimitFact { limit: Some(40_000), remaining: Some(39_000), resets_in };
            assert_eq!(facts.input_tokens, Some(fact), "{reset}");
            assert_eq!((facts.requests, facts.tokens, facts.output_tokens), (None, None, None));
        }
    }
}
