//! The answer in pieces: server-sent events, put together again.
//!
//! A stream has ended well when it said `[DONE]`, or when it named a finish reason and then ended
//! or broke: the text is complete then. Anything else is a broken answer, however quietly the
//! connection closed.
//!
//! Invariants: usage on any event replaces the one before (servers report running totals), and is
//! never summed; a total that text came after is the total of less than was said, and counts as
//! unknown; each piece of text is told before it is kept; the size of the whole is bounded.
//!
//! Not here: the connection (`transport`), types of the events (`decode`).

use std::pin::pin;

use eventsource_stream::{EventStreamError, Eventsource as _};
use futures_util::StreamExt as _;
use nucleo_core::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::OpenAiConfig;
use super::calls::Calls;
use super::decode::{Answer, FAILED, Made, Said, SaidText, stop, streamed_error};
use super::error::ErrorBody;
use crate::transport::{BodyStream, BrokenAt, TransportError};
use crate::wire::{CallFailure, CallWatch, ChatReply, Stop, StreamedAfter};

#[derive(Deserialize)]
struct Choice {
    delta: Option<Said>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

/// What has arrived so far.
#[derive(Default)]
struct Assembly {
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

/// Whether more may follow.
#[derive(PartialEq, Eq)]
enum Next {
    More,
    Done,
}

/// Reads a streamed answer of 2xx to its end.
pub(super) async fn pieces(
    body: BodyStream,
    config: &OpenAiConfig,
    watch: &mut dyn CallWatch,
) -> Result<ChatReply, CallFailure> {
    let key = config.key_text();
    let mut events = pin!(bounded(body, config.bytes_max()).eventsource());
    let mut so_far = Assembly::default();
    loop {
        match events.next().await {
            Some(Ok(event)) => {
                if so_far.take(&event.event, &event.data, key, watch)? == Next::Done {
                    return so_far.complete(config);
                }
            }
            Some(Err(EventStreamError::Transport(source))) => {
                return so_far.cut(config, Some(source));
            }
            Some(Err(EventStreamError::Utf8(_))) => return Err(so_far.unreadable("valid UTF-8")),
            Some(Err(EventStreamError::Parser(_))) => {
                return Err(so_far.unreadable("well-formed events"));
            }
            None => return so_far.cut(config, None),
        }
    }
}

impl Assembly {
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
        self.report(usage, delta.is_some_and(Said::has_output), watch);
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

    /// Keeps and tells the usage of an event, or that its output has outdated the one before: a total
    /// at the start, or on the first piece only, must not stand for hundreds of pieces.
    fn report(&mut self, usage: Option<Usage>, output: bool, watch: &mut dyn CallWatch) {
        match usage {
            Some(usage) => {
                self.usage = Some(usage);
                watch.usage(usage);
            }
            None if output && self.usage.take().is_some() => watch.usage_outdated(),
            None => {}
        }
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

    fn complete(self, config: &OpenAiConfig) -> Result<ChatReply, CallFailure> {
        let Self { id, text, spoke, calls, thought, stop, usage } = self;
        let text = match spoke {
            Spoke::Nothing => SaidText::Nothing,
            Spoke::Content => SaidText::Content(text),
            Spoke::Refusal => SaidText::Refusal(text),
        };
        let reply = Made { text, calls, thought, stop }.reply(config);
        let reply = reply.map_err(|missing| CallFailure::Unreadable { missing, usage })?;
        Ok(reply.usage(usage).request_id(id))
    }

    /// The stream ended without saying so.
    fn cut(
        self,
        config: &OpenAiConfig,
        source: Option<TransportError>,
    ) -> Result<ChatReply, CallFailure> {
        if self.stop.is_some() {
            return self.complete(config);
        }
        Err(CallFailure::Broken { missing: "the end of the stream", usage: self.usage, source })
    }

    fn failed(&self, error: ErrorBody, key: &str) -> CallFailure {
        let after = if self.has_output() { StreamedAfter::Text } else { StreamedAfter::Nothing };
        streamed_error(error.inside(key), after, self.usage)
    }

    const fn unreadable(&self, missing: &'static str) -> CallFailure {
        CallFailure::Unreadable { missing, usage: self.usage }
    }
}

/// The longest line of a stream that has not ended yet. The parser looks at such a line anew with each
/// piece of it, so its work grows with the square of this.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The same body, broken off past `bytes_max`: a server that never stops must not fill us.
fn bounded(
    body: BodyStream,
    bytes_max: usize,
) -> impl futures_core::Stream<Item = Result<bytes::Bytes, TransportError>> {
    let (mut left, mut line) = (bytes_max, 0_usize);
    body.map(move |piece| {
        let piece = piece?;
        let broken = |words| TransportError::broken(BrokenAt::InBody, words);
        left = left
            .checked_sub(piece.len())
            .ok_or_else(|| broken("the stream is larger than allowed"))?;
        line = match piece.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => piece.len() - end,
            None => line + piece.len(),
        };
        if line > LINE_BYTES_MAX {
            return Err(broken("a line of the stream is longer than allowed"));
        }
        Ok(piece)
    })
}
