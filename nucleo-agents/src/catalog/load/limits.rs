//! Reads `limits = { … }` and `[quotas.NAME]`.
//!
//! Invariants: every limit is at least 1; a key that could change nothing (a zone without a daily
//! limit, a burst without a clocked one) is a problem, because its author expects something of it.
//!
//! Not here: the accounts made of them (`catalog::limits`), bursts against reservations
//! (`relations`).

use super::NUMBER_MAX;
use super::problems::Problems;
use super::section::{Field, Section, join};
use crate::catalog::limits::{HEADROOM_MS_DEFAULT, ZONE_DEFAULT};
use crate::catalog::{Limits, Rule};

const KEYS: &[&str] = &[
    "requests_per_minute",
    "tokens_per_minute",
    "input_tokens_per_minute",
    "output_tokens_per_minute",
    "requests_per_second",
    "requests_per_day",
    "tokens_per_day",
    "zone",
    "max_concurrent",
    "burst_s",
    "headroom_ms",
];
const CLOCKED: &[&str] = &[
    "requests_per_minute",
    "tokens_per_minute",
    "input_tokens_per_minute",
    "output_tokens_per_minute",
    "requests_per_second",
];
const DAILY: &[&str] = &["requests_per_day", "tokens_per_day"];
/// An hour: no provider lets more of a minute's rate go at once, and products stay in 64 bits.
const BURST_S_MAX: u64 = 3_600;
/// A minute: what takes longer to arrive is lost.
const HEADROOM_MS_MAX: u64 = 60_000;

pub(super) fn read(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Limits> {
    let section = field.table(problems, KEYS)?;
    let mut limit = |key| {
        let field = section.optional(key)?;
        field.number(problems, 1, NUMBER_MAX)
    };
    let mut limits = Limits {
        requests_per_minute: limit("requests_per_minute"),
        tokens_per_minute: limit("tokens_per_minute"),
        input_tokens_per_minute: limit("input_tokens_per_minute"),
        output_tokens_per_minute: limit("output_tokens_per_minute"),
        requests_per_second: limit("requests_per_second"),
        requests_per_day: limit("requests_per_day"),
        tokens_per_day: limit("tokens_per_day"),
        max_concurrent: limit("max_concurrent"),
        zone: ZONE_DEFAULT.into(),
        burst_s: None,
        headroom_ms: HEADROOM_MS_DEFAULT,
    };
    if let Some(field) = section.optional("burst_s") {
        limits.burst_s = field.number(problems, 1, BURST_S_MAX);
    }
    if let Some(field) = section.optional("headroom_ms") {
        limits.headroom_ms =
            field.number(problems, 0, HEADROOM_MS_MAX).unwrap_or(HEADROOM_MS_DEFAULT);
    }
    if let Some(zone) = section.optional("zone").and_then(|field| zone(problems, &field)) {
        limits.zone = zone.into();
    }
    check_effect(problems, &section, &field.path);
    Some(limits)
}

fn check_effect(problems: &mut Problems<'_>, section: &Section<'_>, path: &str) {
    let any = |keys: &[&str]| keys.iter().any(|key| section.optional(key).is_some());
    let clocked = "a limit per minute or second";
    for (key, present, needs) in [
        ("zone", any(DAILY), "a limit per day"),
        ("burst_s", any(CLOCKED), clocked),
        ("headroom_ms", any(CLOCKED), clocked),
    ] {
        if section.optional(key).is_some() && !present {
            problems.push(&join(path, key), Rule::NoEffect { needs });
        }
    }
}

/// A zone's name by its form; whether it exists is looked up where midnights are computed.
fn zone<'a>(problems: &mut Problems<'_>, field: &Field<'a>) -> Option<&'a str> {
    let text = field.text(problems)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-+/".contains(c);
    let sound = text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(allowed)
        && text.split('/').all(|part| !part.is_empty());
    if !sound {
        problems.push(&field.path, Rule::BadZone);
        return None;
    }
    Some(text)
}
