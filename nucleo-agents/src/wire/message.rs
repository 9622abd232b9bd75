//! Messages of a conversation: who speaks, and the parts of what is said.
//!
//! Invariants: cloning is cheap, whatever the length (texts are shared), so a conversation can be
//! handed from attempt to attempt; `Debug` shows sizes, never the text.
//!
//! In JSON a message is `{"role": "user", "content": "text"}`; content may also be a list of parts,
//! `[{"type": "text", "text": "…"}]`. Unknown keys are refused: to drop what someone wrote, a tool
//! call say, would change the question.
//!
//! Not here: a provider's own form (`providers`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

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

/// One part of a message. Images and tool calls will be further variants.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Plain text.
    Text(Arc<str>),
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
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "MessageJson", into = "MessageJson")]
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
            parts => parts.iter().map(|Part::Text(text)| &**text).collect::<String>().into(),
        }
    }

    /// Bytes of text.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.parts.iter().map(|Part::Text(text)| text.len()).sum()
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Message");
        shown.field("role", &self.role).field("bytes", &self.text_bytes()).finish()
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageJson {
    role: Role,
    content: ContentJson,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ContentJson {
    Text(String),
    Parts(Vec<PartJson>),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum PartJson {
    Text { text: String },
}

impl From<MessageJson> for Message {
    fn from(json: MessageJson) -> Self {
        let part = |PartJson::Text { text }| Part::Text(text.into());
        match json.content {
            ContentJson::Text(text) => Self::text_by(json.role, text),
            ContentJson::Parts(parts) => Self::of(json.role, parts.into_iter().map(part)),
        }
    }
}

impl From<Message> for MessageJson {
    fn from(message: Message) -> Self {
        let part = |Part::Text(text): &Part| PartJson::Text { text: text.to_string() };
        let content = match &message.parts[..] {
            [Part::Text(text)] => ContentJson::Text(text.to_string()),
            parts => ContentJson::Parts(parts.iter().map(part).collect()),
        };
        Self { role: message.role, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_reads_both_forms_of_content() {
        for (json, text) in [
            (r#"{"role":"user","content":"a \"b\""}"#, "a \"b\""),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
                "ab",
            ),
        ] {
            let message: Message = serde_json::from_str(json).unwrap();
            assert_eq!(message.text(), text);
            assert_eq!(serde_json::to_string(&message).unwrap(), json);
        }
    }

    #[test]
    fn json_refuses_what_it_would_have_to_drop() {
        for json in [
            r#"{"role":"assistant","content":"","tool_calls":[]}"#,
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}"#,
            r#"{"role":"critic","content":"no"}"#,
            r#"{"role":"user"}"#,
        ] {
            assert!(serde_json::from_str::<Message>(json).is_err(), "{json}");
        }
    }
}
