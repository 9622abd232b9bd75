//! Messages on the wire.
//!
//! One of ours may be several of the wire's: each tool result is a message by itself there. The wire
//! has no flag for a result that is an error, so its text says it ([`ToolResult::as_text`]).
//!
//! Invariants: nothing of a message is left out, but for reasoning that another provider made or
//! that nobody wants back (it is sent where tools are, with what came of it); a part in a place that
//! the wire has no form for is sent in its form all the same, and the server refuses it.
//!
//! Not here: the request around them (`encode`), tools (`tools`).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::tools::CallOut;
use crate::wire::{Image, Message, Part, Reasoning, Role, ToolResult};

#[derive(Serialize)]
pub(super) struct MessageOut<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<ContentOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallOut<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentOut<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<PartOut<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum PartOut<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Cow<'a, str>,
}

/// Who gets its reasoning back.
#[derive(Clone, Copy)]
pub(super) enum HandBack<'a> {
    /// Nobody: no tools are there to go on with.
    Nothing,
    /// The server that calls itself so.
    To(&'a str),
}

/// All messages of a conversation.
pub(super) fn messages_out<'a>(
    messages: &'a [Message],
    hand_back: HandBack<'_>,
) -> Vec<MessageOut<'a>> {
    messages.iter().flat_map(|message| message_out(message, hand_back)).collect()
}

fn message_out<'a>(message: &'a Message, hand_back: HandBack<'_>) -> Vec<MessageOut<'a>> {
    let results = message.parts().iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result_out(result)),
        _ => None,
    });
    let mut out = results.collect::<Vec<_>>();
    let said = |part: &Part| !matches!(part, Part::ToolResult(_));
    if out.is_empty() || message.parts().iter().any(said) {
        out.push(said_out(message, hand_back));
    }
    out
}

fn result_out(result: &ToolResult) -> MessageOut<'_> {
    MessageOut {
        role: Role::Tool.name(),
        tool_call_id: Some(&result.id),
        content: Some(ContentOut::Text(result.as_text())),
        reasoning_content: None,
        tool_calls: Vec::new(),
    }
}

fn said_out<'a>(message: &'a Message, hand_back: HandBack<'_>) -> MessageOut<'a> {
    let tool_calls = message.tool_calls().map(CallOut::of).collect::<Vec<_>>();
    MessageOut {
        role: message.role().name(),
        tool_call_id: None,
        content: content(message, tool_calls.is_empty()),
        reasoning_content: reasoning(message, hand_back),
        tool_calls,
    }
}

/// The content; none where there is no text and calls stand in its place.
fn content(message: &Message, needed: bool) -> Option<ContentOut<'_>> {
    if !message.parts().iter().any(|part| matches!(part, Part::Image(_))) {
        let text = message.text();
        return (needed || !text.is_empty()).then_some(ContentOut::Text(text));
    }
    let parts = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(PartOut::Text { text }),
        Part::Image(image) => Some(PartOut::ImageUrl { image_url: ImageUrl { url: url(image) } }),
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Reasoning(_) => None,
    });
    Some(ContentOut::Parts(parts.collect()))
}

fn url(image: &Image) -> Cow<'_, str> {
    match image {
        Image::Url(url) => Cow::Borrowed(url),
        Image::Bytes { media_type, bytes } => {
            Cow::Owned(format!("data:{media_type};base64,{}", STANDARD.encode(bytes)))
        }
    }
}

/// What this server thought, its pieces together.
fn reasoning<'a>(message: &'a Message, hand_back: HandBack<'_>) -> Option<Cow<'a, str>> {
    let HandBack::To(server) = hand_back else { return None };
    let mut pieces = message.parts().iter().filter_map(|part| match part {
        Part::Reasoning(Reasoning { by, data }) if **by == *server => data.as_str(),
        _ => None,
    });
    let first = pieces.next()?;
    Some(pieces.fold(Cow::Borrowed(first), |all, piece| all + piece))
}
