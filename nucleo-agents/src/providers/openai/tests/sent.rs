//! Requests on the wire.

use serde_json::{Value, json};

use super::super::encode::body;
use crate::providers::openai::Dialect;
use crate::wire::{ChatRequest, Message, ResponseSchema, Streaming};

const SERVER: &str = "openai-compatible h";

fn sent(dialect: Dialect, request: &ChatRequest) -> Value {
    serde_json::from_slice(&body(dialect, SERVER, request)).unwrap()
}

fn plain() -> ChatRequest {
    ChatRequest::new("m", vec![Message::system("Be brief."), Message::user("Why?")], 64)
}

#[test]
fn the_plain_request() {
    let messages =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]);
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
