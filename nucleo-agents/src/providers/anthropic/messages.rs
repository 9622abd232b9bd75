//! Messages on the wire.
//!
//! Turns need not alternate: the server joins those of one speaker. Results of tools are what the user
//! says there.
//!
//! Invariants: nothing of a message is left out, but for reasoning that another provider made or
//! that nobody wants back (it is sent where tools are, with what came of it), for texts without any
//! letter, which the wire refuses, and for messages that then say nothing; a part in a place that
//! the wire has no form for is sent in its form all the same, and the server refuses it.
//!
//! Not here: the request around them (`encode`), tools (`tools`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::wire::{Image, Message, Part, Reasoning, Role, ToolCall, ToolResult};

#[derive(Serialize)]
pub(super) struct MessageOut<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

/// A block: of ours, or one of the server's own that goes back as it came.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    Typed(BlockOut<'a>),
    Raw(&'a Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockOut<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a Value,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Url { url: &'a str },
    Base64 { media_type: &'a str, data: String },
}

/// Who gets its reasoning back.
#[derive(Clone, Copy)]
pub(super) enum HandBack<'a> {
    /// Nobody: no tools are there to go on with.
    Nothing,
    /// The server and model that call themselves so.
    To(&'a str),
}

/// What the system says.
pub(super) fn system_out(messages: &[Message]) -> Vec<Block<'_>> {
    let system = messages.iter().filter(|message| message.role() == Role::System);
    system.flat_map(|message| blocks(message, HandBack::Nothing)).collect()
}

/// What the others say.
pub(super) fn messages_out<'a>(
    messages: &'a [Message],
    hand_back: HandBack<'_>,
) -> Vec<MessageOut<'a>> {
    messages.iter().filter_map(|message| message_out(message, hand_back)).collect()
}

fn message_out<'a>(message: &'a Message, hand_back: HandBack<'_>) -> Option<MessageOut<'a>> {
    let role = match message.role() {
        Role::System => return None,
        Role::User | Role::Tool => "user",
        Role::Assistant => "assistant",
    };
    let content: Vec<_> = blocks(message, hand_back).collect();
    (!content.is_empty()).then_some(MessageOut { role, content })
}

fn blocks<'a>(message: &'a Message, hand_back: HandBack<'_>) -> impl Iterator<Item = Block<'a>> {
    message.parts().iter().filter_map(move |part| {
        Some(Block::Typed(match part {
            Part::Text(text) if text.trim().is_empty() => return None,
            Part::Text(text) => BlockOut::Text { text },
            Part::Image(image) => BlockOut::Image { source: source(image) },
            Part::ToolCall(ToolCall { id, name, arguments, .. }) => {
                BlockOut::ToolUse { id, name, input: arguments }
            }
            Part::ToolResult(ToolResult { id, content, is_error, .. }) => {
                BlockOut::ToolResult { tool_use_id: id, content, is_error: *is_error }
            }
            Part::Reasoning(Reasoning { by, data, .. }) => match hand_back {
                HandBack::To(thinker) if **by == *thinker => return Some(Block::Raw(data)),
                _ => return None,
            },
        }))
    })
}

fn source(image: &Image) -> Source<'_> {
    match image {
        Image::Url(url) => Source::Url { url },
        Image::Bytes { media_type, bytes } => {
            Source::Base64 { media_type, data: STANDARD.encode(bytes) }
        }
    }
}
