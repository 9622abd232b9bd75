//! Requests on the wire.

use serde_json::{Value, json};

use super::super::encode::body;
use crate::providers::openai::Dialect;
use crate::wire::{
    ChatRequest, Message, Part, Reasoning, ResponseSchema, Role, Streaming, ToolCall, ToolChoice,
    ToolResult, ToolSpec,
};

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

fn messages(messages: Vec<Message>) -> Value {
    sent(Dialect::Compatible, &ChatRequest::new("m", messages, 1))["messages"].take()
}

#[test]
fn tools_and_their_choice() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "required": ["a"], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let tools = [
        ToolSpec::new("first", "Does it", closed.clone()),
        ToolSpec::new("second", "", open.clone()),
    ];
    let request = plain().tools(tools);
    let function = |mut function: Value, strict: bool| {
        if strict {
            function["strict"] = json!(true);
        }
        json!({"type": "function", "function": function})
    };
    for dialect in [Dialect::OpenAi, Dialect::Compatible] {
        let body = sent(dialect, &request);
        let first = json!({"name": "first", "description": "Does it", "parameters": closed});
        let second = json!({"name": "second", "description": "", "parameters": open});
        let strict = dialect == Dialect::OpenAi;
        assert_eq!(body["tools"], json!([function(first, strict), function(second, false)]));
        assert_eq!(body.get("tool_choice"), None);
    }
    for (choice, said) in [
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (
            ToolChoice::Named("first".into()),
            json!({"type": "function", "function": {"name": "first"}}),
        ),
    ] {
        let body = sent(Dialect::OpenAi, &request.clone().tool_choice(choice.clone()));
        assert_eq!(body["tool_choice"], said);
        let body = sent(Dialect::OpenAi, &plain().tool_choice(choice));
        assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None), "without tools");
    }
}

#[test]
fn calls_and_results() {
    let call = |id: &str| ToolCall::new(id, "n", json!({"x": 1}));
    let sent_call = |id: &str| {
        json!({"id": id, "type": "function",
        "function": {"name": "n", "arguments": "{\"x\":1}"}})
    };
    let text = |text: &str| Part::text(text);
    assert_eq!(
        messages(vec![
            Message::of(Role::Assistant, [text("Let me see."), call("a").into()]),
            Message::tool_results([ToolResult::found("a", "here"), ToolResult::error("b", "gone")]),
            Message::of(Role::Assistant, [Part::from(call("c")), call("d").into()]),
            Message::of(Role::Assistant, []),
            Message::of(Role::User, [ToolResult::found("e", "x").into(), text("and this")]),
        ]),
        json!([
            {"role": "assistant", "content": "Let me see.", "tool_calls": [sent_call("a")]},
            {"role": "tool", "tool_call_id": "a", "content": "here"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: gone"},
            {"role": "assistant", "tool_calls": [sent_call("c"), sent_call("d")]},
            {"role": "assistant", "content": ""},
            {"role": "tool", "tool_call_id": "e", "content": "x"},
            {"role": "user", "content": "and this"},
        ])
    );
}

#[test]
fn images() {
    let parts =
        [Part::text("a"), Part::image("image/png", vec![0, 255, 1]), Part::image_url("http://h/i")];
    assert_eq!(
        messages(vec![Message::of(Role::User, parts)]),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AP8B"}},
            {"type": "image_url", "image_url": {"url": "http://h/i"}},
        ]}])
    );
}

#[test]
fn reasoning_goes_back_to_its_server_where_tools_are() {
    let thought = |by: &str, text: &str| Part::from(Reasoning::new(by, json!(text)));
    let said = Message::of(
        Role::Assistant,
        [
            thought(SERVER, ""),
            thought("another", "secret"),
            thought(SERVER, "mine"),
            Part::text("x"),
        ],
    );
    let request = ChatRequest::new("m", vec![said], 1);
    let body = sent(Dialect::Compatible, &request);
    assert_eq!(body["messages"], json!([{"role": "assistant", "content": "x"}]));
    let request = request.tools([ToolSpec::new("n", "", json!({"type": "object"}))]);
    let body = sent(Dialect::Compatible, &request);
    assert_eq!(
        body["messages"],
        json!([{"role": "assistant", "content": "x", "reasoning_content": "mine"}])
    );
}
