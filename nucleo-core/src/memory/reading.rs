//! One reading of memory, as a probe makes it and the gate stores it.
//!
//! Invariants: `limit` is above zero; the share may pass 1 where nothing enforces the limit.
//!
//! Not here: where readings come from (`nucleo-harness`, probes), what follows from one (`gate`).

use std::num::NonZeroU64;

use serde::Serialize;

/// What a probe sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// What is allocated, exactly: it falls the moment something is freed.
    Live,
    /// Pages: an allocator may keep those that were freed, and caches fill them.
    Pages,
}

/// How much memory is used, out of how much.
///
/// ```
/// use std::num::NonZeroU64;
/// use nucleo_core::memory::Reading;
/// let limit = NonZeroU64::new(1 << 30).expect("not zero");
/// assert!((Reading::pages(256 << 20, limit).share() - 0.25).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reading {
    /// Bytes in use.
    pub used: u64,
    /// Bytes that may be used.
    pub limit: NonZeroU64,
    /// What was seen.
    pub signal: Signal,
}

impl Reading {
    /// A reading of live bytes.
    #[must_use]
    pub const fn live(used: u64, limit: NonZeroU64) -> Self {
        Self { used, limit, signal: Signal::Live }
    }

    /// A reading of pages.
    #[must_use]
    pub const fn pages(used: u64, limit: NonZeroU64) -> Self {
        Self { used, limit, signal: Signal::Pages }
    }

    /// The part of the limit that is used; past 1 when it is exceeded.
    #[must_use]
    pub fn share(&self) -> f64 {
        share_of(self.used, self.limit)
    }
}

/// Bytes as a share of a limit.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
pub(crate) fn share_of(bytes: u64, limit: NonZeroU64) -> f64 {
    bytes as f64 / limit.get() as f64
}
