//! Tokens by kind: what a call used, and what it reserved.
//!
//! Invariants: the kinds of [`Usage`] are disjoint, so each token is counted, and paid, once;
//! providers that report a kind inside another's total are taken apart where their wire is read.
//!
//! Not here: prices (`spend::price`), counting tokens of a text (`nucleo-agents`).

use serde::{Deserialize, Serialize};

/// Tokens that one call used, in disjoint kinds.
///
/// ```
/// use nucleo_core::Usage;
/// let usage = Usage { input: 1_200, cache_read: 500, cache_write: 300, output: 40, reasoning: 0 };
/// assert_eq!(usage.input_total(), 2_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Input read at the plain price: neither written to a cache nor read from one.
    pub input: u64,
    /// Input written to the provider's cache.
    pub cache_write: u64,
    /// Input read from the provider's cache.
    pub cache_read: u64,
    /// Output, without reasoning.
    pub output: u64,
    /// Output spent on reasoning, beside `output`.
    pub reasoning: u64,
}

/// Tokens that one attempt reserves before it is sent: an upper estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reserved {
    /// Input tokens, estimated high.
    pub input: u64,
    /// Output tokens, reasoning included: the very number sent as the output limit.
    pub output: u64,
}

impl Usage {
    /// All input tokens, cached ones included.
    #[must_use]
    pub const fn input_total(&self) -> u64 {
        self.input.saturating_add(self.cache_write).saturating_add(self.cache_read)
    }

    /// All output tokens, reasoning included.
    #[must_use]
    pub const fn output_total(&self) -> u64 {
        self.output.saturating_add(self.reasoning)
    }

    /// All tokens.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input_total().saturating_add(self.output_total())
    }

    /// The sum, kind by kind.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            output: self.output.saturating_add(other.output),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

impl Reserved {
    /// Input and output together.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
