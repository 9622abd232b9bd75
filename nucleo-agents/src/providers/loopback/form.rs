//! The wire that a request came by: in its form is everything answered.
//!
//! Invariants: a form changes bytes and headers, never what is taken, said, billed or broken: the same
//! conversation is the same work by either wire.
//!
//! Not here: the bytes themselves (`answer` of chat completions, `messages` of messages).

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use serde_json::{Value, json};

use super::answer::{self, Completion, DONE};
use super::asked::UsageInStream;
use super::clock::ServerDate;
use super::fault::InsideError;
use super::messages;
use super::quota::{Amounts, Shown};
use crate::transport::BodyStream;

/// A wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// OpenAI's chat completions.
    Chat,
    /// Anthropic's messages.
    Messages,
}

impl Form {
    /// The wire that is spoken at a path; chat completions where none is.
    pub(super) fn at(path: &str) -> Self {
        if path == messages::PATH { Self::Messages } else { Self::Chat }
    }

    /// An error in the wire's typed form; `kind` and `code` are those of chat completions.
    pub(super) fn error(
        self,
        status: u16,
        kind: &str,
        code: Option<&str>,
        words: &str,
    ) -> Response<BodyStream> {
        match self {
            Self::Chat => answer::error(status, kind, code, words),
            Self::Messages => messages::error(status, code, words),
        }
    }

    /// A quota's wait.
    pub(super) fn retry_after(self, headers: &mut HeaderMap, wait_ms: u64) {
        match self {
            Self::Chat => answer::retry_after(headers, wait_ms),
            Self::Messages => {
                headers.insert(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into());
            }
        }
    }

    /// What is left of the minute's quotas.
    pub(super) fn limits(self, headers: &mut HeaderMap, shown: &[Shown], now: ServerDate) {
        match self {
            Self::Chat => answer::limits(headers, shown),
            Self::Messages => messages::limits(headers, shown, now),
        }
    }

    /// The server's name for the exchange.
    pub(super) fn request_id(self, headers: &mut HeaderMap, number: u64) {
        let (name, id) = match self {
            Self::Chat => ("x-request-id", format!("req-{number:08}")),
            Self::Messages => ("request-id", format!("req_{number:08}")),
        };
        let id = HeaderValue::try_from(id).expect("letters and digits");
        headers.insert(HeaderName::from_static(name), id);
    }

    /// An event that does nothing but keep a connection alive.
    pub(super) const fn sign_of_life(self) -> &'static str {
        match self {
            Self::Chat => ": keep-alive\n\n",
            Self::Messages => messages::PING,
        }
    }

    /// An event cut inside its JSON, as if it were whole.
    pub(super) const fn malformed(self) -> Bytes {
        match self {
            Self::Chat => Bytes::from_static(b"data: {\"choices\": [{\"del\n\n"),
            Self::Messages => Bytes::from_static(messages::MALFORMED),
        }
    }
}

impl Completion {
    /// A whole answer in its form. `message` is that of chat completions, as is `finish`.
    pub(super) fn body(&self, message: &Value, finish: &str, usage: Option<Amounts>) -> Value {
        match self.form {
            Form::Chat => self.whole(message, finish, usage),
            Form::Messages => self.message(message, finish, usage),
        }
    }

    /// A whole answer that says error, after half of its message or before any.
    pub(super) fn failing(&self, says: InsideError, half: Option<Value>) -> Value {
        match self.form {
            Form::Chat => self.failed(says, half),
            Form::Messages => {
                let half = half
                    .map_or_else(|| json!({"type": "error"}), |half| self.message(&half, "", None));
                messages::failing(half, says)
            }
        }
    }

    /// The event that says error.
    pub(super) fn failing_event(&self, says: InsideError) -> Bytes {
        match self.form {
            Form::Chat => Self::failed_event(says),
            Form::Messages => {
                messages::event("error", &messages::failing(json!({"type": "error"}), says))
            }
        }
    }

    /// What opens a stream: `used` is told where the form opens with it, `so_far` where every event
    /// tells it.
    pub(super) fn opening(&self, used: Option<Amounts>, so_far: Option<Amounts>) -> Bytes {
        match self.form {
            Form::Chat => {
                let opening = json!({"role": "assistant", "content": "", "refusal": null});
                self.event(&opening, None, so_far)
            }
            Form::Messages => self.message_start(used),
        }
    }

    /// The next piece of a stream; `delta` is that of chat completions.
    pub(super) fn piece(&mut self, delta: &Value, so_far: Option<Amounts>) -> Bytes {
        match self.form {
            Form::Chat => self.event(delta, None, so_far),
            Form::Messages => self.block_events(delta, so_far),
        }
    }

    /// The finish, the usage where it is told, and the end mark.
    pub(super) fn ending(
        &mut self,
        finish: &str,
        (so_far, used): (Option<Amounts>, Option<Amounts>),
        told: UsageInStream,
    ) -> Bytes {
        if self.form == Form::Messages {
            return self.message_end(finish, used);
        }
        let mut last = self.event(&json!({}), Some(finish), so_far).to_vec();
        if let (UsageInStream::Told, Some(used)) = (told, used) {
            last.extend_from_slice(&self.usage_event(used));
        }
        last.extend_from_slice(DONE.as_bytes());
        last.into()
    }
}
