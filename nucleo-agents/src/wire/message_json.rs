//! Messages in JSON.
//!
//! `{"role": "user", "content": "text"}`, where content may also be a list of parts:
//!
//! | part | in JSON |
//! | --- | --- |
//! | text | `{"type": "text", "text": "…"}` |
//! | image, fetched | `{"type": "image", "url": "https://…"}` |
//! | image, sent along | `{"type": "image", "media_type": "image/png", "data": "base64…"}` |
//! | tool call | `{"type": "tool_call", "id": "…", "name": "…", "arguments": {…}}` |
//! | tool result | `{"type": "tool_result", "id": "…", "content": "…", "is_error": true}`; without `is_error` it is none |
//! | reasoning | `{"type": "reasoning", "by": "its provider", "data": …}` |
//!
//! Invariants: what is read and written again is the same; what could not be kept is refused: an
//! unknown key or part, and a part that its role can't say (a user's tool call, say), because to drop
//! it would change the question.
//!
//! Not here: the types (`message`, `part`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::{Message, Role};
use super::part::{Image, Part, Reasoning, ToolCall, ToolResult};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageJson {
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
    Text {
        text: String,
    },
    Image {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
    ToolCall {
        id: String,
        name: String,
        arguments: Value,
    },
    ToolResult {
        id: String,
        content: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    Reasoning {
        by: String,
        data: Value,
    },
}

/// Why JSON is no message.
#[derive(Debug, thiserror::Error)]
pub(super) enum MessageError {
    #[error("an image has either `url`, or `media_type` and `data`")]
    ImageForm,
    #[error("the `data` of an image is no base64")]
    ImageData,
    #[error("a message of role `{role}` can't have a part of type `{part}`")]
    OutOfPlace { role: &'static str, part: &'static str },
}

impl TryFrom<MessageJson> for Message {
    type Error = MessageError;

    fn try_from(json: MessageJson) -> Result<Self, MessageError> {
        match json.content {
            ContentJson::Text(text) => Ok(Self::text_by(json.role, text)),
            ContentJson::Parts(parts) => {
                let parts = parts.into_iter().map(|part| in_place(json.role, part.try_into()?));
                Ok(Self::of(json.role, parts.collect::<Result<Vec<_>, _>>()?))
            }
        }
    }
}

/// Texts are anybody's, images the user's, calls and reasoning the model's, results the tools'.
fn in_place(role: Role, part: Part) -> Result<Part, MessageError> {
    let (word, by) = match &part {
        Part::Text(_) => return Ok(part),
        Part::Image(_) => ("image", Role::User),
        Part::ToolCall(_) => ("tool_call", Role::Assistant),
        Part::ToolResult(_) => ("tool_result", Role::Tool),
        Part::Reasoning(_) => ("reasoning", Role::Assistant),
    };
    if role == by {
        return Ok(part);
    }
    Err(MessageError::OutOfPlace { role: role.name(), part: word })
}

impl TryFrom<PartJson> for Part {
    type Error = MessageError;

    fn try_from(json: PartJson) -> Result<Self, MessageError> {
        Ok(match json {
            PartJson::Text { text } => Self::text(text),
            PartJson::Image { url: Some(url), media_type: None, data: None } => {
                Self::image_url(url)
            }
            PartJson::Image { url: None, media_type: Some(media_type), data: Some(data) } => {
                let bytes = STANDARD.decode(data).map_err(|_| MessageError::ImageData)?;
                Self::image(media_type, bytes)
            }
            PartJson::Image { .. } => return Err(MessageError::ImageForm),
            PartJson::ToolCall { id, name, arguments } => ToolCall::new(id, name, arguments).into(),
            PartJson::ToolResult { id, content, is_error: true } => {
                ToolResult::error(id, content).into()
            }
            PartJson::ToolResult { id, content, is_error: false } => {
                ToolResult::found(id, content).into()
            }
            PartJson::Reasoning { by, data } => Reasoning::new(by, data).into(),
        })
    }
}

impl From<Message> for MessageJson {
    fn from(message: Message) -> Self {
        let content = match message.parts() {
            [Part::Text(text)] => ContentJson::Text(text.to_string()),
            parts => ContentJson::Parts(parts.iter().map(PartJson::from).collect()),
        };
        Self { role: message.role(), content }
    }
}

impl From<&Part> for PartJson {
    fn from(part: &Part) -> Self {
        match part {
            Part::Text(text) => Self::Text { text: text.to_string() },
            Part::Image(Image::Url(url)) => {
                Self::Image { url: Some(url.to_string()), media_type: None, data: None }
            }
            Part::Image(Image::Bytes { media_type, bytes }) => Self::Image {
                url: None,
                media_type: Some(media_type.to_string()),
                data: Some(STANDARD.encode(bytes)),
            },
            Part::ToolCall(ToolCall { id, name, arguments }) => Self::ToolCall {
                id: id.to_string(),
                name: name.to_string(),
                arguments: (**arguments).clone(),
            },
            Part::ToolResult(ToolResult { id, content, is_error }) => Self::ToolResult {
                id: id.to_string(),
                content: content.to_string(),
                is_error: *is_error,
            },
            Part::Reasoning(Reasoning { by, data }) => {
                Self::Reasoning { by: by.to_string(), data: (**data).clone() }
            }
        }
    }
}
