//! Limits of an entry or a quota, and the accounts that mirror them.
//!
//! Invariants: one account per dimension and period; its name is `<owner>.<dimension>`, with the
//! period added unless that is the minute. Our cap on a clocked account is the provider's burst
//! (rate x `burst_s`) less rate x `headroom_ms`, rounded down, for requests at least 1: what leaves
//! here evenly arrives bunched by up to the headroom, and a provider that enforces its burst
//! exactly still never sees it overdrawn. Integers only; the one division comes last.
//!
//! Not here: the accounts themselves (`nucleo_core::limits`), what a request takes from them.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// What a `limits` table or a `[quotas.NAME]` entry says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Limits {
    /// Requests a minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens a minute, input and output together.
    pub tokens_per_minute: Option<u64>,
    /// Input tokens a minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Output tokens a minute.
    pub output_tokens_per_minute: Option<u64>,
    /// Requests a second.
    pub requests_per_second: Option<u64>,
    /// Requests a day.
    pub requests_per_day: Option<u64>,
    /// Tokens a day, input and output together.
    pub tokens_per_day: Option<u64>,
    /// The zone whose midnight refills the daily limits.
    pub zone: Arc<str>,
    /// Requests under way at once.
    pub max_concurrent: Option<u64>,
    /// Seconds of the rate that the provider lets go at once; 60 for a minute's limit and 1 for a
    /// second's when `None`.
    pub burst_s: Option<u64>,
    /// Milliseconds of the rate that we keep off the burst.
    pub headroom_ms: u64,
}

/// What an account counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Requests sent.
    Requests,
    /// Input and output tokens together.
    Tokens,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Requests under way.
    Concurrent,
}

/// The period of a clocked account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// Sixty seconds.
    Minute,
    /// One second.
    Second,
}

/// How an account comes back, and how much it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capacity {
    /// Refills with the clock.
    Clocked {
        /// Units per period.
        rate: u64,
        /// The period.
        period: Period,
        /// The most that may go at once: the provider's burst less our headroom.
        burst: u64,
    },
    /// Refills whole at a zone's midnight.
    Daily {
        /// Units a day.
        quota: u64,
        /// The zone's name.
        zone: Arc<str>,
    },
    /// Comes back when the work ends.
    Permits(u64),
}

/// One account to be opened: its name, what it counts, and how much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AccountSpec {
    /// `<quota or entry>.<dimension>`, as waits, refusals and metrics print it.
    pub name: Arc<str>,
    /// What it counts.
    pub dimension: Dimension,
    /// How much, and how it comes back.
    pub capacity: Capacity,
    /// The catalog's key that asked for it.
    pub limit: &'static str,
}

/// The headroom of entries that state none.
pub(crate) const HEADROOM_MS_DEFAULT: u64 = 100;
/// The zone of entries that state none.
pub(crate) const ZONE_DEFAULT: &str = "UTC";

impl Dimension {
    /// The word used in account names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Tokens => "tokens",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Concurrent => "concurrent",
        }
    }
}

impl Period {
    /// The period in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Second => 1_000,
        }
    }
}

impl Capacity {
    /// The most that one demand may ever ask.
    #[must_use]
    pub const fn most(&self) -> u64 {
        match self {
            Self::Clocked { burst, .. } => *burst,
            Self::Daily { quota, .. } => *quota,
            Self::Permits(permits) => *permits,
        }
    }
}

impl Limits {
    /// The accounts that mirror these limits, named after `owner`, in the order of the fields.
    #[must_use]
    pub fn accounts(&self, owner: &str) -> Vec<AccountSpec> {
        use Dimension::{Concurrent, InputTokens, OutputTokens, Requests, Tokens};
        let clocked = |rate: Option<u64>, dimension, period, limit| {
            let burst = self.burst(rate?, dimension, period);
            let suffix = if period == Period::Second { "_per_second" } else { "" };
            let capacity = Capacity::Clocked { rate: rate?, period, burst };
            Some(spec(owner, dimension, suffix, capacity, limit))
        };
        let daily = |quota: Option<u64>, dimension, limit| {
            let capacity = Capacity::Daily { quota: quota?, zone: Arc::clone(&self.zone) };
            Some(spec(owner, dimension, "_per_day", capacity, limit))
        };
        let permits = self.max_concurrent.map(Capacity::Permits);
        [
            clocked(self.requests_per_minute, Requests, Period::Minute, "requests_per_minute"),
            clocked(self.tokens_per_minute, Tokens, Period::Minute, "tokens_per_minute"),
            clocked(
                self.input_tokens_per_minute,
                InputTokens,
                Period::Minute,
                "input_tokens_per_minute",
            ),
            clocked(
                self.output_tokens_per_minute,
                OutputTokens,
                Period::Minute,
                "output_tokens_per_minute",
            ),
            clocked(self.requests_per_second, Requests, Period::Second, "requests_per_second"),
            daily(self.requests_per_day, Requests, "requests_per_day"),
            daily(self.tokens_per_day, Tokens, "tokens_per_day"),
            permits.map(|capacity| spec(owner, Concurrent, "", capacity, "max_concurrent")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Our cap: floor(rate x (burst_s x 1000 - headroom_ms) / period in ms).
    fn burst(&self, rate: u64, dimension: Dimension, period: Period) -> u64 {
        let burst_ms = self.burst_s.map_or(period.as_millis(), |seconds| seconds * 1_000);
        // A headroom longer than the burst leaves nothing, which is refused where tokens matter.
        let kept_ms = burst_ms.saturating_sub(self.headroom_ms);
        let burst = u128::from(rate) * u128::from(kept_ms) / u128::from(period.as_millis());
        let burst = u64::try_from(burst).expect("the loader bounds rate and burst_s");
        if dimension == Dimension::Requests { burst.max(1) } else { burst }
    }
}

fn spec(
    owner: &str,
    dimension: Dimension,
    suffix: &str,
    capacity: Capacity,
    limit: &'static str,
) -> AccountSpec {
    let name = format!("{owner}.{}{suffix}", dimension.name()).into();
    AccountSpec { name, dimension, capacity, limit }
}

impl fmt::Display for AccountSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = self.dimension.name().replace('_', " ");
        match &self.capacity {
            Capacity::Clocked { rate, period: Period::Minute, .. } => {
                write!(f, "{rate} {counted}/min")
            }
            Capacity::Clocked { rate, period: Period::Second, .. } => {
                write!(f, "{rate} {counted}/s")
            }
            Capacity::Daily { quota, zone } => write!(f, "{quota} {counted}/day ({zone})"),
            Capacity::Permits(permits) => write!(f, "{permits} at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(burst_s: Option<u64>, headroom_ms: u64) -> Limits {
        Limits {
            requests_per_minute: None,
            tokens_per_minute: None,
            input_tokens_per_minute: None,
            output_tokens_per_minute: None,
            requests_per_second: None,
            requests_per_day: None,
            tokens_per_day: None,
            zone: ZONE_DEFAULT.into(),
            max_concurrent: None,
            burst_s,
            headroom_ms,
        }
    }

    #[test]
    fn caps_are_the_burst_less_the_headroom() {
        use Dimension::{Requests, Tokens};
        for (rate, dimension, period, burst_s, headroom_ms, cap) in [
            (60_000, Tokens, Period::Minute, None, 100, 59_900),
            (60_000, Tokens, Period::Minute, Some(1), 100, 900),
            (10_000, Tokens, Period::Minute, None, 100, 9_983),
            (60, Requests, Period::Minute, None, 100, 59),
            (60, Requests, Period::Minute, Some(1), 100, 1),
            (10, Requests, Period::Second, None, 100, 9),
            (10, Requests, Period::Second, Some(3), 0, 30),
            (1, Requests, Period::Minute, Some(1), 1_000, 1),
            (100, Tokens, Period::Minute, Some(1), 2_000, 0),
            (1_000_000_000_000_000, Tokens, Period::Second, Some(3_600), 0, 3_600 * 10_u64.pow(15)),
        ] {
            let found = limits(burst_s, headroom_ms).burst(rate, dimension, period);
            assert_eq!(found, cap, "{rate} {dimension:?} {period:?} {burst_s:?} {headroom_ms}");
        }
    }

    /// The provider counts exactly: burst = rate x burst_s. We send the cap at once and then at the
    /// rate; the network delays the first messages by the whole headroom and no later one.
    #[test]
    fn a_provider_that_enforces_its_burst_exactly_is_never_overdrawn() {
        for rate in 1..400_u64 {
            for burst_s in [1, 7, 60] {
                let cap = limits(Some(burst_s), 100).burst(rate, Dimension::Tokens, Period::Minute);
                // In units of 1/60000: what may arrive in one instant against what it may be.
                let bunched = u128::from(cap) * 60_000 + u128::from(rate) * 100;
                let allowed = u128::from(rate) * u128::from(burst_s) * 1_000;
                assert!(cap == 0 || bunched <= allowed, "rate {rate}, burst_s {burst_s}");
            }
        }
    }

    #[test]
    fn names_carry_the_period_unless_it_is_the_minute() {
        let all = Limits {
            requests_per_minute: Some(4_000),
            tokens_per_minute: Some(9),
            input_tokens_per_minute: Some(9),
            output_tokens_per_minute: Some(9),
            requests_per_second: Some(9),
            requests_per_day: Some(9),
            tokens_per_day: Some(9),
            max_concurrent: Some(9),
            ..limits(None, 100)
        };
        let names: Vec<_> = all.accounts("haiku").into_iter().map(|spec| spec.name).collect();
        let expected = "haiku.requests haiku.tokens haiku.input_tokens haiku.output_tokens \
                        haiku.requests_per_second haiku.requests_per_day haiku.tokens_per_day \
                        haiku.concurrent";
        assert_eq!(names.join(" "), expected);
    }
}
