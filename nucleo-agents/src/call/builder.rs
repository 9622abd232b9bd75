//! The builder of a question.
//!
//! Invariants: nothing is asked before one of the three ends is awaited; each end is one job.
//!
//! Not here: what the job does (`job`).

use std::sync::Arc;

use nucleo_core::{Span, Usage};
use nucleo_harness::attempt::{JobError, RetryPolicy};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::job::{ModelJob, Question};
use crate::agent::{AgentContext, AgentError};
use crate::answer;
use crate::catalog::Grade;
use crate::picker::Target;
use crate::wire::{ChatReply, Hints, Message, ResponseSchema, Stop};

/// The timeout of a model call, unless told.
pub const CALL_TIMEOUT_DEFAULT: Span = Span::from_mins(6);

/// A question to a model, asked when one of [`ModelCall::text`], [`ModelCall::answer`] and
/// [`ModelCall::reply`] is awaited.
#[derive(Clone, Debug)]
#[must_use = "a question is asked when its answer is awaited"]
pub struct ModelCall {
    context: AgentContext,
    question: Question,
    retry: RetryPolicy,
    max_wait: Span,
}

/// A model's answer, whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The text.
    pub text: String,
    /// Why the model stopped: [`Stop::OutputLimit`] means that the text is cut at the model's own
    /// ceiling.
    pub stop: Stop,
    /// What it used, as far as the provider said.
    pub usage: Option<Usage>,
}

impl ModelCall {
    pub(crate) fn of_grade(context: AgentContext, grade: Grade) -> Self {
        Self::new(context, Target::Grade(grade))
    }

    pub(crate) fn named(context: AgentContext, id: Arc<str>) -> Self {
        Self::new(context, Target::Model(id))
    }

    fn new(context: AgentContext, target: Target) -> Self {
        let (retry, max_wait) = (RetryPolicy::default(), nucleo_core::MAX_WAIT_DEFAULT);
        Self { context, question: Question::new(target), retry, max_wait }
    }

    /// Adds an instruction.
    pub fn system(self, text: impl Into<Arc<str>>) -> Self {
        self.message(Message::system(text))
    }

    /// Adds what a user says.
    pub fn user(self, text: impl Into<Arc<str>>) -> Self {
        self.message(Message::user(text))
    }

    /// Adds a message.
    pub fn message(mut self, message: Message) -> Self {
        self.question.messages.push(message);
        self
    }

    /// Adds messages, oldest first.
    pub fn messages(mut self, messages: impl IntoIterator<Item = Message>) -> Self {
        self.question.messages.extend(messages);
        self
    }

    /// How large the answer should be, in tokens (4,096 unless told): it is reserved, paid for in
    /// advance, and sent as the limit. An answer that is cut off there is paid for, and asked once more
    /// at the model's own ceiling, reserved anew; `retry` with no truncations turns that off.
    pub const fn output(mut self, tokens: u64) -> Self {
        self.question.output = Some(tokens);
        self
    }

    /// How much chance; the model's own default unless told.
    pub const fn temperature(mut self, temperature: f32) -> Self {
        self.question.temperature = Some(temperature);
        self
    }

    /// How long an attempt may run, from its grant (6 minutes unless told).
    pub const fn timeout(mut self, timeout: Span) -> Self {
        self.question.timeout = timeout;
        self
    }

    /// How long it may wait in all, in the line and for siblings' money (24 hours unless told).
    pub const fn max_wait(mut self, wait: Span) -> Self {
        self.max_wait = wait;
        self
    }

    /// How often it is tried again.
    pub const fn retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// What a loopback server may be told; other servers ignore it.
    pub const fn hints(mut self, hints: Hints) -> Self {
        self.question.hints = hints;
        self
    }

    /// Asks, and answers with the text.
    ///
    /// # Errors
    /// [`AgentError::Job`]: refused by a cap, not admitted, failed, timed out, cancelled.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call: in the line it leaves; sent it gets its grace, and what
    /// it used is booked.
    pub async fn text(self) -> Result<String, AgentError> {
        Ok(self.reply().await?.text)
    }

    /// Asks, and answers with the text and how it ended.
    ///
    /// # Errors
    /// As [`ModelCall::text`].
    ///
    /// # Cancel safety
    /// As [`ModelCall::text`].
    pub async fn reply(self) -> Result<Reply, AgentError> {
        let read = |reply: &ChatReply| {
            let (text, stop) = (reply.text.clone(), reply.stop.clone());
            Ok(Reply { text, stop, usage: reply.usage })
        };
        Ok(self.ask(None, read).await?)
    }

    /// Asks for a typed answer: the schema is shown, the reply is read leniently and judged
    /// strictly, and an answer that does not fit is corrected up to twice.
    ///
    /// # Errors
    /// As [`ModelCall::text`]; [`JobError::Failed`] with the signal `correction` when no correction
    /// helped.
    ///
    /// # Cancel safety
    /// As [`ModelCall::text`].
    pub async fn answer<T>(self) -> Result<T, AgentError>
    where
        T: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let shape = answer::schema_of::<T>();
        let shown = ResponseSchema::from(&shape);
        Ok(self.ask(Some(shown), move |reply| shape.read::<T>(&reply.text)).await?)
    }

    async fn ask<T: Send + 'static>(
        self,
        schema: Option<ResponseSchema>,
        read: impl Fn(&ChatReply) -> Result<T, answer::Correction> + Send + 'static,
    ) -> Result<T, JobError> {
        let mut options = self.context.options();
        options.retry = self.retry;
        options.max_wait = self.max_wait;
        let runtime = self.context.runtime().clone();
        let question = Question { schema, ..self.question };
        let job = ModelJob::new(runtime, question, read);
        self.context.run_job(job, options).await
    }
}
