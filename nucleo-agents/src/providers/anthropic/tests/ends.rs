//! Where an answer ends: cut at every byte, in any chunking.

use super::support::{Answered, answered, in_pieces, question, question_by_tool};
use crate::wire::{CallFailure, ChatReply, ChatRequest, EndsAt};

fn cut_after(
    request: &ChatRequest,
    content_type: &'static str,
    body: &str,
    bytes: usize,
) -> Result<ChatReply, CallFailure> {
    let results: Vec<Answered> = [13, usize::MAX]
        .map(|size| in_pieces(request, content_type, &body.as_bytes()[..bytes], size, true))
        .into();
    for result in &results[1..] {
        assert_eq!(result.1, results[0].1, "after {bytes}: chunking changes nothing");
        assert_eq!(result.0.as_ref().ok(), results[0].0.as_ref().ok(), "after {bytes}");
    }
    results.into_iter().next().unwrap().0
}

#[test]
fn a_whole_answer_cut_anywhere() {
    let body = include_str!("../fixtures/whole.json");
    let complete = body.trim_end().len();
    for bytes in 0..=body.len() {
        let result = cut_after(&question(), "application/json", body, bytes);
        if bytes >= complete {
            let reply = result.unwrap();
            assert_eq!(reply.text, "The capital of France is Paris.", "after {bytes}");
            assert_eq!(reply.usage.unwrap().total(), 38, "after {bytes}");
        } else {
            let failure = result.unwrap_err();
            assert_eq!(failure.name(), "broken", "after {bytes}");
            assert_eq!(failure.ends_at(), EndsAt::Incomplete, "after {bytes}");
        }
    }
}

#[test]
fn a_stream_cut_anywhere() {
    for (request, body, text, total) in [
        (question(), include_str!("../fixtures/stream.txt"), "Paris, of course.", 25),
        (question(), include_str!("../fixtures/stream_thinking.txt"), "Four.", 2156),
        (
            question_by_tool(),
            include_str!("../fixtures/stream_tool.txt"),
            "{\"city\": \"Paris\"}",
            71,
        ),
    ] {
        let after = |mark: &str| {
            let at = body.find(mark).unwrap();
            at + body[at..].find("\n\n").unwrap() + 2
        };
        let (opened, named) = (after("message_start"), after("event: message_delta"));
        let output = body.find("_delta\",\"text\":\"").or(body.find("\"thinking_delta\"")).unwrap();
        let output = output.min(body.find("\"thinking_delta\"").unwrap_or(output));
        let output = output + body[output..].find("\n\n").unwrap() + 2;
        for bytes in 0..=body.len() {
            match cut_after(&request, "text/event-stream", body, bytes) {
                Ok(reply) => {
                    assert!(bytes >= named, "after {bytes}");
                    assert_eq!(reply.text, text, "after {bytes}");
                    assert_eq!(reply.usage.unwrap().total(), total, "after {bytes}");
                }
                Err(failure) => {
                    assert!(bytes < named, "after {bytes}: {failure}");
                    assert_eq!(failure.name(), "broken", "after {bytes}");
                    let told = (opened..output).contains(&bytes);
                    assert_eq!(failure.usage().is_some(), told, "after {bytes}");
                }
            }
        }
    }
}

#[test]
fn a_cut_answer_is_complete_only_when_it_says_why_it_ends() {
    let used = r#""usage":{"input_tokens":3,"output_tokens":4}"#;
    let said = r#""content":[{"type":"text","text":"x"}]"#;
    for (body, name, usage) in [
        (r#"{S,"stop_reason":"max_tokens"}"#, "reply", false),
        (r#"{S,"stop_reason":"end_turn",U}"#, "reply", true),
        (r#"{S,"stop_reason":null,U}"#, "broken", true),
        (r#"{S,"stop_reason":"",U}"#, "broken", true),
        (r#"{"type":"error","error":{"type":"api_error"}}"#, "broken", false),
        (r#"{"stop_reason":"end_turn",U}"#, "unreadable", true),
        ("{}", "broken", false),
        ("", "broken", false),
    ] {
        let body = body.replace('U', used).replace('S', said);
        let (found, reported) = match cut_after(&question(), "application/json", &body, body.len())
        {
            Ok(reply) => ("reply", reply.usage),
            Err(failure) => (failure.name(), failure.usage()),
        };
        assert_eq!((found, reported.is_some()), (name, usage), "{body}");
    }
}

#[test]
fn a_stream_that_goes_on_for_ever_is_bounded() {
    use std::sync::Arc;

    use futures_util::FutureExt as _;

    use crate::providers::Provider as _;
    use crate::providers::anthropic::{Anthropic, AnthropicConfig};
    use crate::transport::{BodyStream, InMemory};

    for content_type in ["text/event-stream", "application/json"] {
        let config = AnthropicConfig::new("http://h").unwrap().answer_bytes_max(1_000);
        let server = InMemory::new(move |_| async move {
            let endless = futures_util::stream::repeat_with(|| Ok("data: x".into()));
            let head = http::Response::builder().header("content-type", content_type);
            Ok(head.body(BodyStream::new(endless)).unwrap())
        });
        let provider = Anthropic::new(config, Arc::new(server));
        let call = provider.call(&question(), &mut crate::wire::Unwatched).now_or_never();
        assert!(call.unwrap().is_err(), "{content_type}");
    }
    // And a page that a proxy put there is told as one.
    let failure = answered(200, "text/html", "<html>").0.unwrap_err();
    assert_eq!(failure.name(), "html");
}
