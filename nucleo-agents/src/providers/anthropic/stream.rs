//! The answer in pieces: events, put together again.
//!
//! A stream opens with `message_start`, brings each block as a start, deltas and a stop, then
//! `message_delta` with why it ends, and says `message_stop`. It has ended well when it said that, or
//! when it named why it ends and then broke: the text is complete then.
//!
//! Invariants: a report of usage is a running total of what it names, never summed; a total that
//! output came after, thinking too, is the total of less than was made, and counts as unknown; each
//! piece of text is told before it is kept; events and deltas of kinds we don't know are passed over.
//!
//! Not here: events of bytes (`over_http::events`), types of the blocks (`decode`), what becomes of
//! them (`blocks`).

use nucleo_core::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::blocks::{Asked, CallSaid, Said, reply, thought};
use super::decode::{Block, MessageIn, stop};
use super::usage::UsageWire;
use crate::providers::over_http::{self, ErrorBody, Next, lenient, streamed_error, told_usage};
use crate::transport::TransportError;
use crate::wire::{CallFailure, CallWatch, ChatReply, Stop, StreamedAfter};

#[derive(Deserialize)]
struct Event {
    r#type: Option<String>,
    message: Option<MessageIn>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Option<UsageWire>,
    error: Option<Value>,
}

/// What a delta adds: to a block, or to the message.
#[derive(Deserialize)]
struct Delta {
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

/// What has arrived so far.
#[derive(Default)]
pub(crate) struct Assembly {
    asked: Asked,
    id: Option<Box<str>>,
    said: Vec<Said>,
    block: Current,
    came: Came,
    stop: Option<Stop>,
    /// All that was reported, each figure as it was last.
    reported: UsageWire,
    /// Their total, while it covers what was made.
    usage: Option<Usage>,
}

/// The block that is being said.
#[derive(Default)]
enum Current {
    #[default]
    None,
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    Call {
        call: CallSaid,
        /// What the start said of the input, for a call without pieces.
        begun: String,
    },
}

/// How much of a message came.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Came {
    #[default]
    Nothing,
    Opening,
    Output,
}

impl over_http::Assembly for Assembly {
    fn take(
        &mut self,
        name: &str,
        data: &str,
        key: &str,
        watch: &mut dyn CallWatch,
    ) -> Result<Next, CallFailure> {
        if name == "error" {
            return Err(self.failed(ErrorBody::read(data.as_bytes()), key));
        }
        let Ok(event) = serde_json::from_str::<Event>(data) else {
            return Err(self.unreadable("valid JSON in an event"));
        };
        if let Some(error) = &event.error {
            return Err(self.failed(ErrorBody::of(error), key));
        }
        match event.r#type.as_deref().unwrap_or(name) {
            "message_start" => self.opens(event.message, watch),
            "content_block_start" => self.begins(event.content_block, watch)?,
            "content_block_delta" => self.goes_on(event.delta, watch),
            "content_block_stop" => self.block_ends(),
            "message_delta" => self.ends(event.delta, event.usage, watch),
            "message_stop" => return Ok(Next::Done),
            "error" => return Err(self.failed(ErrorBody::default(), key)),
            _ => {}
        }
        Ok(Next::More)
    }

    fn complete(mut self) -> Result<ChatReply, CallFailure> {
        if self.came == Came::Nothing {
            return Err(self.unreadable("`message_start`"));
        }
        self.block_ends();
        let Self { asked, id, said, stop, usage, .. } = self;
        let stop = stop.unwrap_or(Stop::Other(String::new()));
        let reply = reply(said, stop, &asked)
            .map_err(|missing| CallFailure::Unreadable { missing, usage })?;
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
    /// Nothing yet.
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, ..Self::default() }
    }

    fn opens(&mut self, message: Option<MessageIn>, watch: &mut dyn CallWatch) {
        self.came = self.came.and(Came::Opening);
        let Some(message) = message else { return };
        self.id = message.id.map(Into::into);
        self.report(message.usage, watch);
    }

    fn begins(
        &mut self,
        block: Option<Block>,
        watch: &mut dyn CallWatch,
    ) -> Result<(), CallFailure> {
        self.block_ends();
        let Some(block) = block else { return Ok(()) };
        if block.has_output() {
            self.made(watch);
        }
        match block.said().map_err(|missing| self.unreadable(missing))? {
            Said::Text(text) => {
                self.block = Current::Text(String::new());
                self.says(&text, watch);
            }
            Said::Thought(block) if block.get("thinking").is_some() => {
                let field = |name| block[name].as_str().unwrap_or_default().to_owned();
                let (thinking, signature) = (field("thinking"), field("signature"));
                self.block = Current::Thinking { thinking, signature };
            }
            Said::Call(mut call) => {
                let begun = std::mem::take(&mut call.input);
                self.block = Current::Call { call, begun };
            }
            whole => self.said.push(whole),
        }
        Ok(())
    }

    fn goes_on(&mut self, delta: Option<Delta>, watch: &mut dyn CallWatch) {
        let Some(delta) = delta else { return };
        let pieces = [&delta.text, &delta.thinking, &delta.partial_json];
        if pieces.into_iter().flatten().any(|piece| !piece.is_empty()) {
            self.made(watch);
        }
        if let Current::Thinking { thinking, signature } = &mut self.block {
            thinking.push_str(delta.thinking.as_deref().unwrap_or_default());
            signature.push_str(delta.signature.as_deref().unwrap_or_default());
        } else if let Some(piece) = delta.text.or(delta.partial_json) {
            self.says(&piece, watch);
        }
    }

    /// Keeps a piece of the block, and tells it when it is one of the answer.
    fn says(&mut self, piece: &str, watch: &mut dyn CallWatch) {
        let tool = self.asked.tool.as_ref();
        let answers = match &mut self.block {
            Current::Text(text) => {
                text.push_str(piece);
                // Beside the tool whose input is the answer, words are none of it.
                tool.is_none()
            }
            Current::Call { call, .. } => {
                call.input.push_str(piece);
                call.is_of(tool)
            }
            Current::None | Current::Thinking { .. } => false,
        };
        if answers && !piece.is_empty() {
            watch.piece(piece);
        }
    }

    fn block_ends(&mut self) {
        self.said.extend(match std::mem::take(&mut self.block) {
            Current::None => None,
            Current::Text(text) => Some(Said::Text(text)),
            Current::Thinking { thinking, signature } => Some(thought(&thinking, &signature)),
            Current::Call { mut call, begun } => {
                if call.input.is_empty() {
                    call.input = begun;
                }
                Some(Said::Call(call))
            }
        });
    }

    fn ends(&mut self, delta: Option<Delta>, usage: Option<UsageWire>, watch: &mut dyn CallWatch) {
        self.came = self.came.and(Came::Opening);
        let reason = delta.and_then(|delta| delta.stop_reason);
        if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
            self.stop = Some(stop(&reason));
        }
        self.report(usage, watch);
    }

    /// The model made something: no total of before covers it.
    fn made(&mut self, watch: &mut dyn CallWatch) {
        self.came = Came::Output;
        told_usage(&mut self.usage, None, true, watch);
    }

    fn report(&mut self, usage: Option<UsageWire>, watch: &mut dyn CallWatch) {
        let Some(usage) = usage else { return };
        self.reported = self.reported.with(usage);
        told_usage(&mut self.usage, self.reported.disjoint(), false, watch);
    }

    fn failed(&self, error: ErrorBody, key: &str) -> CallFailure {
        let made = self.came == Came::Output;
        let after = if made { StreamedAfter::Text } else { StreamedAfter::Nothing };
        streamed_error(error.inside(key), after, self.usage)
    }

    const fn unreadable(&self, missing: &'static str) -> CallFailure {
        CallFailure::Unreadable { missing, usage: self.usage }
    }
}

impl Came {
    fn and(self, more: Self) -> Self {
        if self == Self::Nothing { more } else { self }
    }
}
