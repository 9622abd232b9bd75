//! Messages of a conversation: who speaks, and the parts of what is said.
//!
//! Invariants: cloning is cheap, whatever the length (texts are shared), so a conversation can be
//! handed from attempt to attempt; `Debug` shows sizes, never the text.
//!
//! Not here: the parts (`part`), the form in JSON (`message_json`), a provider's own (`providers`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

use super::message_json::MessageJson;
use super::part::{Part, ToolCall, ToolResult};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions. Some wires call it `developer`.
    #[serde(alias = "developer")]
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
    /// What a tool answered.
    Tool,
}

/// One message.
///
/// ```
/// use nucleo_agents::wire::{Message, Role};
/// let message = Message::user("What is in the box?");
/// assert_eq!(message.role(), Role::User);
/// assert_eq!(message.text(), "What is in the box?");
/// assert_eq!(format!("{message:?}"), "Message { role: User, bytes: 19 }");
/// ```
///
/// In JSON it is `{"role": "user", "content": "text"}`, or a list of parts in `content`:
///
/// ```
/// use nucleo_agents::wire::{Message, Role, ToolResult};
/// let json = r#"{"role":"tool","content":[
///     {"type":"tool_result","id":"call-1","content":"no such order","is_error":true}]}"#;
/// let message: Message = serde_json::from_str(json)?;
/// assert_eq!(message, Message::tool_results([ToolResult::error("call-1", "no such order")]));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// The other parts are `{"type": "text", "text": "…"}`, `{"type": "image", "url": "…"}` or, with the
/// bytes in base64, `{"type": "image", "media_type": "image/png", "data": "…"}`, `{"type":
/// "tool_call", "id": "…", "name": "…", "arguments": {…}}`, and `{"type": "reasoning", "by": "…",
/// "data": …}`. Unknown keys and parts that the role can't say are refused.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "MessageJson", into = "MessageJson")]
pub struct Message {
    role: Role,
    parts: SmallVec<[Part; 1]>,
}

impl Role {
    /// The word used in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl Message {
    /// A text said by `role`.
    #[must_use]
    pub fn text_by(role: Role, text: impl Into<Arc<str>>) -> Self {
        Self { role, parts: smallvec![Part::Text(text.into())] }
    }

    /// Standing instructions.
    #[must_use]
    pub fn system(text: impl Into<Arc<str>>) -> Self {
        Self::text_by(Role::System, text)
    }

    /// What the user says.
    #[must_use]
    pub fn user(text: impl Into<Arc<str>>) -> Self {
        Self::text_by(Role::User, text)
    }

    /// What the model said.
    #[must_use]
    pub fn assistant(text: impl Into<Arc<str>>) -> Self {
        Self::text_by(Role::Assistant, text)
    }

    /// What tools answered to the calls of one message, all of them.
    #[must_use]
    pub fn tool_results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::of(Role::Tool, results.into_iter().map(Part::ToolResult))
    }

    /// A message of several parts.
    #[must_use]
    pub fn of(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self { role, parts: parts.into_iter().collect() }
    }

    /// Who speaks.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All text parts, one after the other.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.parts[..] {
            [Part::Text(text)] => Cow::Borrowed(text),
            _ => self.texts().collect::<String>().into(),
        }
    }

    /// Bytes of text.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.texts().map(str::len).sum()
    }

    /// Bytes of all parts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// The tools it wants called, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            _ => None,
        })
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Message");
        shown.field("role", &self.role).field("bytes", &self.bytes()).finish()
    }
}
