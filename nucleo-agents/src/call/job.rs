//! The job that a question becomes: requirements of each attempt, execution, reading the answer.
//!
//! Invariants: each attempt picks its route anew, in view of what became of the earlier ones; the
//! tokens it reserves are counted over the messages it will send, corrections included.
//!
//! Not here: the order of the steps and the retries (`nucleo_harness::attempt`).

use std::error::Error;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use nucleo_core::{Need, Reserved, Span, Usage};
use nucleo_harness::attempt::{Ended, Failure, Granted, History, Job, Past, Requirements, Signal};
use smallvec::smallvec;

use super::builder::CALL_TIMEOUT_DEFAULT;
use super::classify;
use super::watch::Metering;
use crate::answer::Correction;
use crate::catalog::ModelEntry;
use crate::counting::TextSize;
use crate::picker::{self, NothingCallable, PastFailure, Picker, Request, Target};
use crate::runtime::{Route, Runtime};
use crate::wire::{
    ChatReply, ChatRequest, Hints, Message, ResponseSchema, Stop, ToolCall, ToolSpec,
};

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) target: Target,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<ResponseSchema>,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// `None`: 4,096 tokens, or all that the model can give.
    pub(crate) output: Option<u64>,
    pub(crate) temperature: Option<f32>,
    pub(crate) timeout: Span,
    pub(crate) hints: Hints,
}

impl Question {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            messages: Vec::new(),
            schema: None,
            tools: Arc::default(),
            output: None,
            temperature: None,
            timeout: CALL_TIMEOUT_DEFAULT,
            hints: Hints::NONE,
        }
    }

    /// The entry that serves the next attempt, with the tokens that it reserves there.
    pub(crate) fn pick(
        &self,
        picker: &Picker,
        history: &History,
    ) -> Result<(Arc<ModelEntry>, Reserved), NothingCallable> {
        let size = TextSize::of_request(&self.messages, &self.tools);
        let size = self.schema.as_ref().map_or(size, |schema| size.with_schema(schema));
        let mut request = Request::new(self.target.clone(), size);
        let truncated = |past: &Past| matches!(past.failure.signal, Signal::Truncated);
        request.output = if history.attempts().iter().any(truncated) {
            // All that the model can give.
            Some(u64::MAX)
        } else {
            self.output
        };
        let failures: Vec<_> = history.attempts().iter().filter_map(past_failure).collect();
        let entry = picker.pick(&request, &failures)?;
        let reserved = request.reserved(&entry);
        Ok((entry, reserved))
    }
}

/// A failed attempt as the picker looks at it.
fn past_failure(past: &Past) -> Option<PastFailure> {
    let signal = match past.failure.signal {
        Signal::RateLimited { .. } => picker::Signal::RateLimited,
        Signal::Overloaded { .. } => picker::Signal::Overloaded,
        Signal::Transient { .. } => picker::Signal::Transient,
        Signal::Truncated => picker::Signal::Truncated,
        Signal::Correction => picker::Signal::Correction,
        _ => return None,
    };
    Some(PastFailure { entry: Arc::clone(past.blamed.first().or(past.models.first())?), signal })
}

/// One question on its way.
pub(crate) struct ModelJob<R> {
    runtime: Runtime,
    question: Question,
    read: R,
    /// Where the next attempt goes, and how much it may answer.
    bound: Option<(Arc<Route>, Reserved)>,
    /// What the last answer was, when it has to be corrected.
    last_reply: Option<Message>,
}

/// What an attempt that was answered comes to.
#[derive(Debug)]
pub(crate) struct Turn<T> {
    pub(crate) said: Said<T>,
    pub(crate) usage: Option<Usage>,
}

/// An answer, or a wish to have tools called.
#[derive(Debug)]
pub(crate) enum Said<T> {
    Answer(T),
    Calls {
        calls: Vec<ToolCall>,
        /// The conversation until then, corrections and the calls themselves included.
        messages: Vec<Message>,
    },
}

/// The answer stopped at its limit, and more is allowed.
#[derive(Debug, thiserror::Error)]
#[error("the answer was cut at {limit} tokens: declare a larger output")]
struct CutShort {
    limit: u64,
}

/// The job was cancelled or timed out while the call ran.
#[derive(Debug, thiserror::Error)]
#[error("the call was cut off")]
struct CutOff;

/// The provider held the answer back.
#[derive(Debug, thiserror::Error)]
#[error("the provider's content filter held the answer back")]
struct HeldBack;

/// The calls were cut off, and no more is allowed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tool calls were cut off at {limit} tokens, all that the model can answer: let tools take smaller inputs, or choose a model that can answer more"
)]
struct CallsCutShort {
    limit: u64,
}

/// The model wants a tool called, and there is none.
#[derive(Debug, thiserror::Error)]
#[error(
    "the model asked for a tool instead of answering, though none was offered: offer it with `tools`, or choose another model"
)]
struct NoneOffered;

impl<R> ModelJob<R> {
    pub(crate) const fn new(runtime: Runtime, question: Question, read: R) -> Self {
        Self { runtime, question, read, bound: None, last_reply: None }
    }

    /// What the last attempt calls for: a correction appended, or more room.
    fn learn(&mut self, history: &History) {
        let Some(last) = history.attempts().last() else {
            return;
        };
        if matches!(last.failure.signal, Signal::Correction) {
            self.question.messages.extend(self.last_reply.take());
            self.question.messages.push(Message::user(last.failure.to_string()));
        }
    }
}

impl<T, R> Job for ModelJob<R>
where
    T: Send + 'static,
    R: Fn(&ChatReply) -> Result<T, Correction> + Send + 'static,
{
    type Out = Turn<T>;

    fn requirements(&mut self, history: &History) -> Result<Requirements, Failure> {
        self.learn(history);
        let picked = self.runtime.route(&self.question, history);
        let (route, tokens) =
            picked.map_err(|error| Failure::new(Signal::Permanent, Ended::Unsent, error))?;
        let binding = route.binding(tokens);
        self.bound = Some((route, tokens));
        Ok(Requirements {
            bindings: smallvec![binding],
            needs: smallvec![Need { account: self.runtime.http(), amount: 1 }],
            timeout: self.question.timeout,
        })
    }

    async fn execute(&mut self, granted: Granted) -> Result<Turn<T>, Failure> {
        let (route, tokens) = self.bound.take().expect("requirements come before execution");
        let mut request = ChatRequest::new(
            Arc::clone(route.wire_id()),
            self.question.messages.clone(),
            tokens.output,
        )
        .hints(self.question.hints);
        request.schema.clone_from(&self.question.schema);
        request.tools = Arc::clone(&self.question.tools);
        request.temperature = self.question.temperature;
        let mut watch = Metering::new(
            granted.meter(0).clone(),
            Arc::clone(&route),
            self.runtime.harness().admission().clone(),
        );
        // What is answered after a cancellation is thrown away, so nobody waits for it.
        let cut = pin!(granted.cancel.cancelled());
        let call = route.provider().call(&request, &mut watch);
        let Either::Right((called, _)) = select(cut, call).await else {
            return Err(Failure::new(Signal::Permanent, Ended::Incomplete, CutOff));
        };
        let meter = granted.meter(0);
        let reply = called.map_err(|call| {
            if let Some(usage) = call.usage() {
                meter.usage(usage);
            }
            meter.ended(classify::ended(&call));
            classify::failure(call)
        })?;
        meter.ended(Ended::InFull);
        if let Some(usage) = reply.usage {
            meter.usage(usage);
        }
        self.judge(reply, tokens.output, &route)
    }
}

impl<R> ModelJob<R> {
    /// Reads the answer, or says what the next attempt has to do better.
    fn judge<T>(&mut self, reply: ChatReply, limit: u64, route: &Route) -> Result<Turn<T>, Failure>
    where
        R: Fn(&ChatReply) -> Result<T, Correction>,
    {
        let permanent = |error: Box<dyn Error + Send + Sync>| {
            Failure::new(Signal::Permanent, Ended::InFull, error)
        };
        if reply.stop == Stop::ContentFilter {
            return Err(permanent(HeldBack.into()));
        }
        let (cut, offered) = (reply.stop == Stop::OutputLimit, !self.question.tools.is_empty());
        let wordless = reply.text.is_empty();
        if cut && limit < route.output_ceiling() {
            return Err(Failure::new(Signal::Truncated, Ended::InFull, CutShort { limit }));
        }
        if cut && offered && (wordless || !reply.calls.is_empty()) {
            return Err(permanent(CallsCutShort { limit }.into()));
        }
        if !reply.calls.is_empty() && !offered && wordless {
            return Err(permanent(NoneOffered.into()));
        }
        let usage = reply.usage;
        if offered && !reply.calls.is_empty() {
            let mut messages = std::mem::take(&mut self.question.messages);
            messages.push(reply.to_message());
            return Ok(Turn { said: Said::Calls { calls: reply.calls, messages }, usage });
        }
        let read = (self.read)(&reply).map_err(|correction| {
            // Of calls that nobody offered the text alone is kept: they would have no results.
            self.last_reply = Some(ChatReply { calls: Vec::new(), ..reply }.to_message());
            Failure::new(Signal::Correction, Ended::InFull, correction)
        })?;
        Ok(Turn { said: Said::Answer(read), usage })
    }
}
