//! Why a call has no answer: one closed list for all providers.
//!
//! Invariants: classified from status and typed body, never from message text, in this order: out
//! of credit (a 402, or a code that says so, whatever the status), 429, overload (529, or a 503
//! whose body says overload), other 5xx, the rest. A status outranks a content type: an HTML page
//! with a 503 is a 503. `Display` says what to do next and never repeats its source.
//!
//! Two questions are answered by methods, so that nobody takes the variants apart to decide:
//! [`CallFailure::ends_at`] (what happens to what was taken) and [`CallFailure::class`] (whether a
//! repeat can help).
//!
//! Not here: the windows of a retry, settlement (`nucleo-harness`).

use nucleo_core::{Span, Usage};

use super::ServerSaid;
use crate::transport::TransportError;

/// Why a call has no answer.
///
/// ```
/// use nucleo_agents::wire::{CallFailure, EndsAt, ErrorAnswer, FailureClass};
/// let failure = CallFailure::from_answer(ErrorAnswer {
///     status: 429,
///     code: Some("insufficient_quota".into()),
///     ..ErrorAnswer::default()
/// });
/// assert_eq!(failure.class(), FailureClass::OutOfCredit);
/// assert_eq!(failure.ends_at(), EndsAt::ErrorAnswer);
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// The account has no money left. Waiting does not help.
    #[error("out of credit (status {status}): top up the account at the provider{}", saying(.said))]
    OutOfCredit {
        /// The HTTP status it came with.
        status: u16,
        /// What the server said.
        said: Option<ServerSaid>,
    },
    /// Too many requests or tokens for now: a 429.
    #[error("rate limited: {}{}", waiting(*.retry_after), saying(.said))]
    RateLimited {
        /// How long the server asks to wait.
        retry_after: Option<Span>,
        /// What the server said.
        said: Option<ServerSaid>,
    },
    /// The model has too much to do, whoever asks: a 529, or a 503 that says so.
    #[error("the model is overloaded (status {status}): {}{}", waiting(*.retry_after), saying(.said))]
    Overloaded {
        /// The HTTP status it came with.
        status: u16,
        /// How long the server asks to wait.
        retry_after: Option<Span>,
        /// What the server said.
        said: Option<ServerSaid>,
    },
    /// The server failed: any other 5xx.
    #[error("the server failed with status {status}: {}{}", waiting(*.retry_after), saying(.said))]
    ServerError {
        /// The HTTP status.
        status: u16,
        /// How long the server asks to wait.
        retry_after: Option<Span>,
        /// What the server said.
        said: Option<ServerSaid>,
    },
    /// The request was refused and will be again: change it, or the configuration.
    #[error("rejected with status {status}: {}{}", what_to_check(*.status), saying(.said))]
    Rejected {
        /// The HTTP status.
        status: u16,
        /// The server's typed code, if any.
        code: Option<Box<str>>,
        /// What the server said.
        said: Option<ServerSaid>,
    },
    /// A web page instead of an answer, usually a proxy's.
    #[error(
        "got a web page ({content_type}, status {status}): check base_url, and proxies on the way"
    )]
    Html {
        /// The HTTP status.
        status: u16,
        /// The content type, bounded.
        content_type: Box<str>,
    },
    /// The server was not reached; nothing left this process.
    #[error("the server was not reached")]
    CouldNotConnect(#[source] TransportError),
    /// The request left, and the answer did not come to its end.
    #[error("the answer broke off before {missing}")]
    Broken {
        /// What did not come.
        missing: &'static str,
        /// Usage as far as it was reported.
        usage: Option<Usage>,
        /// What the transport said; `None` when the stream ended cleanly but early.
        #[source]
        source: Option<TransportError>,
    },
    /// An answer of 2xx came in full and can't be read.
    #[error(
        "the answer can't be read, it has no {missing}: check that the server speaks this wire format"
    )]
    Unreadable {
        /// The essential that is missing or malformed.
        missing: &'static str,
        /// Usage, where it could be read nevertheless.
        usage: Option<Usage>,
    },
    /// An answer that began as 200 and then said that it failed.
    #[error("failed inside a successful answer{}{}", coded(.code), saying(.said))]
    StreamedError {
        /// The class that the typed error inside stands for.
        class: FailureClass,
        /// The server's typed code.
        code: Option<Box<str>>,
        /// How much of an answer had come before.
        after: StreamedAfter,
        /// Usage as far as it was reported.
        usage: Option<Usage>,
        /// What the server said.
        said: Option<ServerSaid>,
    },
}

/// Where a call ended, which decides what is given back and what is charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndsAt {
    /// Could not connect: everything goes back in full.
    Unconnected,
    /// Answered 429: everything goes back in full.
    RateLimited,
    /// Answered with an error: no tokens were used.
    ErrorAnswer,
    /// Answered in full: [`CallFailure::usage`] is charged, or what was reserved where it is
    /// unknown.
    FullAnswer,
    /// Sent, and no complete answer: the server may have worked; charged as far as reported, else
    /// what was reserved.
    Incomplete,
}

/// What kind of trouble it is, which decides whether and how a repeat may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// Never repeated: the account needs money.
    OutOfCredit,
    /// Repeated later: the quota says when.
    RateLimit,
    /// Repeated much later: everybody's trouble.
    Overload,
    /// Repeated: an accident.
    Transient,
    /// Never repeated: the call or the configuration is wrong.
    Rejected,
}

/// How much of an answer had come before it said that it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamedAfter {
    /// No text at all.
    Nothing,
    /// Some text: work was done.
    Text,
}

/// An answer whose status or body says error, taken apart but not yet judged.
#[derive(Clone, Debug, Default)]
pub struct ErrorAnswer {
    /// The HTTP status; inside a successful answer, the status the body names, or 0.
    pub status: u16,
    /// How long the server asks to wait.
    pub retry_after: Option<Span>,
    /// The body's typed kind (`type`).
    pub kind: Option<Box<str>>,
    /// The body's typed code.
    pub code: Option<Box<str>>,
    /// What the server said in words; never judged.
    pub said: Option<ServerSaid>,
}

impl ErrorAnswer {
    /// The class, from status and typed body alone.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        let typed = || self.kind.iter().chain(&self.code).map(|word| &**word);
        let overload = || typed().any(says_overload);
        match self.status {
            402 => FailureClass::OutOfCredit,
            _ if typed().any(|word| OUT_OF_CREDIT.contains(&word)) => FailureClass::OutOfCredit,
            429 => FailureClass::RateLimit,
            529 => FailureClass::Overload,
            503 if overload() => FailureClass::Overload,
            500..=599 => FailureClass::Transient,
            // Inside a successful answer no status may be told: only the words are left.
            0 if typed().any(|word| RATE_LIMITED.contains(&word)) => FailureClass::RateLimit,
            0 if overload() => FailureClass::Overload,
            0 if typed().any(|word| REJECTED.contains(&word)) => FailureClass::Rejected,
            0 => FailureClass::Transient,
            _ => FailureClass::Rejected,
        }
    }
}

/// Codes and kinds by which providers say that an account has no money left.
const OUT_OF_CREDIT: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "insufficient_balance",
    "insufficient_credits",
    "insufficient_funds",
];

const RATE_LIMITED: &[&str] = &[
    "rate_limit_exceeded",
    "rate_limit_error",
    "rate_limit_reached",
    "tokens",
    "requests",
    "too_many_requests",
];

const REJECTED: &[&str] = &[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "invalid_api_key",
    "model_not_found",
    "context_length_exceeded",
    "content_filter",
];

fn says_overload(word: &str) -> bool {
    word.contains("overload") || matches!(word, "slow_down" | "capacity_exceeded")
}

impl CallFailure {
    /// The failure that an answer with an error status stands for.
    #[must_use]
    pub fn from_answer(answer: ErrorAnswer) -> Self {
        let class = answer.class();
        let ErrorAnswer { status, retry_after, code, said, .. } = answer;
        match class {
            FailureClass::OutOfCredit => Self::OutOfCredit { status, said },
            FailureClass::RateLimit => Self::RateLimited { retry_after, said },
            FailureClass::Overload => Self::Overloaded { status, retry_after, said },
            FailureClass::Transient => Self::ServerError { status, retry_after, said },
            FailureClass::Rejected => Self::Rejected { status, code, said },
        }
    }

    /// Where the call ended, for settlement.
    #[must_use]
    pub const fn ends_at(&self) -> EndsAt {
        match self {
            Self::CouldNotConnect(_) => EndsAt::Unconnected,
            Self::RateLimited { .. } => EndsAt::RateLimited,
            Self::OutOfCredit { .. }
            | Self::Overloaded { .. }
            | Self::ServerError { .. }
            | Self::Rejected { .. }
            | Self::Html { .. } => EndsAt::ErrorAnswer,
            Self::StreamedError { after: StreamedAfter::Nothing, usage: None, .. } => {
                EndsAt::ErrorAnswer
            }
            Self::Unreadable { .. } => EndsAt::FullAnswer,
            Self::StreamedError { .. } | Self::Broken { .. } => EndsAt::Incomplete,
        }
    }

    /// What kind of trouble it is, for the retry policy.
    #[must_use]
    pub const fn class(&self) -> FailureClass {
        match self {
            Self::OutOfCredit { .. } => FailureClass::OutOfCredit,
            Self::RateLimited { .. } => FailureClass::RateLimit,
            Self::Overloaded { .. } => FailureClass::Overload,
            // An address that can't be sent to stays so; a proxy's page with 200 may pass.
            Self::CouldNotConnect(TransportError::Unsendable { .. }) | Self::Rejected { .. } => {
                FailureClass::Rejected
            }
            Self::Html { status, .. } if *status >= 300 => FailureClass::Rejected,
            Self::ServerError { .. }
            | Self::Html { .. }
            | Self::CouldNotConnect(_)
            | Self::Broken { .. }
            | Self::Unreadable { .. } => FailureClass::Transient,
            Self::StreamedError { class, .. } => *class,
        }
    }

    /// How long the server asked to wait.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Span> {
        match self {
            Self::RateLimited { retry_after, .. }
            | Self::Overloaded { retry_after, .. }
            | Self::ServerError { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Usage as far as it was reported.
    #[must_use]
    pub const fn usage(&self) -> Option<Usage> {
        match self {
            Self::Broken { usage, .. }
            | Self::Unreadable { usage, .. }
            | Self::StreamedError { usage, .. } => *usage,
            _ => None,
        }
    }

    /// A word for logs, metrics and results files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OutOfCredit { .. } => "out_of_credit",
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::ServerError { .. } => "server_error",
            Self::Rejected { .. } => "rejected",
            Self::Html { .. } => "html",
            Self::CouldNotConnect(_) => "could_not_connect",
            Self::Broken { .. } => "broken",
            Self::Unreadable { .. } => "unreadable",
            Self::StreamedError { .. } => "streamed_error",
        }
    }
}

fn waiting(retry_after: Option<Span>) -> String {
    retry_after.map_or_else(|| "ask again later".into(), |span| format!("ask again in {span}"))
}

fn saying(said: &Option<ServerSaid>) -> String {
    said.as_ref().map_or_else(String::new, |said| format!("; the server said: {said}"))
}

fn coded(code: &Option<Box<str>>) -> String {
    code.as_ref().map_or_else(String::new, |code| format!(" with code {code}"))
}

const fn what_to_check(status: u16) -> &'static str {
    match status {
        300..=399 => "the server points elsewhere, and redirects are not followed; check base_url",
        401 => "check the API key",
        403 => "check what the API key may do",
        404 => "check the model's wire_id and base_url",
        413 => "the request is too large, shorten it",
        _ => "change the request",
    }
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
