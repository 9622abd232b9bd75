//! What a server says on either wire: a reply or a failure, the same in every chunking.
//!
//! The bytes are an exchange as one would write it down: a line with the status and the content
//! type, headers, an empty line, the body. `x-cut: N` breaks the connection after N bytes of the
//! body; `x-ask: stream` asks for pieces.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, Response};
use nucleo_agents::providers::Provider;
use nucleo_agents::providers::anthropic::{Anthropic, AnthropicConfig};
use nucleo_agents::providers::openai::{OpenAi, OpenAiConfig};
use nucleo_agents::transport::{BodyStream, BrokenAt, InMemory, TransportError};
use nucleo_agents::wire::{
    CallFailure, CallWatch, ChatReply, ChatRequest, EndsAt, FailureClass, HeadFacts, Message, Stop,
    StreamedAfter, Streaming, ToolCall,
};
use nucleo_core::Usage;
use serde_json::{Value, json};

/// The caller's key; seeds hold it where a server might echo it.
const KEY: &str = "hunter2-not-a-real-key-4711";

/// Which wire the server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
}

/// An exchange, read from bytes.
struct Exchange<'b> {
    wire: Wire,
    status: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: &'b [u8],
    cut: Option<usize>,
    streaming: Streaming,
}

/// How it went: what the caller gets, and what was told on the way.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// The reply or failure, as `Debug` tells it, and what `Debug` doesn't: the text and the calls.
    result: String,
    text: Option<String>,
    calls: Vec<ToolCall>,
    told: Told,
}

#[derive(Debug, Default, PartialEq)]
struct Told {
    leaving: usize,
    heads: Vec<HeadFacts>,
    usages: Vec<Usage>,
    /// More was made since the last of them.
    outdated: bool,
    pieces: Vec<String>,
}

impl CallWatch for Told {
    fn leaving(&mut self) {
        self.leaving += 1;
    }
    fn could_not_connect(&mut self) {
        panic!("the server was reached");
    }
    fn head(&mut self, head: &HeadFacts) {
        assert_eq!(self.leaving, 1);
        self.heads.push(head.clone());
    }
    fn usage(&mut self, usage: Usage) {
        assert_eq!(self.heads.len(), 1);
        self.usages.push(usage);
        self.outdated = false;
    }
    fn usage_outdated(&mut self) {
        assert!(!self.usages.is_empty() && !self.outdated);
        self.outdated = true;
    }
    fn piece(&mut self, text: &str) {
        assert!(self.heads.len() == 1 && !text.is_empty());
        self.pieces.push(text.to_owned());
    }
}

pub(crate) fn check(wire: Wire, bytes: &[u8]) {
    let exchange = Exchange::read(wire, bytes);
    let whole = exchange.arriving(vec![exchange.arrived()]);
    let chunks = in_chunks(exchange.arrived(), bytes);
    assert_eq!(exchange.arriving(chunks), whole, "in chunks");
    if exchange.arrived().len() <= 600 {
        let single = exchange.arrived().chunks(1).collect();
        assert_eq!(exchange.arriving(single), whole, "byte by byte");
    }
}

/// Chunks whose sizes follow from the bytes alone, some of them empty.
fn in_chunks<'b>(body: &'b [u8], seed: &[u8]) -> Vec<&'b [u8]> {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let mut random = fastrand::Rng::with_seed(seed.iter().fold(0xcbf2_9ce4_8422_2325, mix));
    let (mut chunks, mut rest) = (Vec::new(), body);
    while !rest.is_empty() {
        let (chunk, left) = rest.split_at(random.usize(0..=rest.len().min(40)));
        chunks.push(chunk);
        rest = left;
    }
    chunks
}

impl<'b> Exchange<'b> {
    fn read(wire: Wire, bytes: &'b [u8]) -> Self {
        let mut exchange = Self {
            wire,
            status: 200,
            headers: Vec::new(),
            body: bytes,
            cut: None,
            streaming: Streaming::Whole,
        };
        let mut line = exchange.line();
        if let Some((status, kind)) = line.split_once(' ') {
            exchange.status =
                status.parse().ok().filter(|s| (100..1_000).contains(s)).unwrap_or(200);
            exchange.header("content-type", kind);
        }
        while !exchange.body.is_empty() {
            line = exchange.line();
            let Some((name, value)) = line.split_once(':') else { break };
            match (name, value.trim()) {
                ("x-cut", bytes) => exchange.cut = bytes.parse().ok(),
                ("x-ask", "stream") => exchange.streaming = Streaming::Pieces,
                (name, value) => exchange.header(name, value),
            }
        }
        exchange
    }

    fn line(&mut self) -> String {
        let end = self.body.iter().position(|byte| *byte == b'\n').unwrap_or(self.body.len());
        let line = String::from_utf8_lossy(&self.body[..end]).into_owned();
        self.body = &self.body[(end + 1).min(self.body.len())..];
        line
    }

    fn header(&mut self, name: &str, value: &str) {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value), true) = (name, value, self.headers.len() < 40) {
            self.headers.push((name, value));
        }
    }

    /// What of the body arrives.
    fn arrived(&self) -> &'b [u8] {
        &self.body[..self.cut.unwrap_or(usize::MAX).min(self.body.len())]
    }

    /// The exchange with its body in these chunks, checked by itself.
    fn arriving(&self, chunks: Vec<&[u8]>) -> Outcome {
        let mut body: Vec<Result<Bytes, ()>> =
            chunks.into_iter().map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
        if self.cut.is_some() {
            body.push(Err(()));
        }
        let (status, headers) = (self.status, self.headers.clone());
        let server = InMemory::new(move |_request| {
            let broken = |()| TransportError::broken(BrokenAt::InBody, "cut by the test");
            let body = body.iter().cloned().map(|chunk| chunk.map_err(broken)).collect();
            let mut answer = Response::new(BodyStream::pieces(body));
            *answer.status_mut() = status.try_into().expect("within 100 to 999");
            answer.headers_mut().extend(headers.iter().cloned());
            async { Ok(answer) }
        });
        let mut told = Told::default();
        let result = call(self.wire, server, self.streaming, &mut told);
        self.check_result(&result, &told);
        if self.wire == Wire::Chat {
            self.check_usage(&told);
        }
        let text = result.as_ref().ok().map(|reply| reply.text.clone());
        let calls = result.as_ref().map_or_else(|_| Vec::new(), |reply| reply.calls.clone());
        Outcome { result: format!("{result:?}"), text, calls, told }
    }

    fn check_result(&self, result: &Result<ChatReply, CallFailure>, told: &Told) {
        assert_eq!((told.leaving, told.heads.len()), (1, 1));
        let usage = match result {
            Ok(reply) => {
                assert!((200..300).contains(&self.status), "{reply:?}");
                if !told.pieces.is_empty() {
                    assert_eq!(told.pieces.concat(), reply.text);
                }
                let whole = |call: &ToolCall| !call.id.is_empty() && !call.name.is_empty();
                assert!(reply.calls.iter().all(whole), "{reply:?}");
                let silent = reply.text.is_empty() && reply.calls.is_empty();
                assert!(!(silent && reply.stop == Stop::ToolCalls), "{reply:?}");
                reply.usage
            }
            Err(failure) => {
                check_words(failure);
                check_ending(self.status, failure);
                failure.usage()
            }
        };
        let holds = told.usages.last().copied().filter(|_| !told.outdated);
        assert_eq!(holds, usage, "the last one told holds");
    }

    /// Each usage told is one that the server reported, never a sum of several.
    fn check_usage(&self, told: &Told) {
        let text = String::from_utf8_lossy(self.arrived());
        let events = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data:"));
        let reported: Option<Vec<Value>> = match serde_json::from_str(&text) {
            Ok(whole) => Some(vec![whole]),
            Err(_) => events
                .filter(|data| data.trim() != "[DONE]" && !data.trim().is_empty())
                .map(|data| serde_json::from_str(data).ok())
                .collect(),
        };
        // An event in several lines is not put together here.
        let Some(reported) = reported else { return };
        let alone: Vec<Usage> =
            reported.iter().filter_map(|event| alone(event.get("usage")?)).collect();
        for usage in &told.usages {
            assert!(alone.contains(usage), "{usage:?} is not among {alone:?}");
        }
    }
}

fn call(
    wire: Wire,
    server: InMemory,
    streaming: Streaming,
    told: &mut Told,
) -> Result<ChatReply, CallFailure> {
    let epoch = || httpdate::parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT").expect("a date");
    let provider: Box<dyn Provider> = match wire {
        Wire::Chat => {
            let config = OpenAiConfig::new("http://any/v1").expect("an address").wall_clock(epoch);
            let config = config.api_key(KEY.into()).expect("a key");
            Box::new(OpenAi::new(config, Arc::new(server)))
        }
        Wire::Messages => {
            let config = AnthropicConfig::new("http://any").expect("an address").wall_clock(epoch);
            let config = config.api_key(KEY.into()).expect("a key");
            Box::new(Anthropic::new(config, Arc::new(server)))
        }
    };
    let request = ChatRequest::new("m", vec![Message::user("Well?")], 16).streaming(streaming);
    let result = provider.call(&request, told).now_or_never();
    result.expect("everything is there: it ends at once")
}

/// What a report of usage means by itself, in a whole answer around it.
fn alone(usage: &Value) -> Option<Usage> {
    let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
        "usage": usage});
    let body = body.to_string();
    let server = InMemory::new(move |_| {
        let body = body.clone();
        async { Ok(Response::new(BodyStream::full(body))) }
    });
    let read = call(Wire::Chat, server, Streaming::Whole, &mut Told::default())
        .expect("an answer")
        .usage?;
    // Disjoint kinds: the parts of a total lie inside it or beside it, and are counted once.
    let total = |name: &str| usage[name].as_f64().expect("a total that was read");
    let near = |sum: u64, total: f64| (sum as f64 - total).abs() <= total * 1e-9;
    let (inside, beside) = (read.input_total(), read.cache_write as f64 + read.cache_read as f64);
    let prompt = total("prompt_tokens");
    assert!(
        near(inside, prompt) || near(inside, prompt + beside) || inside == u64::MAX,
        "{read:?}"
    );
    let (inside, completion) = (read.output_total(), total("completion_tokens"));
    let beside = completion + read.reasoning as f64;
    assert!(near(inside, completion) || near(inside, beside) || inside == u64::MAX, "{read:?}");
    Some(read)
}

/// A failure says something, bounded, and never the key.
fn check_words(failure: &CallFailure) {
    let said = failure.to_string();
    assert!(!said.is_empty() && said.chars().count() < 800, "{said}");
    assert!(!said.contains(KEY) && !format!("{failure:?}").contains(KEY), "{failure:?}");
}

/// What is given back and whether a repeat helps follow from how the answer ended.
fn check_ending(status: u16, failure: &CallFailure) {
    let (class, ends_at) = (failure.class(), failure.ends_at());
    if (200..300).contains(&status) {
        let expected = match failure {
            CallFailure::Html { .. } => EndsAt::ErrorAnswer,
            CallFailure::Unreadable { .. } => EndsAt::FullAnswer,
            CallFailure::Broken { .. } => EndsAt::Incomplete,
            CallFailure::StreamedError { after: StreamedAfter::Nothing, usage: None, .. } => {
                EndsAt::ErrorAnswer
            }
            CallFailure::StreamedError { .. } => EndsAt::Incomplete,
            other => panic!("{other:?} at status {status}"),
        };
        assert_eq!(ends_at, expected, "{failure:?}");
        return;
    }
    let limited = matches!(failure, CallFailure::RateLimited { .. });
    let expected = if limited { EndsAt::RateLimited } else { EndsAt::ErrorAnswer };
    assert_eq!((ends_at, failure.usage()), (expected, None), "{failure:?}");
    let fits = match status {
        402 => class == FailureClass::OutOfCredit,
        429 => matches!(class, FailureClass::RateLimit | FailureClass::OutOfCredit),
        529 => matches!(class, FailureClass::Overload | FailureClass::OutOfCredit),
        500..=599 => matches!(
            class,
            FailureClass::Transient | FailureClass::Overload | FailureClass::OutOfCredit
        ),
        _ => matches!(class, FailureClass::Rejected | FailureClass::OutOfCredit),
    };
    assert!(fits, "{failure:?} at status {status}");
}
