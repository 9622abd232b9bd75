//! Messages in JSON, and what `Debug` shows of them.

use serde_json::json;

use super::*;

#[test]
fn json_reads_both_forms_of_content() {
    for (json, text) in [
        (r#"{"role":"user","content":"a \"b\""}"#, "a \"b\""),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            "ab",
        ),
    ] {
        let message: Message = serde_json::from_str(json).unwrap();
        assert_eq!(message.text(), text);
        assert_eq!(serde_json::to_string(&message).unwrap(), json);
    }
}

#[test]
fn every_part_is_read_and_written_as_the_same() {
    let call = ToolCall::new("c1", "look_up", json!({"order": 7, "deep": [null, 1.5, {"a": "ä"}]}));
    for (message, json) in [
        (
            Message::of(Role::User, [Part::text("a"), Part::image_url("http://h/i.png")]),
            json!({"role": "user", "content": [
                {"type": "text", "text": "a"}, {"type": "image", "url": "http://h/i.png"}]}),
        ),
        (
            Message::of(Role::User, [Part::image("image/png", vec![0, 255, 1])]),
            json!({"role": "user", "content": [
                {"type": "image", "media_type": "image/png", "data": "AP8B"}]}),
        ),
        (
            Message::of(
                Role::Assistant,
                [Reasoning::new("some", json!({"sealed": "x"})).into(), Part::ToolCall(call)],
            ),
            json!({"role": "assistant", "content": [
                {"type": "reasoning", "by": "some", "data": {"sealed": "x"}},
                {"type": "tool_call", "id": "c1", "name": "look_up",
                    "arguments": {"order": 7, "deep": [null, 1.5, {"a": "ä"}]}}]}),
        ),
        (
            Message::tool_results([ToolResult::found("c1", "here"), ToolResult::error("c2", "no")]),
            json!({"role": "tool", "content": [
                {"type": "tool_result", "id": "c1", "content": "here"},
                {"type": "tool_result", "id": "c2", "content": "no", "is_error": true}]}),
        ),
        (Message::of(Role::Assistant, []), json!({"role": "assistant", "content": []})),
    ] {
        assert_eq!(serde_json::to_value(&message).unwrap(), json);
        assert_eq!(serde_json::from_value::<Message>(json).unwrap(), message);
    }
}

#[test]
fn json_refuses_what_it_would_have_to_drop() {
    let call = json!({"type": "tool_call", "id": "1", "name": "n", "arguments": {}});
    let result = json!({"type": "tool_result", "id": "1", "content": "c"});
    for (json, says) in [
        (json!({"role": "assistant", "content": "", "tool_calls": []}), "tool_calls"),
        (json!({"role": "critic", "content": "no"}), "critic"),
        (json!({"role": "user"}), "content"),
        (
            json!({"role": "user", "content": [call]}),
            "`user` can't have a part of type `tool_call`",
        ),
        (json!({"role": "assistant", "content": [result]}), "`assistant` can't have"),
        (json!({"role": "user", "content": [{"type": "image"}]}), "either `url`, or"),
        (
            json!({"role": "user", "content": [{"type": "image", "url": "u", "media_type": "m", "data": ""}]}),
            "either `url`, or",
        ),
        (
            json!({"role": "user", "content": [{"type": "image", "media_type": "m", "data": "*"}]}),
            "no base64",
        ),
        (json!({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}), ""),
        (json!({"role": "tool", "content": [{"type": "tool_result", "id": "1"}]}), ""),
    ] {
        let error = serde_json::from_value::<Message>(json.clone()).unwrap_err().to_string();
        assert!(error.contains(says), "{json}: {error}");
    }
}

#[test]
fn debug_shows_sizes_and_no_contents() {
    const SECRET: &str = "hush-hush";
    let parts = [
        Part::text(SECRET),
        Part::image_url(SECRET),
        Part::image(SECRET, SECRET),
        ToolCall::new(SECRET, SECRET, json!({SECRET: SECRET})).into(),
        ToolResult::found(SECRET, SECRET).into(),
        ToolResult::error(SECRET, SECRET).into(),
        Reasoning::new(SECRET, json!([SECRET])).into(),
    ];
    let shown = format!("{parts:?} {:?}", Message::of(Role::User, parts.clone()));
    assert!(!shown.contains("hush"), "{shown}");
    assert_eq!(
        shown,
        "[Text(9 bytes), Image(url of 9 bytes), Image(9 bytes), ToolCall(43 bytes), \
         ToolResult(9 bytes), ToolResult(error of 9 bytes), Reasoning(13 bytes)] \
         Message { role: User, bytes: 101 }"
    );
}
