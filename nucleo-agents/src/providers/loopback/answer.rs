//! The bytes of the server's answers, in the form of chat completions.
//!
//! Invariants: every body that is whole states its length; errors have the typed form of the OpenAI
//! wire; a 429 states its wait twice, in whole seconds (rounded up) and in milliseconds.
//!
//! Not here: when they are sent (`serving`, `flow`), which form it is (`form`), the other (`messages`).

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::config::Dimension;
use super::fault::InsideError;
use super::form::Form;
use super::injected::WORDS;
use super::messages::Blocks;
use super::quota::{Amounts, Refused, Shown};
use crate::transport::BodyStream;

/// A whole answer in JSON.
pub(super) fn json(status: StatusCode, body: &Value) -> Response<BodyStream> {
    whole(status, "application/json", body.to_string())
}

/// A whole answer.
pub(super) fn whole(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<BodyStream> {
    let body = body.into();
    let length = body.len();
    let mut answer = of(status, content_type, BodyStream::full(body));
    answer.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    answer
}

/// An answer whose body comes as it comes.
pub(super) fn of(
    status: StatusCode,
    content_type: &'static str,
    body: BodyStream,
) -> Response<BodyStream> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// An error in the wire's typed form.
pub(super) fn error(
    status: u16,
    kind: &str,
    code: Option<&str>,
    words: &str,
) -> Response<BodyStream> {
    let status = StatusCode::from_u16(status).expect("a status between 100 and 999");
    json(status, &json!({"error": {"message": words, "type": kind, "param": null, "code": code}}))
}

/// The 429 of a refusal.
pub(super) fn refused(form: Form, model: &str, refused: Refused) -> Response<BodyStream> {
    match refused {
        Refused::Concurrent { limit } => {
            let words = format!("{model} takes {limit} requests at a time");
            form.error(429, "requests", Some("concurrency_limit_exceeded"), &words)
        }
        Refused::Quota { dimension, limit, asked, wait_ns } => {
            let kind = name(dimension).replace('-', "_");
            let words = format!("limit of {model} reached on {kind}: limit {limit}, asked {asked}");
            let mut answer = form.error(429, &kind, Some("rate_limit_exceeded"), &words);
            if let Some(wait_ns) = wait_ns {
                form.retry_after(answer.headers_mut(), wait_ns.div_ceil(1_000_000));
            }
            answer
        }
    }
}

pub(super) fn retry_after(headers: &mut HeaderMap, wait_ms: u64) {
    headers.insert(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into());
    headers.insert(HeaderName::from_static("retry-after-ms"), wait_ms.into());
}

/// What is left of the minute's quotas.
pub(super) fn limits(headers: &mut HeaderMap, shown: &[Shown]) {
    for Shown { dimension, limit, remaining, full_in_ns } in shown {
        let full_in = format!("{}ms", full_in_ns.div_ceil(1_000_000));
        let facts = [
            ("limit", limit.to_string()),
            ("remaining", remaining.to_string()),
            ("reset", full_in),
        ];
        for (fact, value) in facts {
            let header = format!("x-ratelimit-{fact}-{}", name(*dimension));
            let header = HeaderName::try_from(header).expect("a name of lower-case letters");
            headers.insert(header, value.try_into().expect("digits and letters"));
        }
    }
}

const fn name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Requests => "requests",
        Dimension::Tokens => "tokens",
        Dimension::InputTokens => "input-tokens",
        Dimension::OutputTokens => "output-tokens",
    }
}

/// What every body of one completion repeats.
#[derive(Clone, Debug)]
pub(super) struct Completion {
    pub(super) id: u64,
    pub(super) model: std::sync::Arc<str>,
    pub(super) form: Form,
    /// Of a stream in the form of messages.
    pub(super) blocks: Blocks,
}

impl Completion {
    /// The whole completion.
    pub(super) fn whole(&self, message: &Value, finish: &str, usage: Option<Amounts>) -> Value {
        let choice =
            json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish});
        let mut body = self.frame("chat.completion", json!([choice]));
        if let Some(usage) = usage {
            body["usage"] = usage_json(usage);
        }
        body
    }

    /// One event with a piece of text, or, without one, the event that names the finish; with the
    /// usage so far, where each event tells it.
    pub(super) fn event(
        &self,
        delta: &Value,
        finish: Option<&str>,
        so_far: Option<Amounts>,
    ) -> Bytes {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        let mut body = self.frame("chat.completion.chunk", json!([choice]));
        if let Some(usage) = so_far {
            body["usage"] = usage_json(usage);
        }
        event(&body)
    }

    /// A whole body that says error, after half of the text or before any.
    pub(super) fn failed(&self, says: InsideError, half: Option<Value>) -> Value {
        let mut body = half.map_or_else(|| json!({}), |half| self.whole(&half, "error", None));
        body["error"] = inside(says);
        body
    }

    /// The event that says error.
    pub(super) fn failed_event(says: InsideError) -> Bytes {
        event(&json!({"error": inside(says)}))
    }

    /// The event that tells usage.
    pub(super) fn usage_event(&self, usage: Amounts) -> Bytes {
        let mut body = self.frame("chat.completion.chunk", json!([]));
        body["usage"] = usage_json(usage);
        event(&body)
    }

    fn frame(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{:016x}", self.id),
            "object": object,
            "created": CREATED,
            "model": &*self.model,
            "choices": choices,
        })
    }
}

pub(super) const DONE: &str = "data: [DONE]\n\n";
/// A fixed moment: answers don't depend on when they are asked for.
const CREATED: u64 = 1_767_225_600;

fn inside(says: InsideError) -> Value {
    let (kind, code) = match says {
        InsideError::RateLimit => ("requests", Some("rate_limit_exceeded")),
        InsideError::Overload => ("overloaded_error", None),
        InsideError::ServerError => ("server_error", None),
    };
    json!({"message": WORDS, "type": kind, "param": null, "code": code})
}

fn event(body: &Value) -> Bytes {
    format!("data: {body}\n\n").into()
}

fn usage_json(usage: Amounts) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}
