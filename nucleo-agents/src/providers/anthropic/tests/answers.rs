//! Answers that come whole.

use nucleo_core::Usage;

use super::support::{answered, play, question_by_tool};
use crate::transport::{BodyStream, BrokenAt, TransportError};
use crate::wire::{EndsAt, Stop};

#[test]
fn a_whole_answer() {
    let body = include_str!("../fixtures/whole.json");
    let (reply, heard) = answered(200, "application/json", body);
    let reply = reply.unwrap();
    assert_eq!(reply.text, "The capital of France is Paris.");
    assert_eq!(reply.stop, Stop::End);
    assert_eq!(reply.request_id.as_deref(), Some("msg_0001"));
    let usage = Usage { input: 16, cache_write: 2, cache_read: 8, output: 7, reasoning: 5 };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(heard, "leaving head=200 usage=26+12 `The capital of France is Paris.`");
}

#[test]
fn why_it_stopped() {
    for (reason, stop) in [
        ("end_turn", Stop::End),
        ("stop_sequence", Stop::End),
        ("max_tokens", Stop::OutputLimit),
        ("model_context_window_exceeded", Stop::OutputLimit),
        ("refusal", Stop::ContentFilter),
        ("tool_use", Stop::ToolCalls),
        ("pause_turn", Stop::Other("pause_turn".into())),
        ("of its own", Stop::Other("of its own".into())),
        ("", Stop::Other(String::new())),
    ] {
        let body =
            format!(r#"{{"content":[{{"type":"text","text":"x"}}],"stop_reason":"{reason}"}}"#);
        let reply = answered(200, "application/json", &body).0.unwrap();
        assert_eq!((&*reply.text, reply.stop, reply.usage), ("x", stop, None), "{reason}");
    }
}

#[test]
fn answers_are_judged_leniently_where_nothing_is_lost() {
    for (body, text, stop) in [
        (r#"{"content":[],"stop_reason":"end_turn"}"#, "", Stop::End),
        (r#"{"content":[],"stop_reason":"refusal","stop_details":{}}"#, "", Stop::ContentFilter),
        (r#"{"content":[{"type":"text","text":"x"}]}"#, "x", Stop::Other(String::new())),
        (
            r#"{"content":[{"type":"of tomorrow","data":[1]},{"type":"text","text":"x"},{}],"stop_reason":"end_turn","usage":"?"}"#,
            "x",
            Stop::End,
        ),
        (
            r#"{"content":[{"type":"tool_use","id":"1","name":"form","input":{"a":1}}],"stop_reason":"tool_use"}"#,
            "",
            Stop::ToolCalls,
        ),
    ] {
        let reply = answered(200, "application/json", body).0.unwrap();
        assert_eq!((&*reply.text, reply.stop), (text, stop), "{body}");
    }
}

#[test]
fn an_absent_essential_is_named() {
    for (body, names) in [
        ("{}", "`content`"),
        ("", "valid JSON"),
        ("{\"content\": [", "valid JSON"),
        (r#"{"content":null,"stop_reason":"end_turn"}"#, "`content`"),
        (r#"{"content":7}"#, "`content` of the known form"),
        (r#"{"content":[{"type":"text"}],"stop_reason":"end_turn"}"#, "`text` in a block"),
    ] {
        let failure = answered(200, "application/json", body).0.unwrap_err();
        assert_eq!((failure.name(), failure.ends_at()), ("unreadable", EndsAt::FullAnswer));
        assert!(failure.to_string().contains(names), "{body}: {failure}");
    }
    let with_usage = r#"{"content":7,"usage":{"input_tokens":3,"output_tokens":4}}"#;
    let (failure, heard) = answered(200, "application/json", with_usage);
    assert_eq!(failure.unwrap_err().usage().unwrap().total(), 7, "usage outlives the answer");
    assert_eq!(heard, "leaving head=200 usage=3+4");
}

/// The input of the tool that stands for the form is the answer, and the model is done.
#[test]
fn an_answer_by_tool() {
    let call = r#"{"type":"tool_use","id":"1","name":"form","input":{"city":"Paris"}}"#;
    let other = r#"{"type":"tool_use","id":"2","name":"other","input":{}}"#;
    let text = r#"{"type":"text","text":"Here."}"#;
    for (content, reason, answer, stop) in [
        (format!("{text},{call}"), "tool_use", r#"{"city":"Paris"}"#, Stop::End),
        (format!("{other},{call}"), "tool_use", r#"{"city":"Paris"}"#, Stop::ToolCalls),
        (call.to_owned(), "max_tokens", "", Stop::OutputLimit),
        (text.to_owned(), "end_turn", "Here.", Stop::End),
        (other.to_owned(), "tool_use", "", Stop::ToolCalls),
    ] {
        let body = format!(r#"{{"content":[{content}],"stop_reason":"{reason}"}}"#);
        let reply = play(&question_by_tool(), move || {
            Ok(http::Response::new(BodyStream::full(body.clone())))
        });
        let reply = reply.0.unwrap();
        assert_eq!((&*reply.text, reply.stop), (answer, stop), "{content}");
    }
}

#[test]
fn below_http() {
    let request = super::support::question();
    let (failure, heard) = play(&request, || Err(TransportError::connect("refused")));
    assert_eq!(failure.unwrap_err().ends_at(), EndsAt::Unconnected);
    assert_eq!(heard, "leaving unconnected");
    let broken = || Err(TransportError::broken(BrokenAt::BeforeHead, "reset"));
    let (failure, heard) = play(&request, broken);
    assert_eq!(failure.unwrap_err().ends_at(), EndsAt::Incomplete);
    assert_eq!(heard, "leaving");
}
