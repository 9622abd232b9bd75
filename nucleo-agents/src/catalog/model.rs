//! Models of a catalog: what one `[models.ID]` entry says.
//!
//! Invariants: an entry that was loaded is whole (every required key was there and every reference
//! resolved); it is read-only data, shared by `Arc` from the catalog to the request.
//!
//! Not here: choosing among entries ([`crate::picker`]), whether one may be called (`callable`).

use std::sync::Arc;

use serde::Serialize;

use super::{Grade, Limits, PriceEntry};
use crate::counting::Family;

/// One `[models.ID]` entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelEntry {
    /// Its id in the catalog.
    pub id: Arc<str>,
    /// The provider's name in the catalog.
    pub provider: Arc<str>,
    /// The provider's own name of the model.
    pub wire_id: Arc<str>,
    /// The weights: entries of one identity are routes to the same model.
    pub identity: Arc<str>,
    /// How capable it is.
    pub grade: Grade,
    /// Tokens of input and output together that it can hold.
    pub context: u64,
    /// Tokens of output that it can give.
    pub max_output: u64,
    /// Limits of its own; `None` with a quota, or when there are none.
    pub limits: Option<Limits>,
    /// The shared quota it draws from.
    pub quota: Option<Arc<str>>,
    /// What the provider does with an unused reservation.
    pub settle: Settle,
    /// What is reserved on the token accounts.
    pub reserve: Reserve,
    /// What it costs; without a price it is refused under a cap.
    pub price: Option<PriceEntry>,
    /// Whether it may be used at all.
    pub status: Status,
    /// How its tokens are estimated.
    pub counter: Family,
    /// How a loopback server plays it.
    pub loopback: Option<LoopbackEntry>,
    /// The names of the accounts that a call of it takes from, beside `http`.
    pub accounts: Vec<Arc<str>>,
}

/// What a provider does with the unused part of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Settle {
    /// Gives it back at the end.
    #[default]
    Actual,
    /// Keeps it.
    Keep,
}

/// What is reserved on the token accounts; money always reserves the declared output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reserve {
    /// The declared output.
    #[default]
    Declared,
    /// The 95th percentile of the recent outputs.
    Learned,
}

/// Whether an entry may be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Yes.
    #[default]
    Open,
    /// No, for this reason.
    Closed(Arc<str>),
}

/// How a loopback server plays a model: `[models.ID.loopback]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LoopbackEntry {
    /// Milliseconds to the first token, drawn evenly from this range, both ends included.
    pub first_token_ms: (u64, u64),
    /// Microseconds for each further token.
    pub per_token_us: u64,
    /// Tokens of an answer, drawn evenly from this range, both ends included.
    pub output_tokens: (u64, u64),
    /// How much of the entry's quotas is in force, in thousandths.
    pub quota_permille: u64,
    /// How the entry's quotas of a minute are enforced.
    pub enforced: Enforced,
    /// Faults, in thousandths of the requests.
    pub faults_permille: Faults,
}

/// How a provider enforces a quota that it states for a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforced {
    /// As it is stated: its burst may go at once.
    #[default]
    AsStated,
    /// By the second: a sixtieth of it may go at once.
    BySecond,
}

/// How many of a thousand requests of an entry meet each fault; together at most 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Faults {
    /// 429 though the quota has room.
    pub rate_limited: u64,
    /// 529.
    pub overloaded: u64,
    /// 500.
    pub server_error: u64,
    /// 503.
    pub unavailable: u64,
    /// The connection is reset.
    pub reset: u64,
    /// Nothing more comes.
    pub stall: u64,
    /// The body ends midway.
    pub truncated: u64,
    /// The answer carries no usage.
    pub no_usage: u64,
    /// The body is broken JSON.
    pub malformed: u64,
    /// The body is a proxy's HTML page.
    pub html: u64,
    /// The account is out of credit.
    pub out_of_credit: u64,
    /// The request is taken and never answered.
    pub silent: u64,
    /// The head comes, then only what keeps the connection alive.
    pub keep_alive: u64,
    /// Every byte comes, then the connection breaks instead of ending.
    pub reset_at_end: u64,
    /// A 200 that says error before any text.
    pub error_inside: u64,
    /// A 200 that says error after half of its text.
    pub error_midway: u64,
    /// Usage so far on every event of a stream.
    pub running_usage: u64,
    /// Usage twice what it was, on the bill too.
    pub doubled_usage: u64,
}

impl ModelEntry {
    /// The output reserved by a request that states none: 4,096 tokens, or all it can give.
    #[must_use]
    pub fn output_default(&self) -> u64 {
        self.max_output.min(OUTPUT_DEFAULT)
    }
}

/// Tokens of output that a request reserves when it states none.
pub const OUTPUT_DEFAULT: u64 = 4_096;

impl Default for LoopbackEntry {
    /// Answers of 20 to 120 tokens after 20 to 60 ms, 1 ms a token, quotas as stated, no faults.
    fn default() -> Self {
        Self {
            first_token_ms: (20, 60),
            per_token_us: 1_000,
            output_tokens: (20, 120),
            quota_permille: 1_000,
            enforced: Enforced::AsStated,
            faults_permille: Faults::default(),
        }
    }
}
