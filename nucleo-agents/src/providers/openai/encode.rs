//! The request on the wire.
//!
//! Invariants: the output limit sent is `max_output`, under the one name the dialect knows; texts
//! are borrowed until the body is written, so a long conversation exists once more only as the body.
//!
//! `strict` of a schema is sent only where the schema keeps strict mode's own rules (every object
//! closed and all its properties required): OpenAI refuses the request otherwise, and an answer is
//! judged on our side in any case.
//!
//! Not here: the answer (`decode`, `stream`).

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use serde::Serialize;
use serde_json::Value;

use super::{Dialect, OpenAiConfig};
use crate::wire::{ChatRequest, Message, ResponseSchema, Streaming};

/// The header by which a loopback server is told how long to answer.
pub(crate) const OUTPUT_TOKENS_HINT: &str = "x-nucleo-output-tokens";

pub(super) fn encode(config: &OpenAiConfig, request: &ChatRequest) -> Request<Bytes> {
    let mut sent = Request::new(body(config.spoken(), request));
    *sent.method_mut() = Method::POST;
    *sent.uri_mut() = config.uri().clone();
    let headers = sent.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept(request.streaming)));
    if let Some(authorization) = config.authorization() {
        headers.insert(header::AUTHORIZATION, authorization.clone());
    }
    if let Some(tokens) = request.hints.output_tokens {
        headers.insert(OUTPUT_TOKENS_HINT, tokens.into());
    }
    sent
}

const fn accept(streaming: Streaming) -> &'static str {
    match streaming {
        Streaming::Whole => "application/json",
        Streaming::Pieces => "text/event-stream",
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<MessageOut<'a>>,
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
struct MessageOut<'a> {
    role: &'static str,
    content: Cow<'a, str>,
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

fn body(dialect: Dialect, request: &ChatRequest) -> Bytes {
    let (max_completion_tokens, max_tokens) = match dialect {
        Dialect::OpenAi => (Some(request.max_output), None),
        Dialect::Compatible => (None, Some(request.max_output)),
    };
    let pieces = request.streaming == Streaming::Pieces;
    let body = Body {
        model: &request.wire_id,
        messages: request.messages.iter().map(message_out).collect(),
        max_completion_tokens,
        max_tokens,
        temperature: request.temperature,
        response_format: request.schema.as_ref().map(response_format),
        stream: pieces.then_some(true),
        stream_options: pieces.then_some(StreamOptions { include_usage: true }),
    };
    serde_json::to_vec(&body).expect("strings, numbers and a JSON value always serialise").into()
}

fn message_out(message: &Message) -> MessageOut<'_> {
    MessageOut { role: message.role().name(), content: message.text() }
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
fn fits_strict(schema: &Value) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(dialect: Dialect, request: &ChatRequest) -> Value {
        serde_json::from_slice(&body(dialect, request)).unwrap()
    }

    fn plain() -> ChatRequest {
        ChatRequest::new("m", vec![Message::system("Be brief."), Message::user("Why?")], 64)
    }

    #[test]
    fn the_plain_request() {
        let messages = json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]);
        assert_eq!(
            sent(Dialect::Compatible, &plain()),
            json!({"model": "m", "messages": messages, "max_tokens": 64})
        );
        assert_eq!(
            sent(Dialect::OpenAi, &plain()),
            json!({"model": "m", "messages": messages, "max_completion_tokens": 64})
        );
    }

    #[test]
    fn streams_ask_for_usage() {
        let body = sent(Dialect::OpenAi, &plain().streaming(Streaming::Pieces).temperature(0.5));
        assert_eq!(body["stream"], true);
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
        assert_eq!(body["temperature"], 0.5);
    }

    #[test]
    fn schemas_are_strict_only_where_they_keep_its_rules() {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"], "additionalProperties": false});
        let open = json!({"type": "object", "properties": {"a": closed}, "required": ["a"]});
        for (schema, strict) in [(closed, true), (open, false)] {
            let asked = ResponseSchema { name: "n".into(), schema: schema.clone().into() };
            let body = sent(Dialect::OpenAi, &plain().schema(asked));
            assert_eq!(
                body["response_format"],
                json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": strict}})
            );
        }
    }
}
