//! How an attempt failed: what may be retried, and where it ended.
//!
//! Invariants: the signal alone decides whether and when a retry comes; where it ended alone decides
//! what comes back. The harness sees no status, no body and no prompt.
//!
//! Not here: reading a provider's answer (`nucleo-agents`), the budgets (`retry`).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use nucleo_core::Span;
use serde::{Deserialize, Serialize};

/// What a failed attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Signal {
    /// The provider says later, not no.
    RateLimited {
        /// How long it asked to wait.
        retry_after: Option<Span>,
    },
    /// The provider is overloaded.
    Overloaded {
        /// How long it asked to wait.
        retry_after: Option<Span>,
    },
    /// A server error, a connection that failed or broke, an answer that could not be read.
    Transient {
        /// How long it asked to wait.
        retry_after: Option<Span>,
    },
    /// It stopped at the output limit that was asked for, below the model's own.
    Truncated,
    /// The answer did not parse or validate; the next attempt carries a correction.
    Correction,
    /// Nothing is left to pay with.
    OutOfCredit,
    /// No retry would change it.
    Permanent,
}

/// Where an attempt ended: it decides what comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The request never left.
    Unsent,
    /// No connection: nothing reached the provider.
    CouldNotConnect,
    /// Answered with a rate limit: the provider counted nothing.
    RateLimited,
    /// Answered with an error.
    WithError,
    /// Answered in full.
    InFull,
    /// Sent, and no complete answer came.
    Incomplete,
}

/// A failed attempt.
#[derive(Clone)]
pub struct Failure {
    /// What it asks for.
    pub signal: Signal,
    /// Where it ended.
    pub ended: Ended,
    /// What was wrong, for people and for the job's next attempt.
    pub error: Arc<dyn Error + Send + Sync>,
}

impl Signal {
    /// The name that logs, reports and metrics share.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Transient { .. } => "transient",
            Self::Truncated => "truncated",
            Self::Correction => "correction",
            Self::OutOfCredit => "out_of_credit",
            Self::Permanent => "permanent",
        }
    }

    /// How long the provider asked to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        match self {
            Self::RateLimited { retry_after }
            | Self::Overloaded { retry_after }
            | Self::Transient { retry_after } => *retry_after,
            _ => None,
        }
    }
}

impl Failure {
    /// A failure of this kind.
    pub fn new(
        signal: Signal,
        ended: Ended,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { signal, ended, error: Arc::from(error.into()) }
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {}", self.signal.name(), self.ended, self.error)
    }
}
