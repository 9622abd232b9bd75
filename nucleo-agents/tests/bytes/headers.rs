//! What headers say of waits and limits, and what is no address or key: a value or nothing, never
//! less than was asked.
//!
//! The bytes are header lines, `name: value`.

use http::{HeaderMap, HeaderName, HeaderValue};
use nucleo_agents::providers::openai::OpenAiConfig;
use nucleo_agents::wire::{LimitFacts, ServerSaid, retry_after};
use nucleo_core::Span;

pub(crate) fn check(bytes: &[u8]) {
    let now = httpdate::parse_http_date(NOW).expect("a date");
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default().trim_ascii();
        let name = HeaderName::from_bytes(&line[..colon]);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
        check_text(&String::from_utf8_lossy(line));
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let waits = [("retry-after", 1_000_000_000), ("retry-after-ms", 1_000_000)];
    let asked =
        waits.map(|(name, unit_ns)| text(name).and_then(|text| nanos(text.trim(), unit_ns)));
    let read = retry_after(&headers, now);
    for asked in asked.into_iter().flatten() {
        assert!(read >= Some(asked), "{read:?} is less than {asked:?}: {headers:?}");
    }
    if let [Some(asked), None] | [None, Some(asked)] = asked
        && (text("retry-after").is_none() || text("retry-after-ms").is_none())
    {
        assert_eq!(read, Some(asked), "{headers:?}");
    }
    let facts = LimitFacts::read(&headers, now);
    let number = |name: &str| text(name).and_then(|text| text.trim().parse().ok());
    let requests = facts.requests.unwrap_or_default();
    assert_eq!(requests.limit, number("x-ratelimit-limit-requests"));
    assert_eq!(requests.remaining, number("x-ratelimit-remaining-requests"));
    check_reset(bytes);
}

const NOW: &str = "Thu, 01 Jan 2026 00:00:00 GMT";

/// A decimal of at most 19 + 18 digits as nanoseconds, rounded up.
fn nanos(text: &str, unit_ns: u64) -> Option<Span> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |s: &str| !s.is_empty() && s.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(part) || whole.len() > 19 || part.len() > 18 {
        return None;
    }
    let unit = u128::from(unit_ns);
    let scale = 10_u128.pow(u32::try_from(part.len()).ok()?);
    let whole = whole.parse::<u128>().ok()? * unit;
    let ns = whole + (part.parse::<u128>().ok()? * unit).div_ceil(scale);
    Some(Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
}

/// A span in hours, minutes and seconds is read as that span, to the nanosecond.
fn check_reset(bytes: &[u8]) {
    let mut first = [0; 8];
    first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let ns = u64::from_le_bytes(first);
    let (seconds, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let text = format!("{hours}h{minutes}m{rest}.{part:09}s");
    let mut headers = HeaderMap::new();
    headers.insert("x-ratelimit-reset-tokens", text.parse().expect("plain text"));
    let tokens = LimitFacts::read(&headers, httpdate::parse_http_date(NOW).expect("a date"))
        .tokens
        .expect("it was told");
    assert_eq!(tokens.resets_in, Some(Span::from_nanos(ns)), "{text}");
}

/// The same line as an address, as a key, and as a server's words.
fn check_text(text: &str) {
    match OpenAiConfig::new(text) {
        Ok(config) => {
            let again = OpenAiConfig::new(&config.endpoint()).expect("an endpoint is an address");
            assert_eq!(again.endpoint(), config.endpoint(), "{text}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let config = OpenAiConfig::new("http://any/v1").expect("an address");
    // Shorter ones stand in any sentence.
    if let (Ok(config), 12..) = (config.api_key(text.into()), text.trim().len()) {
        assert!(!format!("{config:?}").contains(text.trim()), "{config:?}");
    }
    let said = ServerSaid::new(text);
    assert!(said.as_str().chars().count() <= ServerSaid::CHARS_MAX + 1);
    assert!(!said.as_str().contains(char::is_control), "{said:?}");
}
