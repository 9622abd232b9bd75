//! The job that a question becomes: requirements of each attempt, execution, reading the answer.
//!
//! Invariants: each attempt picks its route anew, in view of what became of the earlier ones; the
//! tokens it reserves are counted over the messages it will send, corrections included.
//!
//! Not here: the order of the steps and the retries (`nucleo_harness::attempt`).

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use nucleo_core::{Need, Reserved, Span};
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
use crate::wire::{ChatReply, ChatRequest, Hints, Message, ResponseSchema, Stop};

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) target: Target,
    pub(crate) messages: Vec<Message>,
    pub(crate) schema: Option<ResponseSchema>,
    /// `None`: 4,096 tokens, or all that the model can give.
    pub(crate) output: Option<u64>,
    pub(crate) temperature: Option<f32>,
    pub(crate) timeout: Span,
    pub(crate) hints: Hints,
}

impl Question {
    pub(crate) const fn new(target: Target) -> Self {
        Self {
            target,
            messages: Vec::new(),
            schema: None,
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
        let size = TextSize::of_request(&self.messages, &[]);
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
    last_reply: Option<String>,
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
            let said = self.last_reply.take().unwrap_or_default();
            self.question.messages.push(Message::assistant(said));
            self.question.messages.push(Message::user(last.failure.to_string()));
        }
    }
}

impl<T, R> Job for ModelJob<R>
where
    T: Send + 'static,
    R: Fn(&ChatReply) -> Result<T, Correction> + Send + 'static,
{
    type Out = T;

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

    async fn execute(&mut self, granted: Granted) -> Result<T, Failure> {
        let (route, tokens) = self.bound.take().expect("requirements come before execution");
        let mut request = ChatRequest::new(
            Arc::clone(route.wire_id()),
            self.question.messages.clone(),
            tokens.output,
        )
        .hints(self.question.hints);
        request.schema.clone_from(&self.question.schema);
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
    fn judge<T>(&mut self, reply: ChatReply, limit: u64, route: &Route) -> Result<T, Failure>
    where
        R: Fn(&ChatReply) -> Result<T, Correction>,
    {
        if reply.stop == Stop::ContentFilter {
            return Err(Failure::new(Signal::Permanent, Ended::InFull, HeldBack));
        }
        if reply.stop == Stop::OutputLimit && limit < route.output_ceiling() {
            return Err(Failure::new(Signal::Truncated, Ended::InFull, CutShort { limit }));
        }
        (self.read)(&reply).map_err(|correction| {
            self.last_reply = Some(reply.text);
            Failure::new(Signal::Correction, Ended::InFull, correction)
        })
    }
}
