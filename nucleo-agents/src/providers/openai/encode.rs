//! The request on the wire.
//!
//! Invariants: the output limit sent is `max_output`, under the one name the dialect knows; texts
//! are borrowed until the body is written, so a long conversation exists once more only as the body.
//!
//! `strict` of a schema is sent only where the schema keeps strict mode's own rules (every object
//! closed and all its properties required): OpenAI refuses the request otherwise, and an answer is
//! judged on our side in any case.
//!
//! Not here: the messages (`messages`), the tools (`tools`), the answer (`decode`, `stream`).

use bytes::Bytes;
use http::Request;
use serde::Serialize;
use serde_json::Value;

use super::messages::{HandBack, MessageOut, messages_out};
use super::tools::{ChoiceOut, ToolOut};
use super::{Dialect, OpenAiConfig};
use crate::providers::over_http::post;
use crate::wire::{ChatRequest, ResponseSchema, Streaming};

pub(super) fn encode(config: &OpenAiConfig, request: &ChatRequest) -> Request<Bytes> {
    post(config.site(), request, body(config.spoken(), config.server(), request))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<MessageOut<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ChoiceOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    schema: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

pub(super) fn body(dialect: Dialect, server: &str, request: &ChatRequest) -> Bytes {
    let (max_completion_tokens, max_tokens) = match dialect {
        Dialect::OpenAi => (Some(request.max_output), None),
        Dialect::Compatible => (None, Some(request.max_output)),
    };
    let pieces = request.streaming == Streaming::Pieces;
    let hand_back = if request.tools.is_empty() { HandBack::Nothing } else { HandBack::To(server) };
    let body = Body {
        model: &request.wire_id,
        messages: messages_out(&request.messages, hand_back),
        tools: request.tools.iter().map(|tool| ToolOut::of(tool, dialect)).collect(),
        tool_choice: ChoiceOut::of(request),
        max_completion_tokens,
        max_tokens,
        temperature: request.temperature,
        response_format: request.schema.as_ref().map(response_format),
        stream: pieces.then_some(true),
        stream_options: pieces.then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).expect("strings, numbers and a JSON value always serialise").into()
}

fn response_format(schema: &ResponseSchema) -> ResponseFormat<'_> {
    let json_schema = JsonSchema {
        name: &schema.name,
        schema: &schema.schema,
        strict: fits_strict(&schema.schema),
    };
    ResponseFormat { r#type: "json_schema", json_schema }
}

/// True when every object in the schema is closed and requires all its properties.
pub(super) fn fits_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
            let required = map.get("required").and_then(Value::as_array);
            let all = match map.get("properties").and_then(Value::as_object) {
                None => map.get("type").and_then(Value::as_str) != Some("object") || closed,
                Some(properties) => {
                    let requires = |name: &String| {
                        required.is_some_and(|r| r.iter().any(|v| v.as_str() == Some(name)))
                    };
                    closed && properties.keys().all(requires)
                }
            };
            all && map.iter().filter(|(key, _)| *key != "required").all(|(_, v)| fits_strict(v))
        }
        Value::Array(values) => values.iter().all(fits_strict),
        _ => true,
    }
}
