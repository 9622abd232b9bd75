//! How a tool that a model calls fails.
//!
//! Invariants: what the model reads is the tool's own message, and whether another input can help.
//!
//! Not here: what a model is told of other ends (`called`).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a tool has no result. The model reads the message, so say in it what the model may know.
///
/// Any error becomes one with `?`, as a failure that no other input helps:
///
/// ```
/// use nucleo_agents::prelude::*;
/// async fn read_page(_ctx: ToolContext, name: String) -> Result<String, ToolError> {
///     if name.contains('/') {
///         return Err(ToolError::correctable("a page's name has no slash in it"));
///     }
///     Ok(std::fs::read_to_string(format!("pages/{name}.md"))?)
/// }
/// let error = ToolError::correctable("a page's name has no slash in it");
/// assert!(error.is_correctable());
/// assert_eq!(error.message(), "a page's name has no slash in it");
/// ```
#[derive(Clone)]
pub struct ToolError(Told);

/// The same as an error: [`ToolError`] is none itself, so that every error can become one.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Told {
    pub(super) message: Arc<str>,
    pub(super) help: Help,
}

/// What helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Help {
    AnotherInput,
    Nothing,
}

impl ToolError {
    /// The input was at fault: the model may call again with another.
    pub fn correctable(message: impl fmt::Display) -> Self {
        Self(Told { message: message.to_string().into(), help: Help::AnotherInput })
    }

    /// No other input helps: the model has to do without.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self(Told { message: message.to_string().into(), help: Help::Nothing })
    }

    /// What the model reads.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether another input may help.
    #[must_use]
    pub fn is_correctable(&self) -> bool {
        self.0.help == Help::AnotherInput
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}

impl From<ToolError> for Box<dyn Error + Send + Sync> {
    fn from(error: ToolError) -> Self {
        Box::new(error.0)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
