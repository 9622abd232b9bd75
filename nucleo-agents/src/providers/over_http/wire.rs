//! What a wire adds to an exchange: its requests, its answers, its events.
//!
//! Invariants: nothing of a wire knows of transports or connections; what it tells the watch holds,
//! whenever the call is cut off then.
//!
//! Not here: the order of an exchange (`exchange`), reading events from bytes (`events`).

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use nucleo_core::Usage;

use super::Site;
use crate::transport::TransportError;
use crate::wire::{CallFailure, CallWatch, ChatReply, ChatRequest, Streaming};

/// A wire format over HTTP: one request, and an answer that is a JSON document or a stream of events.
pub(crate) trait Wire: Send + Sync {
    /// An answer in events, as far as it came.
    type Assembly: Assembly;

    /// Where the server is.
    fn site(&self) -> &Site;

    /// The request's bytes.
    fn encode(&self, request: &ChatRequest) -> Request<Bytes>;

    /// Reads a whole answer of 2xx.
    fn whole(&self, request: &ChatRequest, body: &[u8]) -> Result<ChatReply, CallFailure>;

    /// Reads an answer whose connection broke instead of ending: complete by its own form, or broken.
    fn unended(
        &self,
        request: &ChatRequest,
        body: &[u8],
        source: TransportError,
    ) -> Result<ChatReply, CallFailure>;

    /// An answer in events of which nothing came yet.
    fn assembly(&self, request: &ChatRequest) -> Self::Assembly;
}

/// An answer in events, put together as they come.
pub(crate) trait Assembly: Send {
    /// Takes one event; `key` is what no error may show.
    fn take(
        &mut self,
        name: &str,
        data: &str,
        key: &str,
        watch: &mut dyn CallWatch,
    ) -> Result<Next, CallFailure>;

    /// The answer, once the stream said that it has ended.
    fn complete(self) -> Result<ChatReply, CallFailure>;

    /// What stands when the stream ended without saying so.
    fn cut(self, source: Option<TransportError>) -> Result<ChatReply, CallFailure>;

    /// Usage as far as it was reported and still holds.
    fn usage(&self) -> Option<Usage>;
}

/// Whether more events may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    More,
    Done,
}

/// Keeps and tells the usage of an event, or that its output has outdated the one before: a total
/// at the start, or on the first piece only, must not stand for hundreds of pieces.
pub(crate) fn told_usage(
    kept: &mut Option<Usage>,
    usage: Option<Usage>,
    output: bool,
    watch: &mut dyn CallWatch,
) {
    match usage {
        Some(usage) => {
            *kept = Some(usage);
            watch.usage(usage);
        }
        None if output && kept.take().is_some() => watch.usage_outdated(),
        None => {}
    }
}

/// The header by which a loopback server is told how long to answer.
pub(crate) const OUTPUT_TOKENS_HINT: &str = "x-nucleo-output-tokens";

/// The header by which a loopback server is told for how many turns to call tools.
pub(crate) const TOOL_TURNS_HINT: &str = "x-nucleo-tool-turns";

/// The request with `body`, and the headers that every wire sends.
pub(crate) fn post(site: &Site, request: &ChatRequest, body: Bytes) -> Request<Bytes> {
    let mut sent = Request::new(body);
    *sent.method_mut() = Method::POST;
    *sent.uri_mut() = site.uri().clone();
    let headers = sent.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static(accept(request.streaming)));
    if let Some((name, value)) = site.key_header() {
        headers.insert(name, value.clone());
    }
    if let Some(tokens) = request.hints.output_tokens {
        headers.insert(OUTPUT_TOKENS_HINT, tokens.into());
    }
    if let Some(turns) = request.hints.tool_turns {
        headers.insert(TOOL_TURNS_HINT, turns.into());
    }
    sent
}

const fn accept(streaming: Streaming) -> &'static str {
    match streaming {
        Streaming::Whole => "application/json",
        Streaming::Pieces => "text/event-stream",
    }
}
