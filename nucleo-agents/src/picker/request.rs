//! What is asked of the picker, what happened before, and why nothing serves.
//!
//! Invariants: sizes are those of [`TextSize`], so that each entry is judged by its own family's
//! count.
//!
//! Not here: choosing (`choose`).

use std::fmt;
use std::sync::Arc;

use nucleo_core::Reserved;

use crate::catalog::{Grade, ModelEntry, NotCallable, OUTPUT_DEFAULT};
use crate::counting::TextSize;

/// What a request needs of a model.
///
/// ```
/// use nucleo_agents::catalog::Grade;
/// use nucleo_agents::counting::TextSize;
/// use nucleo_agents::picker::Request;
/// let input = TextSize::of_message("Name a colour.");
/// let request = Request::new(Grade::Small, input).output(64);
/// assert_eq!(request.output, Some(64));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The grade or the model.
    pub target: Target,
    /// The size of the conversation.
    pub input: TextSize,
    /// The output it declares; `None` takes 4,096 tokens or all that the model can give.
    pub output: Option<u64>,
}

/// A grade or a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Any model of this grade or above.
    Grade(Grade),
    /// The entry with this id, and no other unless a route to it failed.
    Model(Arc<str>),
}

/// One failed attempt of this job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailure {
    /// The id of the entry that was asked.
    pub entry: Arc<str>,
    /// What came back.
    pub signal: Signal,
}

/// What a failed attempt came back with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// Too many requests for the account.
    RateLimited,
    /// Too many requests for the provider.
    Overloaded,
    /// A server error, a connection that failed or broke, a body that can't be read.
    Transient,
    /// The output limit cut the answer.
    Truncated,
    /// The answer did not have the asked form.
    Correction,
}

/// No entry serves the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct NothingCallable {
    /// What was asked.
    pub target: Target,
    /// Every entry that was passed over, and why.
    pub passed: Vec<Passed>,
}

/// An entry that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// Its id.
    pub entry: Arc<str>,
    /// Why.
    pub why: WhyPassed,
}

/// Why an entry was passed over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyPassed {
    /// It can't be called.
    #[error("{0}")]
    NotCallable(NotCallable),
    /// The conversation and the output don't fit its context.
    #[error("holds {context} tokens, the request needs {input} of input and {output} of output")]
    Context {
        /// What it can hold.
        context: u64,
        /// Input, as its family counts.
        input: u64,
        /// Output reserved.
        output: u64,
    },
}

impl Request {
    /// A request that states no output.
    #[must_use]
    pub fn new(target: impl Into<Target>, input: TextSize) -> Self {
        Self { target: target.into(), input, output: None }
    }

    /// Declares the output, in tokens.
    #[must_use]
    pub fn output(self, tokens: u64) -> Self {
        Self { output: Some(tokens), ..self }
    }

    /// The output that `entry` would reserve: what is declared or the default, within its ceiling.
    #[must_use]
    pub fn output_of(&self, entry: &ModelEntry) -> u64 {
        self.output.unwrap_or(OUTPUT_DEFAULT).min(entry.max_output)
    }

    /// The tokens that `entry` would reserve.
    #[must_use]
    pub fn reserved(&self, entry: &ModelEntry) -> Reserved {
        Reserved { input: entry.counter.tokens(&self.input), output: self.output_of(entry) }
    }

    /// Whether `entry` can hold the request.
    ///
    /// # Errors
    /// [`WhyPassed`] says what it lacks.
    pub fn fits(&self, entry: &ModelEntry) -> Result<(), WhyPassed> {
        let Reserved { input, output } = self.reserved(entry);
        let needed = u128::from(input) + u128::from(output);
        if needed > u128::from(entry.context) {
            return Err(WhyPassed::Context { context: entry.context, input, output });
        }
        Ok(())
    }
}

impl Signal {
    /// Whether another route is worth trying.
    #[must_use]
    pub const fn leaves_route(self) -> bool {
        matches!(self, Self::Overloaded | Self::Transient)
    }
}

impl From<Grade> for Target {
    fn from(grade: Grade) -> Self {
        Self::Grade(grade)
    }
}

impl From<&str> for Target {
    fn from(id: &str) -> Self {
        Self::Model(id.into())
    }
}

impl From<Arc<str>> for Target {
    fn from(id: Arc<str>) -> Self {
        Self::Model(id)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grade(grade) => write!(f, "grade {grade} or above"),
            Self::Model(id) => write!(f, "model `{id}`"),
        }
    }
}

impl fmt::Display for NothingCallable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing in the catalog serves {}", self.target)?;
        if self.passed.is_empty() {
            return write!(f, ": it has no such entry");
        }
        let mut separator = ": ";
        for passed in &self.passed {
            write!(f, "{separator}{} ({})", passed.entry, passed.why)?;
            separator = "; ";
        }
        Ok(())
    }
}
