//! Errors by status and typed body; what the head says.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use http::Response;
use nucleo_core::Span;

use super::super::{Anthropic, AnthropicConfig};
use super::support::{KEY, answered, question};
use crate::providers::Provider as _;
use crate::transport::{BodyStream, InMemory};
use crate::wire::{CallWatch, EndsAt, FailureClass, HeadFacts, Stop};

fn error(kind: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}},"request_id":"r"}}"#)
}

#[test]
fn errors_by_status_and_typed_body() {
    use FailureClass::{OutOfCredit, Overload, RateLimit, Rejected, Transient};
    let credit = include_str!("../fixtures/credit_in_words.json").to_owned();
    for (status, body, class, name) in [
        (400, error("invalid_request_error"), Rejected, "rejected"),
        (400, credit, Rejected, "rejected"),
        (400, error("billing_error"), OutOfCredit, "out_of_credit"),
        (401, error("authentication_error"), Rejected, "rejected"),
        (402, error("billing_error"), OutOfCredit, "out_of_credit"),
        (403, error("permission_error"), Rejected, "rejected"),
        (404, error("not_found_error"), Rejected, "rejected"),
        (413, error("request_too_large"), Rejected, "rejected"),
        (429, include_str!("../fixtures/rate_limit.json").into(), RateLimit, "rate_limited"),
        (500, error("api_error"), Transient, "server_error"),
        (503, error("overloaded_error"), Overload, "overloaded"),
        (504, error("timeout_error"), Transient, "server_error"),
        (529, include_str!("../fixtures/overloaded.json").into(), Overload, "overloaded"),
        (529, String::new(), Overload, "overloaded"),
        (302, "moved".into(), Rejected, "rejected"),
    ] {
        let (failure, heard) = answered(status, "application/json", &body);
        let failure = failure.unwrap_err();
        assert_eq!((failure.class(), failure.name()), (class, name), "{status} {body}");
        assert_eq!(heard, format!("leaving head={status}"), "an error has no usage");
    }
}

#[test]
fn errors_inside_a_success() {
    use FailureClass::{OutOfCredit, Overload, RateLimit, Rejected, Transient};
    for (kind, class) in [
        ("rate_limit_error", RateLimit),
        ("overloaded_error", Overload),
        ("billing_error", OutOfCredit),
        ("invalid_request_error", Rejected),
        ("authentication_error", Rejected),
        ("permission_error", Rejected),
        ("not_found_error", Rejected),
        ("request_too_large", Rejected),
        ("api_error", Transient),
        ("timeout_error", Transient),
        ("of_tomorrow", Transient),
    ] {
        let whole = error(kind);
        let event = format!("event: error\ndata: {whole}\n\n");
        for (content_type, body) in [("application/json", whole), ("text/event-stream", event)] {
            let failure = answered(200, content_type, &body).0.unwrap_err();
            assert_eq!((failure.name(), failure.class()), ("streamed_error", class), "{body}");
            assert_eq!(failure.ends_at(), EndsAt::ErrorAnswer);
        }
    }
    let half = r#"{"content":[{"type":"text","text":"half"}],"error":{"type":"api_error"}}"#;
    let failure = answered(200, "application/json", half).0.unwrap_err();
    assert_eq!(failure.ends_at(), EndsAt::Incomplete);
}

#[derive(Default)]
struct Head(Option<HeadFacts>);

impl CallWatch for Head {
    fn head(&mut self, head: &HeadFacts) {
        self.0 = Some(head.clone());
    }
}

#[test]
fn what_the_head_says() {
    const OURS: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (date, reset, resets_in_s) in [
        (Some("Fri, 01 May 2026 12:00:00 GMT"), "2026-05-01T12:00:12Z", 12),
        (Some("today"), "1994-11-06T08:50:00Z", 23),
        (None, "1994-11-06T08:50:00Z", 23),
    ] {
        let server = InMemory::new(move |_| {
            let mut head = Response::builder().status(429);
            for (name, value) in [
                ("request-id", "req_011"),
                ("retry-after", "7"),
                ("anthropic-ratelimit-requests-limit", "50"),
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", reset),
                ("anthropic-ratelimit-input-tokens-limit", "30000"),
                ("anthropic-ratelimit-output-tokens-remaining", "8000"),
            ] {
                head = head.header(name, value);
            }
            if let Some(date) = date {
                head = head.header("date", date);
            }
            std::future::ready(Ok(head.body(BodyStream::full(error("rate_limit_error"))).unwrap()))
        });
        let config = AnthropicConfig::new("http://h").unwrap();
        let config = config.wall_clock(|| httpdate::parse_http_date(OURS).unwrap());
        let provider = Anthropic::new(config, Arc::new(server));
        let mut head = Head::default();
        let failure = provider.call(&question(), &mut head).now_or_never().unwrap().unwrap_err();
        assert_eq!(failure.retry_after(), Some(Span::from_secs(7)));
        let head = head.0.unwrap();
        assert_eq!(head.request_id.as_deref(), Some("req_011"));
        let requests = head.limits.requests.unwrap();
        assert_eq!((requests.limit, requests.remaining), (Some(50), Some(0)));
        assert_eq!(requests.resets_in, Some(Span::from_secs(resets_in_s)), "{date:?}");
        assert_eq!(head.limits.input_tokens.unwrap().limit, Some(30_000));
        assert_eq!(head.limits.output_tokens.unwrap().remaining, Some(8_000));
    }
}

/// A server that repeats the key in everything it says, in every way an exchange can fail.
#[test]
fn the_key_is_in_nothing_that_is_shown() {
    let body = error(KEY).replace("\"m\"", &format!("\"your key {KEY} is wrong\""));
    let event = format!("event: error\ndata: {body}\n\n");
    // Cut in the middle of the key, were it cut first.
    let longest = error(&format!("{}{KEY}", "x".repeat(60)));
    let shown = Arc::new(Mutex::new(String::new()));
    for (status, content_type, body) in [
        (401, "application/json", &*body),
        (500, "text/plain", KEY),
        (403, "text/html", KEY),
        (200, "application/json", &*body),
        (200, "text/event-stream", &*event),
        (200, "application/json", KEY),
        (200, KEY, KEY),
        (500, "application/json", &*longest),
        (200, "application/json", &*longest),
    ] {
        let failure = answered(status, content_type, body).0.unwrap_err();
        let said = format!("{failure} {failure:?} {:?}", std::error::Error::source(&failure));
        shown.lock().unwrap().push_str(&said);
    }
    let shown = shown.lock().unwrap();
    assert!(!shown.contains("hush") && !shown.contains("sk-ant"), "{shown}");
    assert!(shown.contains("[key]"), "what else was said is kept: {shown}");
    let stop = format!(r#"{{"id":"{KEY}","content":[],"stop_reason":"{KEY}"}}"#);
    let reply = answered(200, "application/json", &stop).0.unwrap();
    assert_eq!(reply.stop, Stop::Other("[key]".into()));
    let bad = AnthropicConfig::new("http://h").unwrap().api_key(format!("{KEY}\u{7}").into());
    assert!(!format!("{:?}", bad.unwrap_err()).contains("hush"));
}
