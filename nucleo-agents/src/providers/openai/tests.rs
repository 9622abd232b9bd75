//! Recorded exchanges, written from the public API reference, played through the memory transport.

mod called;
mod ends;
mod sent;
mod waits;

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::Response;
use nucleo_core::Usage;

use super::*;
use crate::providers::Provider as _;
use crate::providers::over_http::Heard;
use crate::transport::{BodyStream, BrokenAt, InMemory, TransportError};
use crate::wire::{
    CallFailure, ChatReply, ChatRequest, EndsAt, FailureClass, Message, Stop, Streaming,
};

const KEY: &str = "sk-test-hush-hush";

/// One exchange with a server that answers so, at once.
fn play(
    answer: impl Fn() -> Result<Response<BodyStream>, TransportError> + Send + Sync + 'static,
) -> (Result<ChatReply, CallFailure>, String) {
    let config = OpenAiConfig::new("http://h").unwrap().api_key(KEY.into()).unwrap();
    let server = InMemory::new(move |_| std::future::ready(answer()));
    let provider = OpenAi::new(config, Arc::new(server));
    let request = ChatRequest::new("m", vec![Message::user("private words")], 16)
        .streaming(Streaming::Pieces);
    let mut heard = Heard::default();
    let result = provider.call(&request, &mut heard).now_or_never().unwrap();
    let shown = format!("{result:?} {provider:?} {request:?}");
    assert!(!shown.contains("hush") && !shown.contains("private"), "{shown}");
    (result, heard.0.trim_end().to_owned())
}

fn answered(
    status: u16,
    content_type: &'static str,
    body: &'static str,
) -> (Result<ChatReply, CallFailure>, String) {
    play(move || {
        let head = Response::builder().status(status).header("content-type", content_type);
        Ok(head.body(BodyStream::full(body)).unwrap())
    })
}

fn streamed(body: &'static str) -> (Result<ChatReply, CallFailure>, String) {
    answered(200, "text/event-stream; charset=utf-8", body)
}

#[test]
fn a_whole_answer() {
    let (reply, heard) = answered(200, "application/json", include_str!("fixtures/whole.json"));
    let reply = reply.unwrap();
    assert_eq!(reply.text, "The capital of France is Paris.");
    assert_eq!(reply.stop, Stop::End);
    assert_eq!(reply.request_id.as_deref(), Some("chatcmpl-0001"));
    let usage = Usage { input: 16, cache_read: 8, output: 4, reasoning: 4, ..Usage::default() };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!(heard, "leaving head=200 usage=24+8 `The capital of France is Paris.`");
}

#[test]
fn a_streamed_answer() {
    let (reply, heard) = streamed(include_str!("fixtures/stream.txt"));
    let reply = reply.unwrap();
    assert_eq!(reply.text, "Paris, of course.");
    assert_eq!(reply.stop, Stop::End);
    assert_eq!(reply.usage.unwrap().total(), 24);
    assert_eq!(heard, "leaving head=200 `Paris` `, of course.` usage=19+5");
}

#[test]
fn usage_on_every_event_is_a_running_total() {
    let (reply, heard) = streamed(include_str!("fixtures/stream_running_usage.txt"));
    assert_eq!(reply.unwrap().usage.unwrap().output_total(), 2);
    assert_eq!(heard, "leaving head=200 usage=7+1 `A` usage=7+2 `B` usage=7+2");
}

#[test]
fn answers_are_judged_leniently_where_nothing_is_lost() {
    for (body, text, stop, usage) in [
        (
            r#"{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}"#,
            "x",
            Stop::OutputLimit,
            None,
        ),
        (
            r#"{"choices":[{"message":{"content":null},"finish_reason":"length"}],"usage":"?"}"#,
            "",
            Stop::OutputLimit,
            None,
        ),
        (
            r#"{"choices":[{"message":{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},"finish_reason":"stop"}]}"#,
            "xy",
            Stop::End,
            None,
        ),
        (
            r#"{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}"#,
            "No.",
            Stop::ContentFilter,
            None,
        ),
        (
            r#"{"choices":[{"message":{"content":""},"finish_reason":"eos"}],"usage":{"prompt_tokens":1,"completion_tokens":0}}"#,
            "",
            Stop::Other("eos".into()),
            Some(1),
        ),
    ] {
        let reply = answered(200, "application/json", body).0.unwrap();
        assert_eq!((&*reply.text, reply.stop), (text, stop), "{body}");
        assert_eq!(reply.usage.map(|usage| usage.total()), usage, "{body}");
    }
}

#[test]
fn an_absent_essential_is_named() {
    for (body, names) in [
        ("{}", "`choices`"),
        ("", "valid JSON"),
        ("{\"choices\": [", "valid JSON"),
        (r#"{"choices":[]}"#, "entry in `choices`"),
        (r#"{"choices":7}"#, "`choices` of the known form"),
        (r#"{"choices":[{"finish_reason":"stop"}]}"#, "`message`"),
        (r#"{"choices":[{"message":{},"finish_reason":"stop"}]}"#, "`content`"),
    ] {
        let failure = answered(200, "application/json", body).0.unwrap_err();
        assert_eq!((failure.name(), failure.ends_at()), ("unreadable", EndsAt::FullAnswer));
        assert!(failure.to_string().contains(names), "{body}: {failure}");
    }
    let with_usage = r#"{"choices":7,"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    let (failure, heard) = answered(200, "application/json", with_usage);
    assert_eq!(failure.unwrap_err().usage().unwrap().total(), 7, "usage outlives the answer");
    assert_eq!(heard, "leaving head=200 usage=3+4");
}

#[test]
fn errors_by_status_and_typed_body() {
    use FailureClass::{OutOfCredit, Overload, RateLimit, Rejected, Transient};
    let quota = include_str!("fixtures/insufficient_quota.json");
    let limited = include_str!("fixtures/rate_limit.json");
    for (status, content_type, body, class, name) in [
        (429, "application/json", quota, OutOfCredit, "out_of_credit"),
        (429, "application/json", limited, RateLimit, "rate_limited"),
        (429, "text/html", "<html>", RateLimit, "rate_limited"),
        (529, "text/plain", "", Overload, "overloaded"),
        (
            503,
            "application/json",
            r#"{"error":{"type":"overloaded_error"}}"#,
            Overload,
            "overloaded",
        ),
        (503, "text/html", "<html>overloaded</html>", Transient, "server_error"),
        (500, "application/json", "{", Transient, "server_error"),
        (
            401,
            "application/json",
            r#"{"error":{"message":"bad sk-test-hush-hush"}}"#,
            Rejected,
            "rejected",
        ),
        (403, "text/html", "<html>", Rejected, "html"),
        (302, "text/html", "<html>", Rejected, "html"),
        (200, "text/html", "<html>", Transient, "html"),
    ] {
        let (failure, heard) = answered(status, content_type, body);
        let failure = failure.unwrap_err();
        assert_eq!((failure.class(), failure.name()), (class, name), "{status} {body}");
        assert_eq!(heard, format!("leaving head={status}"), "an error has no usage");
    }
}

#[test]
fn streams_that_fail() {
    const PIECE: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n";
    for (body, name, ends_at, usage) in [
        (PIECE.to_owned(), "broken", EndsAt::Incomplete, Some(4)),
        (String::new(), "broken", EndsAt::Incomplete, None),
        ("data: [DONE]\n\n".into(), "unreadable", EndsAt::FullAnswer, None),
        (format!("{PIECE}data: {{oops\n\n"), "unreadable", EndsAt::FullAnswer, Some(4)),
        (
            format!(
                "{PIECE}data: {{\"error\":{{\"message\":\"m\",\"type\":\"server_error\"}}}}\n\n"
            ),
            "streamed_error",
            EndsAt::Incomplete,
            Some(4),
        ),
        (
            "event: error\ndata: {\"error\":{\"code\":429}}\n\n".into(),
            "streamed_error",
            EndsAt::ErrorAnswer,
            None,
        ),
    ] {
        let failure = streamed(Box::leak(body.clone().into_boxed_str())).0.unwrap_err();
        assert_eq!((failure.name(), failure.ends_at()), (name, ends_at), "{body}");
        assert_eq!(failure.usage().map(|usage| usage.total()), usage, "{body}");
    }
}

#[test]
fn a_200_that_says_error_keeps_its_class() {
    for (body, class) in [
        (r#"{"error":{"message":"m","code":429}}"#, FailureClass::RateLimit),
        (r#"{"error":{"message":"m","code":"insufficient_quota"}}"#, FailureClass::OutOfCredit),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, FailureClass::Overload),
        (r#"{"error":{"message":"m","type":"invalid_request_error"}}"#, FailureClass::Rejected),
        (r#"{"error":"m"}"#, FailureClass::Transient),
    ] {
        let failure = answered(200, "application/json", body).0.unwrap_err();
        assert_eq!((failure.name(), failure.class()), ("streamed_error", class), "{body}");
        assert_eq!(failure.ends_at(), EndsAt::ErrorAnswer);
    }
}

#[test]
fn a_stream_is_complete_once_it_named_its_finish() {
    let finished =
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(streamed(finished).0.unwrap().text, "x");
    let (reply, _) = play(move || {
        let head = Response::builder().header("content-type", "text/event-stream");
        let cut = TransportError::broken(BrokenAt::InBody, "reset");
        Ok(head.body(BodyStream::pieces(vec![Ok(finished.into()), Err(cut)])).unwrap())
    });
    assert_eq!(reply.unwrap().usage, None, "complete, and its usage unknown");
}

#[test]
fn below_http() {
    let (failure, heard) = play(|| Err(TransportError::connect("refused")));
    assert_eq!(failure.unwrap_err().ends_at(), EndsAt::Unconnected);
    assert_eq!(heard, "leaving unconnected");
    let (failure, heard) = play(|| Err(TransportError::broken(BrokenAt::BeforeHead, "reset")));
    assert_eq!(failure.unwrap_err().ends_at(), EndsAt::Incomplete);
    assert_eq!(heard, "leaving");
    let (failure, _) = play(|| {
        let cut = TransportError::broken(BrokenAt::InBody, "reset");
        Ok(Response::new(BodyStream::pieces(vec![Ok("{\"cho".into()), Err(cut)])))
    });
    assert_eq!(failure.unwrap_err().ends_at(), EndsAt::Incomplete);
}

#[test]
fn an_endless_answer_is_bounded() {
    for content_type in ["text/event-stream", "application/json"] {
        let config = OpenAiConfig::new("http://h").unwrap().answer_bytes_max(1_000);
        let server = InMemory::new(move |_| async move {
            let endless = futures_util::stream::repeat_with(|| Ok("data: x".into()));
            let head = Response::builder().header("content-type", content_type);
            Ok(head.body(BodyStream::new(endless)).unwrap())
        });
        let provider = OpenAi::new(config, Arc::new(server));
        let request = ChatRequest::new("m", vec![Message::user("q")], 16);
        let result = provider.call(&request, &mut crate::wire::Unwatched).now_or_never().unwrap();
        assert!(result.is_err(), "{content_type}");
    }
}
