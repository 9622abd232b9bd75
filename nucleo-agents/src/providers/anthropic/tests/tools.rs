//! Tool calls and thinking that come back, whole and in pieces.

use serde_json::{Value, json};

use super::support::{answered, events, in_pieces, question, streamed};
use crate::wire::{EndsAt, Reasoning, Stop, ToolCall};

fn thoughts() -> Vec<Reasoning> {
    [
        json!({"type": "thinking", "thinking": "Both cities.", "signature": "c2lnbmVk"}),
        json!({"type": "redacted_thinking", "data": "aGlkZGVu"}),
    ]
    .map(|data| Reasoning::new("anthropic h m", data))
    .into()
}

fn calls() -> Vec<ToolCall> {
    vec![
        ToolCall::new("toolu_01", "weather", json!({"city": "Paris"})),
        ToolCall::new("toolu_02", "now", json!({})),
    ]
}

#[test]
fn calls_and_thinking_are_the_same_whole_and_in_pieces() {
    let body = include_str!("../fixtures/stream_calls.txt");
    for size in [1, 5, 77, usize::MAX] {
        let streamed = in_pieces(&question(), "text/event-stream", body.as_bytes(), size, false);
        let reply = streamed.0.unwrap();
        assert_eq!((&*reply.text, &reply.stop), ("I'll look.", &Stop::ToolCalls));
        assert_eq!((&reply.calls, &reply.reasoning), (&calls(), &thoughts()));
        assert_eq!(reply.usage.unwrap().total(), 150);
        let told = "usage=90+2 usage=outdated `I'll look.` usage=90+60";
        assert_eq!(streamed.1, format!("leaving head=200 {told}"), "calls are no text");
    }
    let content = json!([
        {"type": "thinking", "thinking": "Both cities.", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "aGlkZGVu"},
        {"type": "text", "text": "I'll look."},
        {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_02", "name": "now"},
    ]);
    let body = json!({"content": content, "stop_reason": "tool_use"}).to_string();
    let reply = answered(200, "application/json", &body).0.unwrap();
    assert_eq!((&*reply.text, &reply.stop), ("I'll look.", &Stop::ToolCalls));
    assert_eq!((&reply.calls, &reply.reasoning), (&calls(), &thoughts()));
    let message = reply.to_message();
    let kinds = message.parts().iter().map(|part| format!("{part:?}"));
    let kinds: Vec<_> = kinds.map(|part| part.split('(').next().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["Reasoning", "Reasoning", "Text", "ToolCall", "ToolCall"]);
}

/// The events of one call whose input comes as these pieces.
fn one_call(start: &Value, pieces: &[&str], stop: &str) -> String {
    let mut data = vec![
        json!({"type": "message_start", "message": {"content": []}}),
        json!({"type": "content_block_start", "content_block": start}),
    ];
    data.extend(pieces.iter().map(|piece| {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        json!({"type": "content_block_delta", "delta": delta})
    }));
    data.push(json!({"type": "content_block_stop"}));
    data.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}}));
    data.push(json!({"type": "message_stop"}));
    let data: Vec<_> = data.iter().map(Value::to_string).collect();
    events(&data.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_call_is_whole_or_it_is_none() {
    let start =
        |id: Value, name: Value| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let sound = start(json!("1"), json!("t"));
    for (start, pieces, lacks) in [
        (start(Value::Null, json!("t")), &["{}"][..], "`id`"),
        (start(json!(""), json!("t")), &["{}"], "`id`"),
        (start(json!("1"), Value::Null), &["{}"], "`name`"),
        (sound.clone(), &["{\"a\":"], "JSON as `input`"),
        (sound.clone(), &["{}", "}"], "JSON as `input`"),
    ] {
        let failure = streamed(&one_call(&start, pieces, "tool_use")).0.unwrap_err();
        assert_eq!((failure.name(), failure.ends_at()), ("unreadable", EndsAt::FullAnswer));
        assert!(failure.to_string().contains(lacks), "{failure}");
        let cut = streamed(&one_call(&start, pieces, "max_tokens")).0.unwrap();
        assert_eq!((cut.calls.len(), cut.stop), (0, Stop::OutputLimit), "{lacks}: left out");
    }
    let whole = streamed(&one_call(&sound, &["{\"a\"", ": 1}"], "max_tokens")).0.unwrap();
    assert_eq!(whole.calls, [ToolCall::new("1", "t", json!({"a": 1}))]);
    let mut begun = sound;
    begun["input"] = json!({"b": 2});
    let reply = streamed(&one_call(&begun, &[], "tool_use")).0.unwrap();
    assert_eq!(reply.calls, [ToolCall::new("1", "t", json!({"b": 2}))]);
}

#[test]
fn the_last_call_of_a_whole_answer_that_was_cut_is_left_out() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "t", "input": {"a": 1}});
    let text = json!({"type": "text", "text": "x"});
    for (content, kept) in
        [(json!([call("1"), call("2")]), 1), (json!([call("1"), text]), 1), (json!([call("1")]), 0)]
    {
        let body = json!({"content": content, "stop_reason": "max_tokens"}).to_string();
        let reply = answered(200, "application/json", &body).0.unwrap();
        assert_eq!((reply.calls.len(), reply.stop), (kept, Stop::OutputLimit), "{content}");
    }
}

#[test]
fn who_stops_for_calls_has_some() {
    let call = json!({"type": "tool_use", "id": "1", "name": "t", "input": {}});
    for reason in ["end_turn", "of its own", "tool_use"] {
        let body = json!({"content": [call], "stop_reason": reason}).to_string();
        assert_eq!(answered(200, "application/json", &body).0.unwrap().stop, Stop::ToolCalls);
    }
    let body = json!({"content": [], "stop_reason": "tool_use"}).to_string();
    let failure = answered(200, "application/json", &body).0.unwrap_err();
    assert!(failure.to_string().contains("`tool_use`"), "{failure}");
    let words = json!([{"type": "text", "text": "x"}]);
    let body = json!({"content": words, "stop_reason": "tool_use"}).to_string();
    assert_eq!(answered(200, "application/json", &body).0.unwrap().text, "x");
}
