//! The answer on the wire: types shared by both forms, and the whole form.
//!
//! Invariants: extra fields are fine; every essential is optional in the types, so that its absence
//! is told by name and does not lose the usage beside it; an answer without text, tool calls or a
//! stop that explains it is an error, never an empty reply; one that says error, beside its choices,
//! inside one or as the finish reason, is one, however much text stands next to it.
//!
//! Not here: pieces (`stream`), errors with an error status (`over_http`).

use std::sync::Arc;

use nucleo_core::Usage;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::OpenAiConfig;
use super::calls::{CallIn, Calls};
use super::usage::UsageWire;
use crate::providers::over_http::{ErrorBody, lenient, streamed_error};
use crate::transport::TransportError;
use crate::wire::{CallFailure, ChatReply, Reasoning, Stop, StreamedAfter};

/// A whole answer, or one event of a stream: the choices differ, the rest is the same.
#[derive(Deserialize)]
#[serde(bound = "C: Deserialize<'de>")]
pub(super) struct Answer<C> {
    pub(super) id: Option<String>,
    pub(super) choices: Option<Vec<C>>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) usage: Option<UsageWire>,
    pub(super) error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    message: Option<Said>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// What the model said: a whole message, or a delta of one.
#[derive(Deserialize)]
pub(super) struct Said {
    pub(super) content: Option<Content>,
    pub(super) refusal: Option<String>,
    #[serde(default, deserialize_with = "none_for_null")]
    pub(super) tool_calls: Vec<CallIn>,
    /// Text, where the server wants it back.
    pub(super) reasoning_content: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
pub(super) struct ContentPart {
    text: Option<String>,
}

/// `null` is a list of nothing.
fn none_for_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CallIn>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Said {
    /// Whether the model made any of it: text, thought, or a tool call.
    pub(super) fn has_output(&self) -> bool {
        let thought = self.thought().is_some_and(|text| !text.is_empty());
        thought || self.has_text() || !self.tool_calls.is_empty()
    }

    pub(super) fn thought(&self) -> Option<&str> {
        self.reasoning_content.as_ref().and_then(Value::as_str)
    }

    fn has_text(&self) -> bool {
        let content = match &self.content {
            Some(Content::Text(text)) => !text.is_empty(),
            Some(Content::Parts(parts)) => {
                parts.iter().any(|part| part.text.as_ref().is_some_and(|text| !text.is_empty()))
            }
            None => false,
        };
        content || self.refusal.as_ref().is_some_and(|text| !text.is_empty())
    }
}

impl Content {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

impl<C> Answer<C> {
    pub(super) fn used(&self) -> Option<Usage> {
        self.usage.as_ref().and_then(UsageWire::disjoint)
    }
}

/// Reads a whole answer of 2xx.
pub(super) fn whole(body: &[u8], config: &OpenAiConfig) -> Result<ChatReply, CallFailure> {
    let Ok(answer) = serde_json::from_slice::<Answer<Choice>>(body) else {
        return Err(unparsed(body));
    };
    read(answer, config)
}

/// Reads an answer whose connection broke instead of ending. It is complete by its own form when
/// its JSON is whole and names why the text ends; anything less is broken.
pub(super) fn unended(
    body: &[u8],
    config: &OpenAiConfig,
    source: TransportError,
) -> Result<ChatReply, CallFailure> {
    let answer = serde_json::from_slice::<Answer<Choice>>(body).ok();
    let usage = answer.as_ref().and_then(Answer::used);
    match answer {
        Some(answer) if answer.names_its_finish() => read(answer, config),
        _ => Err(CallFailure::Broken { missing: "its end", usage, source: Some(source) }),
    }
}

impl Answer<Choice> {
    fn names_its_finish(&self) -> bool {
        let first = self.choices.as_ref().and_then(|choices| choices.first());
        let reason = first.and_then(|choice| choice.finish_reason.as_deref());
        reason.is_some_and(|reason| !reason.is_empty())
    }

    /// The error that it says, if it says one.
    fn failed(&self) -> Option<(ErrorBody, StreamedAfter)> {
        let first = self.choices.as_ref().and_then(|choices| choices.first());
        let inside = self.error.as_ref().or_else(|| first?.error.as_ref());
        let error = match (inside, first.and_then(|choice| choice.finish_reason.as_deref())) {
            (Some(error), _) => ErrorBody::of(error),
            (None, Some(FAILED)) => ErrorBody::default(),
            (None, _) => return None,
        };
        let said = first.and_then(|choice| choice.message.as_ref()).is_some_and(Said::has_output);
        let after = if said { StreamedAfter::Text } else { StreamedAfter::Nothing };
        Some((error, after))
    }
}

fn read(answer: Answer<Choice>, config: &OpenAiConfig) -> Result<ChatReply, CallFailure> {
    let usage = answer.used();
    let unreadable = |missing| CallFailure::Unreadable { missing, usage };
    if let Some((error, after)) = answer.failed() {
        return Err(streamed_error(error.inside(config.site().key_text()), after, usage));
    }
    let choices = answer.choices.ok_or_else(|| unreadable("`choices`"))?;
    let choice = choices.into_iter().next().ok_or_else(|| unreadable("entry in `choices`"))?;
    let said = choice.message.ok_or_else(|| unreadable("`message`"))?;
    let thought = said.thought().map(ToOwned::to_owned);
    let text = match (said.content, said.refusal) {
        (Some(content), _) => SaidText::Content(content.into_text()),
        (None, Some(refusal)) => SaidText::Refusal(refusal),
        (None, None) => SaidText::Nothing,
    };
    let made = Made {
        text,
        calls: Calls::whole(said.tool_calls),
        thought,
        stop: choice.finish_reason.as_deref().map(stop),
    };
    let reply = made.reply(config.server()).map_err(unreadable)?;
    Ok(reply.usage(usage).request_id(answer.id.map(Into::into)))
}

/// What a model made, in whichever form it came.
pub(super) struct Made {
    pub(super) text: SaidText,
    pub(super) calls: Calls,
    pub(super) thought: Option<String>,
    pub(super) stop: Option<Stop>,
}

/// What was said, be it empty.
pub(super) enum SaidText {
    Nothing,
    Content(String),
    Refusal(String),
}

impl Made {
    /// The reply that it is, or the essential that it lacks.
    pub(super) fn reply(self, server: &Arc<str>) -> Result<ChatReply, &'static str> {
        let stop = match (self.stop, self.calls.is_empty()) {
            // Some servers name the usual end, or none, after calls.
            (None | Some(Stop::End | Stop::Other(_)), false) => Stop::ToolCalls,
            (Some(stop), _) => stop,
            (None, true) => Stop::Other(String::new()),
        };
        let text = match self.text {
            SaidText::Refusal(refusal) => return Ok(ChatReply::new(refusal, Stop::ContentFilter)),
            SaidText::Content(text) => Some(text),
            SaidText::Nothing => None,
        };
        let calls = self.calls.finish(&stop)?;
        match (&text, &stop) {
            _ if !calls.is_empty() => {}
            (text, Stop::ToolCalls) if text.as_ref().is_none_or(String::is_empty) => {
                return Err("`tool_calls`");
            }
            (None, stop) if !explains_silence(stop) => return Err("`content`"),
            _ => {}
        }
        let of_server = |text| Reasoning::new(Arc::clone(server), Value::String(text));
        let reasoning = self.thought.map(of_server).into_iter().collect();
        Ok(ChatReply::new(text.unwrap_or_default(), stop).calls(calls).reasoning(reasoning))
    }
}

/// The finish reason of an answer that its server could not finish.
pub(super) const FAILED: &str = "error";

/// Stops after which an answer without text is a real answer.
const fn explains_silence(stop: &Stop) -> bool {
    matches!(stop, Stop::OutputLimit | Stop::ContentFilter)
}

/// A body that is no chat completion: say which essential fails, and keep the usage if there is one.
fn unparsed(body: &[u8]) -> CallFailure {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return CallFailure::Unreadable { missing: "valid JSON", usage: None };
    };
    let usage = value.get("usage").and_then(|usage| UsageWire::deserialize(usage).ok());
    let usage = usage.as_ref().and_then(UsageWire::disjoint);
    CallFailure::Unreadable { missing: "`choices` of the known form", usage }
}

/// The stop that a `finish_reason` stands for.
pub(super) fn stop(reason: &str) -> Stop {
    match reason {
        "stop" => Stop::End,
        "length" => Stop::OutputLimit,
        "content_filter" => Stop::ContentFilter,
        "tool_calls" | "function_call" => Stop::ToolCalls,
        other => Stop::Other(other.chars().take(64).collect()),
    }
}
