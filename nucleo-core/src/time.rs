//! Time as a value: nanoseconds since an origin that the caller chose.
//!
//! Invariants: a [`Time`] never reads a clock, so every decision can be replayed, printed and
//! constructed in a test; arithmetic is checked, and the far future saturates at [`Time::MAX`]
//! only where a method says so.
//!
//! Not here: reading a clock, sleeping, calendars (`nucleo-harness`, `runtime/clock.rs`).

use std::fmt;

use serde::{Deserialize, Serialize};

/// An instant: nanoseconds since an origin, usually the start of the runtime.
///
/// ```
/// use nucleo_core::{Span, Time};
/// let later = Time::ZERO + Span::from_millis(5);
/// assert_eq!(later.since(Time::ZERO), Span::from_millis(5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

/// A length of time in nanoseconds.
///
/// ```
/// use nucleo_core::Span;
/// assert_eq!(Span::from_secs(2), Span::from_millis(2_000));
/// assert_eq!(Span::from_millis(1_500).to_string(), "1.5s");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(u64);

impl Time {
    /// The origin.
    pub const ZERO: Self = Self(0);
    /// The last instant that can be told, 584 years after the origin.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ns` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The instant `ms` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(Span::from_millis(ms).0)
    }

    /// How long after `earlier` this is; zero when it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, at most [`Time::MAX`].
    #[must_use]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span that can be told, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `ms` milliseconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of `s` seconds, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// A span of `minutes` minutes, at most [`Span::MAX`].
    #[must_use]
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes.saturating_mul(60))
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for printing and ratios only; decisions use nanoseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "printing only")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The sum, at most [`Span::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, at least zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span `n` times, at most [`Span::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// The standard library's type for the same length.
    #[must_use]
    pub const fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl From<std::time::Duration> for Span {
    /// At most [`Span::MAX`].
    fn from(duration: std::time::Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl std::ops::Add<Span> for Time {
    type Output = Self;
    /// # Panics
    /// Past [`Time::MAX`]; use [`Time::saturating_add`] where a span comes from outside.
    fn add(self, span: Span) -> Self {
        Self(self.0.checked_add(span.0).expect("an instant past the end of time"))
    }
}

impl std::ops::Add for Span {
    type Output = Self;
    /// # Panics
    /// Past [`Span::MAX`]; use [`Span::saturating_add`] where a span comes from outside.
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("a span past the end of time"))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:?}", Span(self.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", Span(self.0))
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_std(), f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_std(), f)
    }
}
