//! Faults on request: which there are, when they happen, and what each costs.
//!
//! Invariants: what a fault costs is stated with it; a fault has one name, the same in the catalog,
//! in the ledger and in a failing test.
//!
//! Not here: counting requests (`deck`), playing faults (`injected`, `serving`, `flow`).

use std::num::NonZeroU64;
use std::sync::Arc;

/// One way to fail, or to be strange.
///
/// *Costs its input* means: billed are the input tokens and no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// 429 though the quota has room. Costs nothing.
    RateLimit(AskedWait),
    /// 429 with the code `insufficient_quota`. Costs nothing.
    OutOfCredit,
    /// 529. Costs nothing.
    Overloaded(AskedWait),
    /// 500. Costs nothing.
    ServerError,
    /// 503 whose body says overload. Costs nothing.
    Unavailable(AskedWait),
    /// The connection closes without an answer. Costs nothing.
    Reset,
    /// A web page with status 200. Costs nothing.
    WebPage,
    /// The request is taken and never answered, until the client goes. Costs its input.
    Silent,
    /// The head comes, then nothing, until the client goes. Costs its input.
    Stall,
    /// The head comes, then every 15 s what only keeps the connection alive (a comment in a stream,
    /// a blank line in a whole body), until the client goes. Costs its input.
    KeepAlive,
    /// The answer breaks off half-way. Costs input and the output until there.
    Truncate,
    /// Every byte of the answer arrives, then the connection breaks instead of ending. Costs all of
    /// it, and is in the books as answered.
    ResetAtEnd,
    /// A 200 whose body, or an event of the stream, says error. Before any text it costs nothing;
    /// after half of the text, input and that half.
    ErrorInside {
        /// What it says.
        says: InsideError,
        /// How much text comes before.
        after: InsideAfter,
    },
    /// A whole answer that does not say what it used. Costs all of it.
    MissingUsage,
    /// Usage so far on every event of a stream; a whole answer is as always. Costs all of it.
    RunningUsage,
    /// A body cut in the middle of its JSON, as if it were whole. Costs all of it.
    MalformedJson,
    /// Usage twice what it was, in the answer and on the bill.
    DoubledUsage,
    /// The server's clock jumps by so many milliseconds ([`Engine::jump_clock`](super::Engine)),
    /// and the request is answered as any other. Costs what the answer costs.
    ClockJump {
        /// Forward, or backward when negative.
        by_ms: i64,
    },
}

/// In which form a server says how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AskedWait {
    /// Not at all.
    Unsaid,
    /// `retry-after-ms`: so many milliseconds.
    Millis(u64),
    /// `retry-after`: so many seconds.
    Seconds(u64),
    /// Both headers, for so many milliseconds: as a quota's own 429 does.
    Both(u64),
    /// `retry-after`: a date so many seconds after the server's own, or before when negative.
    Date(i64),
    /// Both headers, with words in them.
    Garbage,
}

/// The typed error inside an answer that began as a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsideError {
    /// The code `rate_limit_exceeded`.
    RateLimit,
    /// The kind `overloaded_error`.
    Overload,
    /// The kind `server_error`.
    ServerError,
}

/// How much of an answer comes before the error inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsideAfter {
    /// No text.
    Nothing,
    /// Half of the text, at least one token.
    Half,
}

/// When a fault happens. Requests are numbered from 1, in order of arrival, all models together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum When {
    /// To the first so many requests.
    First(u64),
    /// To the requests of these numbers.
    Numbers(Box<[u64]>),
    /// To every n-th request.
    Every(NonZeroU64),
    /// To requests that arrive in this window of the server's time: milliseconds since its start,
    /// or since it was last reset, the first included and the last not. A jump of the clock does
    /// not move it.
    During {
        /// The first millisecond.
        from_ms: u64,
        /// The first millisecond after it.
        to_ms: u64,
    },
    /// To so many of a million, at random.
    PerMillion(u32),
    /// To requests in whose last message this text occurs.
    Marker(Box<str>),
    /// To the first so many of those.
    FirstMarked {
        /// The text.
        marker: Box<str>,
        /// How many.
        times: u64,
    },
}

/// A fault and when it happens.
///
/// ```
/// use nucleo_agents::providers::loopback::{AskedWait, Fault, FaultRule, When};
/// let reset = FaultRule::new(When::Marker("[reset]".into()), Fault::Reset);
/// let busy = Fault::RateLimit(AskedWait::Seconds(30));
/// let minute = When::During { from_ms: 60_000, to_ms: 120_000 };
/// let rush = FaultRule::new(minute, busy).model("small-1");
/// # let _ = (reset, rush);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule {
    pub(super) when: When,
    pub(super) fault: Fault,
    pub(super) model: Option<Arc<str>>,
}

impl FaultRule {
    /// The rule that `fault` happens `when`.
    #[must_use]
    pub const fn new(when: When, fault: Fault) -> Self {
        Self { when, fault, model: None }
    }

    /// Only to requests of the model that is called so on the wire.
    #[must_use]
    pub fn model(mut self, wire_id: impl Into<Arc<str>>) -> Self {
        self.model = Some(wire_id.into());
        self
    }
}

impl AskedWait {
    /// `retry-after: 0`, which means at once.
    pub const ZERO: Self = Self::Seconds(0);
    /// `retry-after: 86400`.
    pub const A_DAY: Self = Self::Seconds(86_400);
}

impl Fault {
    /// Its name: the key of a catalog's `faults_permille`, where it is one, and of
    /// [`Ledger::faults`](super::Ledger::faults).
    ///
    /// ```
    /// use nucleo_agents::providers::loopback::{AskedWait, Fault};
    /// assert_eq!(Fault::RateLimit(AskedWait::ZERO).name(), "rate_limited");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit(_) => "rate_limited",
            Self::OutOfCredit => "out_of_credit",
            Self::Overloaded(_) => "overloaded",
            Self::ServerError => "server_error",
            Self::Unavailable(_) => "unavailable",
            Self::Reset => "reset",
            Self::WebPage => "html",
            Self::Silent => "silent",
            Self::Stall => "stall",
            Self::KeepAlive => "keep_alive",
            Self::Truncate => "truncated",
            Self::ResetAtEnd => "reset_at_end",
            Self::ErrorInside { after: InsideAfter::Nothing, .. } => "error_inside",
            Self::ErrorInside { after: InsideAfter::Half, .. } => "error_midway",
            Self::MissingUsage => "no_usage",
            Self::RunningUsage => "running_usage",
            Self::MalformedJson => "malformed",
            Self::DoubledUsage => "doubled_usage",
            Self::ClockJump { .. } => "clock_jump",
        }
    }
}
