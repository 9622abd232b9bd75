//! Requests on the wire.

use serde_json::json;

use super::super::AnswerForm;
use super::super::tools::ANSWER_TOOL;
use super::*;
use crate::wire::{
    Hints, Message, Part, Reasoning, ResponseSchema, Role, ToolCall, ToolChoice, ToolResult,
    ToolSpec,
};

fn config() -> AnthropicConfig {
    AnthropicConfig::new("http://h").unwrap().api_key("sk-x".into()).unwrap()
}

fn sent(config: &AnthropicConfig, request: &ChatRequest) -> Value {
    serde_json::from_slice(encode(config, request).body()).unwrap()
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[test]
fn the_plain_request() {
    let messages = vec![Message::system("Be brief."), Message::user("Why?")];
    let request = ChatRequest::new("m", messages, 64);
    let user = json!({"role": "user", "content": text("Why?")});
    let body = json!({"model": "m", "max_tokens": 64, "system": text("Be brief."),
        "messages": [user]});
    assert_eq!(sent(&config(), &request), body);
    let sent = encode(&config(), &request.hints(Hints::output_tokens(9)));
    let header = |name: &str| sent.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-api-key"), "sk-x");
    assert_eq!(header("anthropic-version"), "2023-06-01");
    assert_eq!(header("accept"), "application/json");
    assert_eq!(header("x-nucleo-output-tokens"), "9");
    assert!(!sent.headers().contains_key("authorization"));
    assert_eq!(sent.uri(), "http://h/v1/messages");
}

#[test]
fn streams_and_temperature() {
    let request = ChatRequest::new("m", vec![Message::user("Why?")], 64);
    let request = request.streaming(Streaming::Pieces).temperature(0.5);
    let body = sent(&config(), &request);
    assert_eq!((&body["stream"], &body["temperature"]), (&json!(true), &json!(0.5)));
    assert_eq!(encode(&config(), &request).headers()["accept"], "text/event-stream");
}

#[test]
fn what_the_system_says_goes_up_and_what_nobody_says_goes() {
    let messages = vec![
        Message::user("One"),
        Message::system("Later rule."),
        Message::assistant(" \n"),
        Message::user("Two"),
        Message::system(""),
        Message::of(Role::User, [Part::text("a"), Part::text("")]),
    ];
    let body = sent(&config(), &ChatRequest::new("m", messages, 64));
    assert_eq!(body["system"], text("Later rule."));
    let said = |said| json!({"role": "user", "content": text(said)});
    assert_eq!(body["messages"], json!([said("One"), said("Two"), said("a")]));
}

#[test]
fn a_form_is_asked_for_as_a_format_or_as_a_tool() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "required": ["a"], "additionalProperties": false});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let format = |schema: &Value| json!({"format": {"type": "json_schema", "schema": schema}});
    let tool =
        |schema: &Value| json!([{"name": "n", "description": ANSWER_TOOL, "input_schema": schema}]);
    for (schema, form, output_config, tools) in [
        (&closed, AnswerForm::Format, format(&closed), Value::Null),
        (&closed, AnswerForm::Tool, Value::Null, tool(&closed)),
        (&map, AnswerForm::Format, Value::Null, tool(&map)),
    ] {
        let asked = ResponseSchema { name: "n".into(), schema: schema.clone().into() };
        let request = ChatRequest::new("m", vec![Message::user("q")], 64).schema(asked);
        let body = sent(&config().answer_form(form), &request);
        assert_eq!((&body["output_config"], &body["tools"]), (&output_config, &tools));
        let forced = json!({"type": "tool", "name": "n"});
        let choice = if tools.is_null() { Value::Null } else { forced };
        assert_eq!(body["tool_choice"], choice);
    }
}

#[test]
fn tools_their_choice_and_the_tool_that_is_the_answer() {
    let any = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let plain = ChatRequest::new("m", vec![Message::user("q")], 64).tools([
        ToolSpec::new("first", "Does it", any.clone()),
        ToolSpec::new("second", "", any.clone()),
    ]);
    let offered = [
        json!({"name": "first", "description": "Does it", "input_schema": any}),
        json!({"name": "second", "input_schema": any}),
        json!({"name": "form", "description": ANSWER_TOOL, "input_schema": map}),
    ];
    let asked = ResponseSchema { name: "form".into(), schema: map.into() };
    let typed = |kind: &str| json!({"type": kind});
    let tool = |name: &str| json!({"type": "tool", "name": name});
    for (choice, alone, with_form) in [
        (ToolChoice::Auto, Value::Null, typed("any")),
        (ToolChoice::None, typed("none"), tool("form")),
        (ToolChoice::Required, typed("any"), typed("any")),
        (ToolChoice::Named("first".into()), tool("first"), tool("first")),
    ] {
        let request = plain.clone().tool_choice(choice);
        let body = sent(&config(), &request);
        assert_eq!((&body["tools"], &body["tool_choice"]), (&json!(offered[..2]), &alone));
        let body = sent(&config(), &request.schema(asked.clone()));
        assert_eq!((&body["tools"], &body["tool_choice"]), (&json!(offered), &with_form));
    }
    let without = ChatRequest::new("m", vec![Message::user("q")], 64);
    let body = sent(&config(), &without.tool_choice(ToolChoice::Required));
    assert!(body["tools"].is_null() && body["tool_choice"].is_null(), "no tools, no choice");
}

#[test]
fn every_part_of_a_message() {
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    let mine = Reasoning::new("anthropic h m", thought.clone());
    let others = ["anthropic h n", "anthropic i m", "openai-compatible h"]
        .map(|by| Part::Reasoning(Reasoning::new(by, json!("no"))));
    let said = [mine.into(), Part::text("Let me see."), tool_call().into()];
    let messages = vec![
        Message::of(
            Role::User,
            [
                Part::text("What is it?"),
                Part::image("image/png", &b"\x89PNG"[..]),
                Part::image_url("https://example.org/map.png"),
            ],
        ),
        Message::of(Role::Assistant, others.into_iter().chain(said)),
        Message::tool_results([ToolResult::found("c1", "a map"), ToolResult::error("c2", "no")]),
    ];
    let request = ChatRequest::new("m", messages, 64);
    let mut assistant = vec![
        json!({"type": "text", "text": "Let me see."}),
        json!({"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "map"}}),
    ];
    let png = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw=="});
    let body = sent(&config(), &request);
    let url = json!({"type": "url", "url": "https://example.org/map.png"});
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"type": "text", "text": "What is it?"}, {"type": "image", "source": png},
            {"type": "image", "source": url}])
    );
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": assistant}));
    let results = json!([
        {"type": "tool_result", "tool_use_id": "c1", "content": "a map"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": true}]);
    assert_eq!(body["messages"][2], json!({"role": "user", "content": results}));
    let tools = [ToolSpec::new("look", "", json!({"type": "object"}))];
    let body = sent(&config(), &request.tools(tools));
    assert_eq!(body["messages"][1]["content"][0], thought, "its own, where tools are");
    assistant.insert(0, thought);
    assert_eq!(body["messages"][1]["content"], json!(assistant));
}

fn tool_call() -> ToolCall {
    ToolCall::new("c1", "look", json!({"at": "map"}))
}
