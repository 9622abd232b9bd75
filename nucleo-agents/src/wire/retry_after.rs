//! How long a server asks to wait: `Retry-After` and `retry-after-ms`.
//!
//! Invariants: garbage counts as absent; zero, and a date that has passed, mean at once; a span is
//! rounded up, never shortened; when both headers speak, the longer wait is kept, for each is a
//! floor.
//!
//! Not here: what is done about it (an account's `not_before`, the pause: `nucleo-harness`).

use std::time::SystemTime;

use http::HeaderMap;
use nucleo_core::Span;

/// Tells the time of day.
pub type WallClock = fn() -> SystemTime;

/// The wait these headers ask for, counted from `now` where they name a date.
///
/// ```
/// use std::time::SystemTime;
/// use nucleo_agents::wire::retry_after;
/// use nucleo_core::Span;
///
/// let mut headers = http::HeaderMap::new();
/// headers.insert("retry-after", "3".parse().unwrap());
/// assert_eq!(retry_after(&headers, SystemTime::UNIX_EPOCH), Some(Span::from_secs(3)));
/// ```
#[must_use]
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Span> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let millis = text("retry-after-ms").and_then(|text| decimal(text, NANOS_A_MILLISECOND));
    let plain = text("retry-after")
        .and_then(|text| decimal(text, NANOS_A_SECOND).or_else(|| until(text, now)));
    plain.max(millis)
}

const NANOS_A_MILLISECOND: u64 = 1_000_000;
pub(super) const NANOS_A_SECOND: u64 = 1_000_000_000;

/// A plain decimal number of units, rounded up to the nanosecond; a number past all time is
/// [`Span::MAX`], which every caller treats as too long to wait.
pub(super) fn decimal(text: &str, unit_ns: u64) -> Option<Span> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || text.ends_with('.') {
        return None;
    }
    let Some(whole_ns) = whole.parse::<u64>().ok().and_then(|n| n.checked_mul(unit_ns)) else {
        return Some(Span::MAX);
    };
    // Eighteen decimals fit in 128 bits with any unit; what follows can only round up.
    let (kept, more) = part.split_at(part.len().min(18));
    let scaled = format!("{kept:0<18}").parse::<u128>().ok()? * u128::from(unit_ns);
    let scaled = scaled + u128::from(more.bytes().any(|digit| digit != b'0'));
    let part_ns = u64::try_from(scaled.div_ceil(10_u128.pow(18))).ok()?;
    Some(Span::from_nanos(whole_ns).saturating_add(Span::from_nanos(part_ns)))
}

fn until(text: &str, now: SystemTime) -> Option<Span> {
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).map_or(Span::ZERO, Span::from))
}

#[cfg(test)]
#[path = "retry_after_tests.rs"]
mod tests;
