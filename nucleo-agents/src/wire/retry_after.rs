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
    let text = |name: &str| {
        headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::trim)
    };
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
    let Some(whole_ns) = whole
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit_ns))
    else {
        return Some(Span::MAX);
    };
    // Eighteen decimals fit in 128 bits with any unit; what follows can only round up.
    let kept = &part[..part.len().min(18)];
    let scaled = format!("{kept:0<18}").parse::<u128>().ok()? * u128::from(unit_ns);
    let part_ns = u64::try_from(scaled.div_ceil(10_u128.pow(18))).ok()?;
    Some(Span::from_nanos(whole_ns).saturating_add(Span::from_nanos(part_ns)))
}

fn until(text: &str, now: SystemTime) -> Option<Span> {
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).map_or(Span::ZERO, Span::from))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn ask(pairs: &[(&'static str, &str)]) -> Option<Span> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        // Sun, 06 Nov 1994 08:49:37 GMT
        retry_after(
            &headers,
            SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777),
        )
    }

    #[test]
    fn every_form_is_read() {
        let plain = |text: &str| ask(&[("retry-after", text)]);
        for (text, wait) in [
            ("3", Some(Span::from_secs(3))),
            (" 3 ", Some(Span::from_secs(3))),
            ("0", Some(Span::ZERO)),
            ("0.25", Some(Span::from_millis(250))),
            ("86400", Some(Span::from_secs(86_400))),
            ("99999999999999999999", Some(Span::MAX)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(Span::from_secs(10))),
            ("Sunday, 06-Nov-94 08:49:47 GMT", Some(Span::from_secs(10))),
            ("Sun Nov  6 08:49:47 1994", Some(Span::from_secs(10))),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(Span::ZERO)),
            ("soon", None),
            ("-1", None),
            ("1e3", None),
            ("3s", None),
            ("", None),
            (".5", None),
            ("5.", None),
        ] {
            assert_eq!(plain(text), wait, "{text}");
        }
        assert_eq!(ask(&[]), None);
    }

    #[test]
    fn milliseconds_are_read_and_the_longer_wait_is_kept() {
        let both = |plain, millis| ask(&[("retry-after", plain), ("retry-after-ms", millis)]);
        assert_eq!(
            ask(&[("retry-after-ms", "1500")]),
            Some(Span::from_millis(1_500))
        );
        assert_eq!(
            ask(&[("retry-after-ms", "0.0000001")]),
            Some(Span::from_nanos(1))
        );
        assert_eq!(both("3", "1500"), Some(Span::from_secs(3)));
        assert_eq!(both("1", "1500"), Some(Span::from_millis(1_500)));
        assert_eq!(both("soon", "1500"), Some(Span::from_millis(1_500)));
        assert_eq!(both("2", "later"), Some(Span::from_secs(2)));
    }
}
