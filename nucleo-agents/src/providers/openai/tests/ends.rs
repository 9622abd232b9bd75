//! Where an answer ends: cut at every byte, failed inside, with usage that covers it or not.

use super::*;

/// The first `bytes` of a body, and then a connection that breaks.
fn cut_after(
    content_type: &'static str,
    body: &'static str,
    bytes: usize,
) -> Result<ChatReply, CallFailure> {
    let (result, _) = play(move || {
        let head = Response::builder().header("content-type", content_type);
        let cut = Err(TransportError::broken(BrokenAt::InBody, "reset"));
        let pieces = vec![Ok(body.as_bytes()[..bytes].to_vec().into()), cut];
        Ok(head.body(BodyStream::pieces(pieces)).unwrap())
    });
    result
}

#[test]
fn a_whole_answer_cut_anywhere() {
    let body = include_str!("../fixtures/whole.json");
    let complete = body.trim_end().len();
    for bytes in 0..=body.len() {
        let result = cut_after("application/json", body, bytes);
        if bytes >= complete {
            let reply = result.unwrap();
            assert_eq!(reply.text, "The capital of France is Paris.", "after {bytes}");
            assert_eq!(reply.usage.unwrap().total(), 32, "after {bytes}");
        } else {
            let failure = result.unwrap_err();
            assert_eq!(failure.name(), "broken", "after {bytes}");
            assert_eq!(failure.ends_at(), EndsAt::Incomplete, "after {bytes}");
        }
    }
}

#[test]
fn a_stream_cut_anywhere() {
    let body = include_str!("../fixtures/stream.txt");
    let finish = body.find(r#""finish_reason":"stop""#).unwrap();
    let finish = finish + body[finish..].find("\n\n").unwrap() + 2;
    let usage = body.find(r#""total_tokens":24"#).unwrap();
    let usage = usage + body[usage..].find("\n\n").unwrap() + 2;
    for bytes in 0..=body.len() {
        match cut_after("text/event-stream", body, bytes) {
            Ok(reply) => {
                assert!(bytes >= finish, "after {bytes}");
                assert_eq!(reply.text, "Paris, of course.", "after {bytes}");
                assert_eq!(reply.usage.is_some(), bytes >= usage, "after {bytes}");
            }
            Err(failure) => {
                assert!(bytes < finish, "after {bytes}");
                assert_eq!((failure.name(), failure.usage()), ("broken", None), "after {bytes}");
            }
        }
    }
}

#[test]
fn a_cut_answer_is_complete_only_when_it_says_why_it_ends() {
    let used = r#""usage":{"prompt_tokens":3,"completion_tokens":4}"#;
    for (body, name, usage) in [
        (r#"{"choices":[{"message":{"content":"x"},"finish_reason":"length"}]}"#, "reply", false),
        (r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],U}"#, "reply", true),
        (r#"{"choices":[{"message":{"content":"x"},"finish_reason":""}],U}"#, "broken", true),
        (r#"{"choices":[{"message":{"content":"x"}}]}"#, "broken", false),
        (r#"{"choices":[],U}"#, "broken", true),
        (r#"{"error":{"message":"m"}}"#, "broken", false),
        (r#"{"choices":[{"finish_reason":"stop"}],U}"#, "unreadable", true),
        (
            r#"{"choices":[{"message":{"content":"x"},"finish_reason":"error"}],U}"#,
            "streamed_error",
            true,
        ),
        ("{}", "broken", false),
        ("", "broken", false),
        (" \n \n", "broken", false),
    ] {
        let body: &'static str = body.replace('U', used).leak();
        let (found, reported) = match cut_after("application/json", body, body.len()) {
            Ok(reply) => ("reply", reply.usage),
            Err(failure) => (failure.name(), failure.usage()),
        };
        assert_eq!((found, reported.is_some()), (name, usage), "{body}");
    }
}

#[test]
fn an_error_answer_that_is_cut_keeps_its_type_if_all_of_it_came() {
    let quota = include_str!("../fixtures/insufficient_quota.json");
    for (bytes, class) in [
        (quota.len(), FailureClass::OutOfCredit),
        (quota.len() / 2, FailureClass::RateLimit),
        (0, FailureClass::RateLimit),
    ] {
        let (failure, _) = play(move || {
            let head = Response::builder().status(429).header("content-type", "application/json");
            let cut = Err(TransportError::broken(BrokenAt::InBody, "reset"));
            let pieces = vec![Ok(quota.as_bytes()[..bytes].into()), cut];
            Ok(head.body(BodyStream::pieces(pieces)).unwrap())
        });
        let failure = failure.unwrap_err();
        assert_eq!(failure.class(), class, "{bytes} bytes");
        let cut_words = failure.to_string().contains("{\"error");
        assert!(!cut_words, "half a document is no message: {failure}");
    }
}

/// An error inside a 200: its class, and how much had been said before.
#[test]
fn errors_inside_in_every_place() {
    use FailureClass::{Overload, RateLimit, Transient};
    for (content_type, body, class, ends_at) in [
        (
            "application/json",
            r#"{"choices":[{"message":{"content":"half"},"finish_reason":"error"}],"error":{"type":"overloaded_error"}}"#,
            Overload,
            EndsAt::Incomplete,
        ),
        (
            "application/json",
            r#"{"choices":[{"message":{"content":""},"error":{"code":429,"message":"m"}}]}"#,
            RateLimit,
            EndsAt::ErrorAnswer,
        ),
        (
            "application/json",
            r#"{"choices":[{"message":{"content":"half"},"error":{"code":502,"message":"m"}}]}"#,
            Transient,
            EndsAt::Incomplete,
        ),
        (
            "application/json",
            r#"{"choices":[{"message":{"content":"half"},"finish_reason":"error"}]}"#,
            Transient,
            EndsAt::Incomplete,
        ),
        (
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}],\"error\":{\"code\":429}}\n\ndata: [DONE]\n\n",
            RateLimit,
            EndsAt::ErrorAnswer,
        ),
        (
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n",
            Transient,
            EndsAt::Incomplete,
        ),
        (
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"half\"},\"error\":{\"type\":\"overloaded_error\"}}]}\n\n",
            Overload,
            EndsAt::Incomplete,
        ),
        (
            "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{}]}}]}\n\nevent: error\ndata: {\"type\":\"server_error\"}\n\n",
            Transient,
            EndsAt::Incomplete,
        ),
    ] {
        let failure = answered(200, content_type, body).0.unwrap_err();
        assert_eq!(failure.name(), "streamed_error", "{body}");
        assert_eq!((failure.class(), failure.ends_at()), (class, ends_at), "{body}");
    }
}

/// A total counts while nothing was said after it. `A` is text, `T` a tool call, `n` a total of n.
#[test]
fn usage_that_text_came_after_is_unknown() {
    for (events, output) in [
        ("A1 A2 A3", Some(3)),
        ("A A A 3", Some(3)),
        ("1 A A A", None),
        ("1 A A A 3", Some(3)),
        ("A1 A A", None),
        ("A1 T", None),
        ("A9 A3", Some(3)),
        ("A3 0", Some(3)),
        ("A A", None),
    ] {
        let mut body = String::new();
        for event in events.split(' ') {
            let (said, total) = event.split_at(usize::from(!event.starts_with(char::is_numeric)));
            let choices = match said {
                "A" => r#"[{"delta":{"content":"a"}}]"#,
                "T" => r#"[{"delta":{"tool_calls":[{"id":"1","function":{"name":"n"}}]}}]"#,
                _ => "[]",
            };
            let usage = match total {
                "" => "null".to_owned(),
                "0" => r#"{"prompt_tokens":0,"completion_tokens":0}"#.to_owned(),
                total => format!(r#"{{"prompt_tokens":7,"completion_tokens":{total}}}"#),
            };
            body.push_str(&format!("data: {{\"choices\":{choices},\"usage\":{usage}}}\n\n"));
        }
        let cut = streamed(body.clone().leak()).0.unwrap_err();
        assert_eq!(cut.usage().map(|usage| usage.output), output, "cut: {events}");
        body.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
        let reply = streamed(body.leak()).0.unwrap();
        assert_eq!(reply.usage.map(|usage| usage.output), output, "finished: {events}");
    }
}

/// What a watch was told holds when the call is cut off: 806 pieces are not one token.
#[test]
fn a_watch_is_told_no_total_that_may_be_outdated() {
    let piece = |usage: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}],\"usage\":{usage}}}\n\n")
    };
    let used = |n: u64| format!(r#"{{"prompt_tokens":7,"completion_tokens":{n}}}"#);
    let opening = format!("data: {{\"choices\":[],\"usage\":{}}}\n\n", used(1));
    let silent: String = (0..805).map(|_| piece("null")).collect();
    let running: String = (1..=805).map(|n| piece(&used(n))).collect();
    for (body, told) in [
        (format!("{opening}{silent}"), Some("usage=outdated")),
        (format!("{}{silent}", piece(&used(1))), Some("usage=outdated")),
        (format!("{silent}{}", piece(&used(806))), Some("usage=7+806")),
        (format!("{silent}{opening}"), Some("usage=7+1")),
        (running, Some("usage=7+805")),
    ] {
        let (result, heard) = streamed(body.leak());
        assert_eq!(result.unwrap_err().name(), "broken");
        let last = heard.split(' ').rfind(|word| word.starts_with("usage"));
        assert_eq!(last, told);
    }
}

/// A server that puts our key into whatever it may name is quoted without it.
#[test]
fn a_key_that_a_server_echoes_is_shown_nowhere() {
    for (status, content_type, body) in [
        (
            400,
            "application/json",
            r#"{"error":{"code":"no-KEY","type":"KEY","message":"KEY KEY"}}"#,
        ),
        (429, "application/json", r#"{"error":{"code":"KEY"}}"#),
        (500, "text/plain", "KEY"),
        (200, "application/json", r#"{"error":{"code":"KEY","type":"KEY"}}"#),
        (
            200,
            "application/json",
            r#"{"id":"KEY","choices":[{"message":{"content":"a"},"finish_reason":"KEY"}]}"#,
        ),
        (200, "text/event-stream", "data: {\"error\":{\"code\":\"KEY\"}}\n\n"),
        (
            200,
            "text/event-stream",
            "data: {\"id\":\"KEY\",\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"KEY\"}]}\n\n",
        ),
    ] {
        let body: &'static str = body.replace("KEY", KEY).leak();
        // `play` looks at all that is shown of it.
        let (result, _) = answered(status, content_type, body);
        if let Err(failure) = result {
            assert!(!failure.to_string().contains(KEY), "{failure}");
        }
    }
    let echo = || {
        let head = Response::builder().header("x-request-id", KEY);
        Ok(head.body(BodyStream::full(r#"{"choices":[{"message":{"content":"a"}}]}"#)).unwrap())
    };
    assert_eq!(play(echo).0.unwrap().request_id.as_deref(), Some("[key]"));
}

/// A line that never ends is given up: the parser's work grows with its square.
#[test]
fn a_line_without_an_end_is_given_up() {
    let pieces = || (0..200).map(|_| Ok(bytes::Bytes::from(vec![b'a'; 8 << 10])));
    let (result, _) = play(move || {
        let head = Response::builder().header("content-type", "text/event-stream");
        Ok(head.body(BodyStream::pieces(pieces().collect())).unwrap())
    });
    let CallFailure::Broken { source: Some(source), .. } = result.unwrap_err() else {
        panic!("it was read")
    };
    let cause = std::error::Error::source(&source).unwrap().to_string();
    assert_eq!(cause, "a line of the stream is longer than allowed");
}
