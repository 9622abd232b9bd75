//! The bytes of answers by Anthropic's messages wire.
//!
//! What is said comes as the message or the delta of chat completions, and is put into blocks here:
//! words into one of text, each tool call into one of its own.
//!
//! Invariants: an error's kind follows from its status; a reset is a date, rounded up to the second;
//! blocks of a stream are numbered from zero, and one ends before the next begins.
//!
//! Not here: when they are sent (`serving`, `flow`), reading a request (`asked_messages`).

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use serde_json::{Value, json};

use super::answer::{self, Completion};
use super::clock::ServerDate;
use super::config::Dimension;
use super::fault::InsideError;
use super::injected::WORDS;
use super::quota::{Amounts, Shown};
use crate::transport::BodyStream;

pub(super) const PATH: &str = "/v1/messages";
pub(super) const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
pub(super) const MALFORMED: &[u8] =
    b"event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"del\n\n";

/// The blocks of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocks {
    next: u64,
    open: Open,
}

/// The block that is being said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    None,
    Text,
    Call,
}

/// An error in the wire's typed form.
pub(super) fn error(status: u16, code: Option<&str>, words: &str) -> Response<BodyStream> {
    let (status, kind) = match (status, code) {
        (_, Some("insufficient_quota")) => (402, "billing_error"),
        (401, _) => (401, "authentication_error"),
        (404, _) => (404, "not_found_error"),
        (413, _) => (413, "request_too_large"),
        (429, _) => (429, "rate_limit_error"),
        (503 | 529, _) => (status, "overloaded_error"),
        (500.., _) => (status, "api_error"),
        _ => (status, "invalid_request_error"),
    };
    let status = StatusCode::from_u16(status).expect("a status between 100 and 999");
    answer::json(status, &json!({"type": "error", "error": {"type": kind, "message": words}}))
}

/// `body` that says error.
pub(super) fn failing(mut body: Value, says: InsideError) -> Value {
    let kind = match says {
        InsideError::RateLimit => "rate_limit_error",
        InsideError::Overload => "overloaded_error",
        InsideError::ServerError => "api_error",
    };
    body["error"] = json!({"type": kind, "message": WORDS});
    body
}

/// What is left of the minute's quotas.
pub(super) fn limits(headers: &mut HeaderMap, shown: &[Shown], now: ServerDate) {
    for Shown { dimension, limit, remaining, full_in_ns } in shown {
        let seconds = i64::try_from(full_in_ns.div_ceil(1_000_000_000)).unwrap_or(i64::MAX);
        let facts = [
            ("limit", limit.to_string()),
            ("remaining", remaining.to_string()),
            ("reset", now.plus_s(seconds).rfc3339()),
        ];
        let name = match dimension {
            Dimension::Requests => "requests",
            Dimension::Tokens => "tokens",
            Dimension::InputTokens => "input-tokens",
            Dimension::OutputTokens => "output-tokens",
        };
        for (fact, value) in facts {
            let header = format!("anthropic-ratelimit-{name}-{fact}");
            let header = HeaderName::try_from(header).expect("a name of lower-case letters");
            headers.insert(header, value.try_into().expect("digits and letters"));
        }
    }
}

pub(super) fn event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

impl Completion {
    /// The whole answer; a finish of nothing is none.
    pub(super) fn message(&self, said: &Value, finish: &str, usage: Option<Amounts>) -> Value {
        let words = said["content"].as_str().map(|text| json!({"type": "text", "text": text}));
        let calls = said["tool_calls"].as_array().into_iter().flatten().map(|call| {
            let (id, function) = (&call["id"], &call["function"]);
            let input = function["arguments"].as_str().unwrap_or_default();
            // What was cut is no JSON yet.
            let input = serde_json::from_str::<Value>(input).unwrap_or_else(|_| json!({}));
            json!({"type": "tool_use", "id": id, "name": function["name"], "input": input})
        });
        let content: Vec<_> = words.into_iter().chain(calls).collect();
        let mut body = self.frame_of_message();
        body["content"] = content.into();
        body["stop_reason"] = stop_reason(finish);
        if let Some(usage) = usage {
            body["usage"] = usage_json(usage);
        }
        body
    }

    pub(super) fn message_start(&self, usage: Option<Amounts>) -> Bytes {
        let mut message = self.frame_of_message();
        if let Some(usage) = usage {
            message["usage"] = usage_json(usage);
        }
        event("message_start", &json!({"type": "message_start", "message": message}))
    }

    /// The events of a delta, and of the usage so far where every piece tells it.
    pub(super) fn block_events(&mut self, delta: &Value, so_far: Option<Amounts>) -> Bytes {
        let mut events = Vec::new();
        if let Some(text) = delta["content"].as_str() {
            if self.blocks.open != Open::Text {
                self.begin(Open::Text, &json!({"type": "text", "text": ""}), &mut events);
            }
            self.go_on(&json!({"type": "text_delta", "text": text}), &mut events);
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            let function = &piece["function"];
            if let Some(id) = piece["id"].as_str() {
                let name = &function["name"];
                let call = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.begin(Open::Call, &call, &mut events);
            }
            if let Some(json) = function["arguments"].as_str().filter(|json| !json.is_empty()) {
                self.go_on(&json!({"type": "input_json_delta", "partial_json": json}), &mut events);
            }
        }
        if let Some(usage) = so_far {
            events.extend_from_slice(&message_delta(&Value::Null, Some(usage)));
        }
        events.into()
    }

    pub(super) fn message_end(&mut self, finish: &str, usage: Option<Amounts>) -> Bytes {
        let mut events = Vec::new();
        self.end_block(&mut events);
        events.extend_from_slice(&message_delta(&stop_reason(finish), usage));
        events.extend_from_slice(&event("message_stop", &json!({"type": "message_stop"})));
        events.into()
    }

    fn begin(&mut self, open: Open, block: &Value, events: &mut Vec<u8>) {
        self.end_block(events);
        self.blocks.open = open;
        let index = self.blocks.next;
        self.blocks.next += 1;
        let start = json!({"type": "content_block_start", "index": index, "content_block": block});
        events.extend_from_slice(&event("content_block_start", &start));
    }

    fn go_on(&self, delta: &Value, events: &mut Vec<u8>) {
        let index = self.blocks.next.saturating_sub(1);
        let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
        events.extend_from_slice(&event("content_block_delta", &data));
    }

    fn end_block(&mut self, events: &mut Vec<u8>) {
        if std::mem::take(&mut self.blocks.open) != Open::None {
            let index = self.blocks.next.saturating_sub(1);
            let data = json!({"type": "content_block_stop", "index": index});
            events.extend_from_slice(&event("content_block_stop", &data));
        }
    }

    fn frame_of_message(&self) -> Value {
        json!({
            "id": format!("msg_{:016x}", self.id),
            "type": "message",
            "role": "assistant",
            "model": &*self.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
        })
    }
}

fn message_delta(stop_reason: &Value, usage: Option<Amounts>) -> Bytes {
    let delta = json!({"stop_reason": stop_reason, "stop_sequence": null});
    let mut data = json!({"type": "message_delta", "delta": delta});
    if let Some(usage) = usage {
        data["usage"] = usage_json(usage);
    }
    event("message_delta", &data)
}

fn stop_reason(finish: &str) -> Value {
    match finish {
        "stop" => "end_turn".into(),
        "length" => "max_tokens".into(),
        "tool_calls" => "tool_use".into(),
        _ => Value::Null,
    }
}

fn usage_json(usage: Amounts) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": usage.output,
    })
}
