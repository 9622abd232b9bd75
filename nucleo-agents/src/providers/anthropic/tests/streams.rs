//! Answers that come in pieces.

use nucleo_core::Usage;

use super::support::{events, in_pieces, question, question_by_tool, streamed};
use crate::wire::{EndsAt, Stop};

const STREAM: &str = include_str!("../fixtures/stream.txt");
const THINKING: &str = include_str!("../fixtures/stream_thinking.txt");
const TOOL: &str = include_str!("../fixtures/stream_tool.txt");

#[test]
fn a_streamed_answer() {
    let (reply, heard) = streamed(STREAM);
    let reply = reply.unwrap();
    assert_eq!(reply.text, "Paris, of course.");
    assert_eq!(reply.stop, Stop::End);
    assert_eq!(reply.request_id.as_deref(), Some("msg_0002"));
    assert_eq!(reply.usage, Some(Usage { input: 19, output: 6, ..Usage::default() }));
    let told = "usage=19+1 usage=outdated `Paris` `, of course.` usage=19+6";
    assert_eq!(heard, format!("leaving head=200 {told}"));
}

#[test]
fn thinking_is_output_and_no_text() {
    let (reply, heard) = streamed(THINKING);
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, &reply.stop), ("Four.", &Stop::End));
    let usage = Usage { input: 31, cache_write: 100, cache_read: 2000, output: 5, reasoning: 20 };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(heard, "leaving head=200 usage=2130+2 usage=outdated `Four.` usage=2131+25");
}

#[test]
fn an_answer_by_tool_streams_its_input() {
    let (reply, heard) =
        in_pieces(&question_by_tool(), "text/event-stream", TOOL.as_bytes(), usize::MAX, false);
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, &reply.stop), (r#"{"city": "Paris"}"#, &Stop::End));
    let told = "usage=50+3 usage=outdated `{\"city\": ` `\"Paris\"}` usage=50+21";
    assert_eq!(heard, format!("leaving head=200 {told}"));
    let (reply, _) = streamed(TOOL);
    let reply = reply.unwrap();
    assert_eq!((&*reply.text, &reply.stop), ("Here it is.", &Stop::ToolCalls), "nobody's form");
}

#[test]
fn the_answer_is_the_same_in_any_chunking() {
    for (request, body) in [
        (question(), STREAM),
        (question(), THINKING),
        (question_by_tool(), TOOL),
        (question(), &*STREAM.replace('\n', "\r\n")),
        (question(), &*STREAM.replace("Paris", "Pärïß 🗼")),
    ] {
        let at_once = in_pieces(&request, "text/event-stream", body.as_bytes(), usize::MAX, false);
        for size in 1..=64 {
            let cut = in_pieces(&request, "text/event-stream", body.as_bytes(), size, false);
            assert_eq!(cut.1, at_once.1, "in pieces of {size}");
            assert_eq!(cut.0.unwrap(), *at_once.0.as_ref().unwrap(), "in pieces of {size}");
        }
    }
}

#[test]
fn what_is_not_known_is_passed_over() {
    let body = events(&[
        r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#,
        r#"{"type":"of_tomorrow","delta":{"type":"new"}}"#,
        r#"{"type":"content_block_start","content_block":{"type":"of_tomorrow","data":{"text":1}}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"new_delta","what":[1]}}"#,
        r#"{"type":"content_block_start","content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{}}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}"#,
        r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":"?"}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let reply = streamed(&body).0.unwrap();
    assert_eq!((&*reply.text, &reply.stop), ("ab", &Stop::OutputLimit));
    assert_eq!(reply.usage.unwrap().total(), 12);
}

#[test]
fn streams_that_fail() {
    const START: &str = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#;
    const PIECE: &str =
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#;
    const USED: &str = r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":7}}"#;
    const OVERLOADED: &str =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#;
    for (data, name, ends_at, usage) in [
        (&[][..], "broken", EndsAt::Incomplete, None),
        (&[START], "broken", EndsAt::Incomplete, Some(4)),
        (&[START, PIECE], "broken", EndsAt::Incomplete, None),
        (&[START, PIECE, USED], "broken", EndsAt::Incomplete, Some(10)),
        (&[START, PIECE, USED, PIECE], "broken", EndsAt::Incomplete, None),
        (&[r#"{"type":"message_stop"}"#], "unreadable", EndsAt::FullAnswer, None),
        (&[START, "{oops"], "unreadable", EndsAt::FullAnswer, Some(4)),
        (&[OVERLOADED], "streamed_error", EndsAt::ErrorAnswer, None),
        (&[r#"{"type":"error"}"#], "streamed_error", EndsAt::ErrorAnswer, None),
        (&[START, OVERLOADED], "streamed_error", EndsAt::Incomplete, Some(4)),
        (&[START, PIECE, OVERLOADED], "streamed_error", EndsAt::Incomplete, None),
    ] {
        let (failure, heard) = streamed(&events(data));
        let failure = failure.unwrap_err();
        assert_eq!((failure.name(), failure.ends_at()), (name, ends_at), "{data:?}");
        assert_eq!(failure.usage().map(|usage| usage.total()), usage, "{data:?}");
        let last = heard.split(' ').rfind(|word| word.starts_with("usage"));
        assert_eq!(last.is_none_or(|word| word == "usage=outdated"), usage.is_none(), "{heard}");
    }
}

/// What a watch was told holds when the call is cut off: 805 pieces are not one token.
#[test]
fn usage_that_output_came_after_is_unknown() {
    let start = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":7,"output_tokens":1}}}"#;
    for delta in [
        r#"{"type":"text_delta","text":"a"}"#,
        r#"{"type":"thinking_delta","thinking":"a"}"#,
        r#"{"type":"input_json_delta","partial_json":"a"}"#,
    ] {
        let piece = format!(r#"{{"type":"content_block_delta","delta":{delta}}}"#);
        let mut data = vec![start];
        data.extend(std::iter::repeat_n(&*piece, 805));
        let (failure, heard) = streamed(&events(&data));
        assert_eq!(failure.unwrap_err().usage(), None);
        assert_eq!(heard.matches("usage=").count(), 2, "told once, taken back once");
    }
}
