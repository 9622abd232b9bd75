//! The answer in pieces: server-sent events, put together again.
//!
//! A stream has ended well when it said `[DONE]`, or when it named a finish reason and then ended
//! or broke: the text is complete then. Anything else is a broken answer, however quietly the
//! connection closed.
//!
//! Invariants: usage on any event replaces the one before (servers report running totals), and is
//! never summed; a total that text came after is the total of less than was said, and counts as
//! unknown; each piece of text is told before it is kept.
//!
//! Not here: events of bytes (`over_http::events`), types of the events (`decode`).

use std::sync::Arc;

use nucleo_core::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::calls::Calls;
use super::decode::{Answer, FAILED, Made, Said, SaidText, stop};
use crate::providers::over_http::{self, ErrorBody, Next, streamed_error, told_usage};
use crate::transport::TransportError;
use crate::wire::{CallFailure, CallWatch, ChatReply, Stop, StreamedAfter};

#[derive(Deserialize)]
struct Choice {
    delta: Option<Said>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// What has arrived so far.
#[derive(Default)]
pub(crate) struct Assembly {
    server: Arc<str>,
    id: Option<Box<str>>,
    text: String,
    spoke: Spoke,
    calls: Calls,
    thought: Option<String>,
    stop: Option<Stop>,
    /// The last total, while it covers what was said.
    usage: Option<Usage>,
}

/// Whether anything was said, be it empty.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Spoke {
    #[default]
    Nothing,
    Content,
    Refusal,
}

impl over_http::Assembly for Assembly {
    fn take(
        &mut self,
        name: &str,
        data: &str,
        key: &str,
        watch: &mut dyn CallWatch,
    ) -> Result<Next, CallFailure> {
        if data.trim() == "[DONE]" {
            return Ok(Next::Done);
        }
        if name == "error" {
            return Err(self.failed(ErrorBody::read(data.as_bytes()), key));
        }
        let Ok(event) = serde_json::from_str::<Answer<Choice>>(data) else {
            return Err(self.unreadable("valid JSON in an event"));
        };
        let usage = event.used();
        // Only the first choice is ours: we ask for one. A usage event has none.
        let choice = event.choices.into_iter().flatten().next();
        let delta = choice.as_ref().and_then(|choice| choice.delta.as_ref());
        told_usage(&mut self.usage, usage, delta.is_some_and(Said::has_output), watch);
        if let Some(error) = &event.error {
            return Err(self.failed(ErrorBody::of(error), key));
        }
        if self.id.is_none() {
            self.id = event.id.map(Into::into);
        }
        let Some(choice) = choice else { return Ok(Next::More) };
        let error = choice.error.as_ref().map(ErrorBody::of);
        let failed = choice.finish_reason.as_deref() == Some(FAILED);
        self.choice(choice, watch);
        match error {
            Some(error) => Err(self.failed(error, key)),
            None if failed => Err(self.failed(ErrorBody::default(), key)),
            None => Ok(Next::More),
        }
    }

    fn complete(self) -> Result<ChatReply, CallFailure> {
        let Self { server, id, text, spoke, calls, thought, stop, usage } = self;
        let text = match spoke {
            Spoke::Nothing => SaidText::Nothing,
            Spoke::Content => SaidText::Content(text),
            Spoke::Refusal => SaidText::Refusal(text),
        };
        let reply = Made { text, calls, thought, stop }.reply(&server);
        let reply = reply.map_err(|missing| CallFailure::Unreadable { missing, usage })?;
        Ok(reply.usage(usage).request_id(id))
    }

    fn cut(self, source: Option<TransportError>) -> Result<ChatReply, CallFailure> {
        if self.stop.is_some() {
            return self.complete();
        }
        Err(CallFailure::Broken { missing: "the end of the stream", usage: self.usage, source })
    }

    fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

impl Assembly {
    /// Nothing yet, of the server that calls itself so.
    pub(super) fn new(server: &Arc<str>) -> Self {
        Self { server: Arc::clone(server), ..Self::default() }
    }

    fn has_output(&self) -> bool {
        let thought = self.thought.as_ref().is_some_and(|text| !text.is_empty());
        thought || !self.text.is_empty() || !self.calls.is_empty()
    }

    fn choice(&mut self, choice: Choice, watch: &mut dyn CallWatch) {
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(stop(&reason));
        }
        let Some(delta) = choice.delta else { return };
        if let Some(piece) = delta.thought() {
            self.thought.get_or_insert_default().push_str(piece);
        }
        for piece in delta.tool_calls {
            self.calls.take(piece);
        }
        let (piece, spoke) = match (delta.content, delta.refusal) {
            (Some(content), _) => (content.into_text(), Spoke::Content),
            (None, Some(refusal)) => (refusal, Spoke::Refusal),
            (None, None) => return,
        };
        if self.spoke == Spoke::Nothing || !piece.is_empty() {
            self.spoke = spoke;
        }
        if !piece.is_empty() {
            watch.piece(&piece);
            self.text.push_str(&piece);
        }
    }

    fn failed(&self, error: ErrorBody, key: &str) -> CallFailure {
        let after = if self.has_output() { StreamedAfter::Text } else { StreamedAfter::Nothing };
        streamed_error(error.inside(key), after, self.usage)
    }

    const fn unreadable(&self, missing: &'static str) -> CallFailure {
        CallFailure::Unreadable { missing, usage: self.usage }
    }
}
