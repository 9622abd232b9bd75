//! Answers of faults that come instead of any work.
//!
//! Invariants: nothing is taken from any quota and nothing is billed for them.
//!
//! Not here: faults of an answer under way (`serving`, `flow`), when a fault happens (`deck`).

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use super::answer;
use super::clock::ServerDate;
use super::fault::{AskedWait, Fault};
use super::form::Form;
use crate::transport::{BodyStream, BrokenAt, TransportError};

type Answered = Result<Response<BodyStream>, TransportError>;

/// What is answered instead of any work; `None` when the fault lets the work begin.
pub(super) fn instead(form: Form, fault: Fault, now: ServerDate) -> Option<Answered> {
    let asks = |mut answer: Response<BodyStream>, wait| {
        ask_to_wait(form, answer.headers_mut(), wait, now);
        answer
    };
    Some(Ok(match fault {
        Fault::RateLimit(wait) => {
            asks(form.error(429, "requests", Some("rate_limit_exceeded"), WORDS), wait)
        }
        Fault::OutOfCredit => {
            form.error(429, "insufficient_quota", Some("insufficient_quota"), WORDS)
        }
        Fault::Overloaded(wait) => asks(form.error(529, "overloaded_error", None, WORDS), wait),
        Fault::ServerError => form.error(500, "server_error", None, WORDS),
        Fault::Unavailable(wait) => asks(form.error(503, "overloaded_error", None, WORDS), wait),
        Fault::WebPage => {
            let page = "<!doctype html><title>Proxy</title><p>Please sign in.</p>";
            answer::whole(StatusCode::OK, "text/html; charset=utf-8", page)
        }
        Fault::Reset => return Some(Err(TransportError::broken(BrokenAt::BeforeHead, WORDS))),
        Fault::Silent
        | Fault::Stall
        | Fault::KeepAlive
        | Fault::Truncate
        | Fault::ResetAtEnd
        | Fault::ErrorInside { .. }
        | Fault::MissingUsage
        | Fault::RunningUsage
        | Fault::MalformedJson
        | Fault::DoubledUsage
        | Fault::ClockJump { .. } => return None,
    }))
}

fn ask_to_wait(form: Form, headers: &mut HeaderMap, wait: AskedWait, now: ServerDate) {
    const IN_MS: HeaderName = HeaderName::from_static("retry-after-ms");
    match wait {
        AskedWait::Unsaid => {}
        AskedWait::Millis(ms) => {
            headers.insert(IN_MS, ms.into());
        }
        AskedWait::Seconds(seconds) => {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        AskedWait::Both(ms) => form.retry_after(headers, ms),
        AskedWait::Date(in_s) => {
            // Both dates from one reading: the second may end in between.
            headers.insert(header::RETRY_AFTER, now.plus_s(in_s).header());
            headers.insert(header::DATE, now.header());
        }
        AskedWait::Garbage => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("in a while"));
            headers.insert(IN_MS, HeaderValue::from_static("soon"));
        }
    }
}

/// What the bodies of injected errors say to a person.
pub(super) const WORDS: &str = "injected on request";
