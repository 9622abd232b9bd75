//! The answer on the wire: types shared by both forms, and the whole form.
//!
//! Invariants: extra fields and blocks of kinds we don't know are fine; every essential is optional in
//! the types, so that its absence is told by name and does not lose the usage beside it; an answer
//! without `content` is an error, never an empty reply (an empty list is an answer: the model had
//! nothing to say); one that says error is one, however much text stands next to it.
//!
//! Not here: pieces (`stream`), what becomes of the blocks (`blocks`), errors with an error status
//! (`over_http`).

use serde::Deserialize;
use serde_json::Value;

use super::blocks::{Asked, CallSaid, Said, hidden_thought, reply, thought};
use super::usage::UsageWire;
use crate::providers::over_http::{ErrorBody, lenient, streamed_error};
use crate::transport::TransportError;
use crate::wire::{CallFailure, ChatReply, Stop, StreamedAfter};

/// A whole message, or the one that opens a stream.
#[derive(Deserialize)]
pub(super) struct MessageIn {
    pub(super) id: Option<String>,
    content: Option<Vec<Block>>,
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<UsageWire>,
    error: Option<Value>,
}

/// One block of what the model said. Kinds we don't know are only kinds.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    r#type: Kind,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<Value>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

/// What kind of block it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    #[default]
    #[serde(other)]
    Other,
}

impl Block {
    /// Whether the model made any of it: everything but a text, or a thought, that is still empty.
    pub(super) fn has_output(&self) -> bool {
        let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        match self.r#type {
            Kind::Text => filled(&self.text),
            Kind::Thinking => filled(&self.thinking),
            _ => true,
        }
    }

    /// What it says; what it lacks for that, by name.
    pub(super) fn said(self) -> Result<Said, &'static str> {
        Ok(match self.r#type {
            Kind::Text => Said::Text(self.text.ok_or("`text` in a block")?),
            Kind::Thinking => {
                let signature = self.signature.unwrap_or_default();
                thought(&self.thinking.unwrap_or_default(), &signature)
            }
            Kind::RedactedThinking => {
                hidden_thought(self.data.as_ref().and_then(Value::as_str).unwrap_or_default())
            }
            Kind::ToolUse => {
                let input = self.input.filter(|input| !input.is_null());
                let input = input.map_or_else(String::new, |input| input.to_string());
                Said::Call(CallSaid { id: self.id, name: self.name, input })
            }
            Kind::Other => Said::Other,
        })
    }
}

/// Reads a whole answer of 2xx.
pub(super) fn whole(body: &[u8], key: &str, asked: &Asked) -> Result<ChatReply, CallFailure> {
    let Ok(message) = serde_json::from_slice::<MessageIn>(body) else {
        return Err(unparsed(body));
    };
    read(message, key, asked)
}

/// Reads an answer whose connection broke instead of ending. It is complete by its own form when
/// its JSON is whole and names why the text ends; anything less is broken.
pub(super) fn unended(
    body: &[u8],
    key: &str,
    asked: &Asked,
    source: TransportError,
) -> Result<ChatReply, CallFailure> {
    let message = serde_json::from_slice::<MessageIn>(body).ok();
    let usage = message.as_ref().and_then(|message| message.usage?.disjoint());
    match message {
        Some(message) if message.stop_reason.as_ref().is_some_and(|why| !why.is_empty()) => {
            read(message, key, asked)
        }
        _ => Err(CallFailure::Broken { missing: "its end", usage, source: Some(source) }),
    }
}

fn read(message: MessageIn, key: &str, asked: &Asked) -> Result<ChatReply, CallFailure> {
    let usage = message.usage.and_then(UsageWire::disjoint);
    let unreadable = |missing| CallFailure::Unreadable { missing, usage };
    if let Some(error) = &message.error {
        let said = message.content.iter().flatten().any(Block::has_output);
        let after = if said { StreamedAfter::Text } else { StreamedAfter::Nothing };
        return Err(streamed_error(ErrorBody::of(error).inside(key), after, usage));
    }
    let blocks = message.content.ok_or_else(|| unreadable("`content`"))?;
    let stop = stop(message.stop_reason.as_deref().unwrap_or(""));
    let said = blocks.into_iter().map(Block::said).collect::<Result<Vec<_>, _>>();
    let mut said = said.map_err(unreadable)?;
    if stop == Stop::OutputLimit && matches!(said.last(), Some(Said::Call(_))) {
        // The limit cut its input, though what stands there is JSON.
        said.pop();
    }
    let reply = reply(said, stop, asked).map_err(unreadable)?;
    Ok(reply.usage(usage).request_id(message.id.map(Into::into)))
}

/// A body that is no message: say which essential fails, and keep the usage if there is one.
fn unparsed(body: &[u8]) -> CallFailure {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return CallFailure::Unreadable { missing: "valid JSON", usage: None };
    };
    let usage = value.get("usage").and_then(|usage| UsageWire::deserialize(usage).ok());
    let usage = usage.and_then(UsageWire::disjoint);
    CallFailure::Unreadable { missing: "`content` of the known form", usage }
}

/// The stop that a `stop_reason` stands for.
pub(super) fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::End,
        // The window is the limit then: the text is cut either way.
        "max_tokens" | "model_context_window_exceeded" => Stop::OutputLimit,
        "refusal" => Stop::ContentFilter,
        "tool_use" => Stop::ToolCalls,
        other => Stop::Other(other.chars().take(64).collect()),
    }
}
