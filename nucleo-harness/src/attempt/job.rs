//! A job: what the harness runs, without knowing what it is.
//!
//! Invariants: a job is asked for its requirements anew before each attempt, with the history of the
//! earlier ones; it executes only what was granted; it knows no line, no gate and no retry.
//!
//! Not here: prompts and models (`nucleo-agents`), the order of the steps (`run`).

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use nucleo_core::spend::SpendRefusal;
use nucleo_core::{AdmitError, JobId, Need, Span};
use smallvec::SmallVec;

use super::binding::Binding;
use super::dependency::DependencyError;
use super::granted::Granted;
use super::retry::RetryPolicy;
use super::siblings::Siblings;
use super::signal::{Failure, Signal};
use crate::runtime::http_date;
use crate::spend::SpendError;

/// One unit of work: priced, admitted, executed, and tried again where that can help.
pub trait Job: Send + 'static {
    /// What it answers.
    type Out: Send + 'static;

    /// What the next attempt needs, in view of the earlier ones.
    ///
    /// # Errors
    /// When no attempt can be made: the job fails with it, and nothing was taken.
    fn requirements(&mut self, history: &History) -> Result<Requirements, Failure>;

    /// Does the work, with what was granted.
    ///
    /// # Errors
    /// A [`Failure`]: what it asks for, and where it ended.
    ///
    /// # Cancel safety
    /// Dropped at any await when it is cancelled or times out; what was reported until then counts.
    fn execute(
        &mut self,
        granted: Granted,
    ) -> impl Future<Output = Result<Self::Out, Failure>> + Send;
}

/// What one attempt needs.
#[derive(Clone, Debug)]
pub struct Requirements {
    /// The models it is bound to.
    pub bindings: SmallVec<[Binding; 1]>,
    /// What it must hold besides: a place in the HTTP pool, a tool's own limit.
    pub needs: SmallVec<[Need; 2]>,
    /// How long the attempt may run, from its grant.
    pub timeout: Span,
}

/// How long an attempt may run unless told otherwise.
pub const TIMEOUT_DEFAULT: Span = Span::from_mins(30);

impl Default for Requirements {
    fn default() -> Self {
        Self { bindings: SmallVec::new(), needs: SmallVec::new(), timeout: TIMEOUT_DEFAULT }
    }
}

/// One earlier attempt.
#[derive(Clone, Debug)]
pub struct Past {
    /// The models it was bound to.
    pub models: SmallVec<[Arc<str>; 1]>,
    /// Those of them whose bindings failed as the attempt did.
    pub blamed: SmallVec<[Arc<str>; 1]>,
    /// How it failed.
    pub failure: Failure,
}

/// The earlier attempts of a job, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    attempts: Vec<Past>,
}

impl History {
    /// The earlier attempts, oldest first.
    #[must_use]
    pub fn attempts(&self) -> &[Past] {
        &self.attempts
    }

    /// The number of the next attempt, from 1.
    ///
    /// # Panics
    /// After four billion attempts, which no budget allows.
    #[must_use]
    pub fn next_attempt(&self) -> u32 {
        u32::try_from(self.attempts.len() + 1).expect("attempts are budgeted")
    }

    pub(crate) fn push(&mut self, past: Past) {
        self.attempts.push(past);
    }
}

/// How a job is run, apart from what it does.
#[derive(Clone, Debug)]
pub struct JobOptions {
    /// Who runs it, for totals by agent.
    pub agent: Arc<str>,
    /// The longest it may wait: for what it depends on, for siblings' money and in the line, over all its
    /// attempts; pauses don't count.
    pub max_wait: Span,
    /// How often it is tried again.
    pub retry: RetryPolicy,
    /// What it does when a cap is near.
    pub near_cap: nucleo_core::spend::NearCap,
    /// Where it is counted while it waits for siblings.
    pub siblings: Siblings,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            agent: Arc::from("job"),
            max_wait: nucleo_core::MAX_WAIT_DEFAULT,
            retry: RetryPolicy::default(),
            near_cap: nucleo_core::spend::NearCap::Refuse,
            siblings: Siblings::default(),
        }
    }
}

/// Why a job has no answer. Everything it held was given back, everything it owed was booked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A cap refused it: raise the cap, or go on with the rest later.
    #[error("{0}")]
    Refused(Box<SpendRefusal>),
    /// No spend gate could decide.
    #[error("not approved")]
    NotApproved(#[source] SpendError),
    /// Admission refused it.
    #[error("not admitted")]
    NotAdmitted(#[source] AdmitError),
    /// It failed, and no retry was left or none would help.
    #[error("failed after {attempts} {} ({})", plural(.attempts), .failure.signal.name())]
    Failed {
        /// How many attempts were made.
        attempts: u32,
        /// The last one's failure.
        #[source]
        failure: Failure,
    },
    /// It failed, and its model has had as many retries as its successes allow.
    #[error(
        "failed after {attempts} {} ({}), and {model} has no retries left: its failures are more than its successes allow, come back when it has recovered",
        plural(.attempts),
        .failure.signal.name()
    )]
    RetriesSpent {
        /// Whose budget is spent.
        model: Arc<str>,
        /// How many attempts were made.
        attempts: u32,
        /// The last one's failure.
        #[source]
        failure: Failure,
    },
    /// What it depends on failed, before it took anything.
    #[error("{on}, which it depends on, has no result")]
    DependencyFailed {
        /// What it depends on.
        on: JobId,
        /// Why that has no result.
        #[source]
        cause: DependencyError,
    },
    /// It was to be waited for by who holds another job's grant, which it may need: wait for it from
    /// the orchestrator, which holds nothing.
    #[error(
        "{job} can't be waited for while {holder} holds what it was granted: submit it from the agent, not from within the job"
    )]
    WaitsWhileHolding {
        /// Who holds something.
        holder: JobId,
        /// Who was to be waited for.
        job: JobId,
    },
    /// The workflow's deadline came first.
    #[error("the workflow's deadline of {deadline} has passed: allow a later one")]
    DeadlinePassed {
        /// How long after the workflow's start it was.
        deadline: Span,
        /// How its last attempt failed, if a retry of it would have come too late.
        #[source]
        failure: Option<Failure>,
    },
    /// The provider asked for a longer pause than the job may wait; the account stays parked.
    #[error(
        "the provider asked to wait {asked}, until {}, and {left} of the job's longest wait are left: allow a longer one or come back then",
        http_date(*.until)
    )]
    WaitTooLong {
        /// How long the provider asked.
        asked: Span,
        /// The instant that it named, as a time of day since the Unix epoch.
        until: Span,
        /// What is left of the job's wait.
        left: Span,
        /// The attempt's failure.
        #[source]
        failure: Failure,
    },
    /// The attempt ran as long as it may.
    #[error("timed out after {after}: allow a longer timeout")]
    TimedOut {
        /// The timeout.
        after: Span,
    },
    /// It was cancelled, or its future was dropped.
    #[error("cancelled")]
    Cancelled,
    /// It panicked.
    #[error("panicked: {message}")]
    Panicked {
        /// What the panic said.
        message: Arc<str>,
    },
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShutDown,
}

fn plural(attempts: &u32) -> &'static str {
    if *attempts == 1 { "attempt" } else { "attempts" }
}

impl JobError {
    /// The name that logs, reports and metrics share.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::NotApproved(_) => "not_approved",
            Self::NotAdmitted(error) => error.name(),
            Self::Failed { failure, .. } | Self::RetriesSpent { failure, .. } => {
                failure.signal.name()
            }
            Self::DependencyFailed { .. } => "dependency_failed",
            Self::WaitsWhileHolding { .. } => "waits_while_holding",
            Self::DeadlinePassed { .. } => "deadline_passed",
            Self::WaitTooLong { .. } => "wait_too_long",
            Self::TimedOut { .. } => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Panicked { .. } => "panicked",
            Self::ShutDown => "shut_down",
        }
    }

    /// The whole chain of causes as one line: `failed after 1 attempt (permanent): rejected with …`.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }

    /// The refusal, if a cap refused it.
    #[must_use]
    pub const fn refusal(&self) -> Option<&SpendRefusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    pub(crate) fn failed(history: &History, failure: Failure) -> Self {
        Self::Failed { attempts: history.next_attempt(), failure }
    }
}

/// An error with all its causes, as one line; what a transparent wrapper repeats is said once.
///
/// ```
/// use nucleo_harness::attempt::{JobError, chain};
/// assert_eq!(chain(&JobError::Cancelled), "cancelled");
/// ```
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

/// A signal that no retry answers still says why.
impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}
