//! One exchange with a server that answers so, and what a watch heard of it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::Response;

use super::super::{Anthropic, AnthropicConfig};
use crate::providers::Provider as _;
use crate::providers::over_http::Heard;
use crate::transport::{BodyStream, BrokenAt, InMemory, TransportError};
use crate::wire::{CallFailure, ChatReply, ChatRequest, Message, ResponseSchema, Streaming};

pub(super) const KEY: &str = "sk-ant-hush-hush";

pub(super) type Answered = (Result<ChatReply, CallFailure>, String);

pub(super) fn question() -> ChatRequest {
    ChatRequest::new("m", vec![Message::user("private words")], 16).streaming(Streaming::Pieces)
}

/// A question whose answer's form no format takes: it goes as a tool named `form`.
pub(super) fn question_by_tool() -> ChatRequest {
    let map = serde_json::json!({"type": "object", "additionalProperties": {"type": "string"}});
    question().schema(ResponseSchema { name: "form".into(), schema: map.into() })
}

pub(super) fn play(
    request: &ChatRequest,
    answer: impl Fn() -> Result<Response<BodyStream>, TransportError> + Send + Sync + 'static,
) -> Answered {
    let config = AnthropicConfig::new("http://h").unwrap().api_key(KEY.into()).unwrap();
    let server = InMemory::new(move |_| std::future::ready(answer()));
    let provider = Anthropic::new(config, Arc::new(server));
    let mut heard = Heard::default();
    let result = provider.call(request, &mut heard).now_or_never().unwrap();
    let shown = format!("{result:?} {provider:?} {request:?}");
    assert!(!shown.contains("hush") && !shown.contains("private"), "{shown}");
    if let Err(failure) = &result {
        assert!(!failure.to_string().contains("hush"), "{failure}");
    }
    (result, heard.0.trim_end().to_owned())
}

pub(super) fn answered(status: u16, content_type: &'static str, body: &str) -> Answered {
    let body = Bytes::copy_from_slice(body.as_bytes());
    play(&question(), move || {
        let head = Response::builder().status(status).header("content-type", content_type);
        Ok(head.body(BodyStream::full(body.clone())).unwrap())
    })
}

pub(super) fn streamed(body: &str) -> Answered {
    answered(200, "text/event-stream; charset=utf-8", body)
}

/// The same body in pieces of `size` bytes, and then an end, or a break.
pub(super) fn in_pieces(
    request: &ChatRequest,
    content_type: &'static str,
    body: &[u8],
    size: usize,
    breaks: bool,
) -> Answered {
    let pieces: Vec<Bytes> = body.chunks(size).map(Bytes::copy_from_slice).collect();
    play(request, move || {
        let mut pieces: Vec<_> = pieces.iter().cloned().map(Ok).collect();
        if breaks {
            pieces.push(Err(TransportError::broken(BrokenAt::InBody, "reset")));
        }
        let head = Response::builder().header("content-type", content_type);
        Ok(head.body(BodyStream::pieces(pieces)).unwrap())
    })
}

/// A stream of these events' data.
pub(super) fn events(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}
