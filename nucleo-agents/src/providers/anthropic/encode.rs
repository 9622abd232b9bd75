//! The request on the wire.
//!
//! Invariants: `max_tokens` is `max_output`; what the system says goes into `system`, wherever in the
//! conversation it stood; texts are borrowed until the body is written.
//!
//! Not here: the messages (`messages`), the tools (`tools`), what a schema may be (`schema`), the
//! answer (`decode`, `stream`).

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request};
use serde::Serialize;
use serde_json::Value;

use super::AnthropicConfig;
use super::blocks::thinker;
use super::messages::{Block, HandBack, MessageOut, messages_out, system_out};
use super::schema::Shown;
use super::tools::{AnswerTool, ChoiceOut, ToolOut, tools_out};
use crate::providers::over_http::post;
use crate::wire::{ChatRequest, Streaming};

/// The version of the wire that is written here.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
const VERSION_HEADER: HeaderName = HeaderName::from_static("anthropic-version");

pub(super) fn encode(config: &AnthropicConfig, request: &ChatRequest) -> Request<Bytes> {
    let mut sent = post(config.site(), request, body(config, request));
    sent.headers_mut().insert(VERSION_HEADER, VERSION);
    sent
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<MessageOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ChoiceOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    format: Format<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format<'a> {
    JsonSchema { schema: &'a Value },
}

fn body(config: &AnthropicConfig, request: &ChatRequest) -> Bytes {
    let asked = request.schema.as_ref();
    let shown = asked.map(|asked| (asked, Shown::of(&asked.schema, config.asked_as())));
    let (format, answer) = match &shown {
        Some((_, Shown::Format(schema))) => (Some(Format::JsonSchema { schema }), None),
        Some((asked, Shown::Tool(schema))) => {
            (None, Some(AnswerTool { name: &asked.name, schema }))
        }
        None => (None, None),
    };
    let thinker = thinker(config.site().authority(), request);
    let hand_back =
        if request.tools.is_empty() { HandBack::Nothing } else { HandBack::To(&thinker) };
    let body = Body {
        model: &request.wire_id,
        max_tokens: request.max_output,
        system: system_out(&request.messages),
        messages: messages_out(&request.messages, hand_back),
        temperature: request.temperature,
        output_config: format.map(|format| OutputConfig { format }),
        tools: tools_out(request, answer),
        tool_choice: ChoiceOut::of(request, answer),
        stream: (request.streaming == Streaming::Pieces).then_some(true),
    };
    serde_json::to_vec(&body).expect("strings, numbers and a JSON value always serialise").into()
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
