//! The tools that a model is offered.
//!
//! Invariants: cloning is cheap; `Debug` shows a tool's name and sizes.
//!
//! Not here: running them (`tool`), a provider's own form (`providers`).

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::part::json_bytes;

/// A tool as a model sees it.
///
/// ```
/// use nucleo_agents::wire::{ChatRequest, Message, ToolChoice, ToolSpec};
/// let schema = serde_json::json!({"type": "object", "properties": {"order": {"type": "integer"}}});
/// let tool = ToolSpec::new("order_status", "Looks an order up", schema);
/// let request = ChatRequest::new("small-1", vec![Message::user("Where is order 7?")], 64)
///     .tools([tool])
///     .tool_choice(ToolChoice::Required);
/// assert_eq!(&*request.tools[0].name, "order_status");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// Its name: letters, digits, `_` and `-`, at most 64.
    pub name: Arc<str>,
    /// What it does and when to call it.
    pub description: Arc<str>,
    /// The JSON schema of its input: an object.
    pub parameters: Arc<Value>,
}

/// Whether a model may call tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must answer itself.
    None,
    /// It must call one or more.
    Required,
    /// It must call this one.
    Named(Arc<str>),
}

impl ToolSpec {
    /// A tool of this name; `parameters` is the JSON schema of its input, an object.
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        parameters: impl Into<Arc<Value>>,
    ) -> Self {
        Self { name: name.into(), description: description.into(), parameters: parameters.into() }
    }

    /// Bytes of its name, description and schema as JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + json_bytes(&self.parameters)
    }
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolSpec({}, {} bytes)", self.name, self.bytes())
    }
}
