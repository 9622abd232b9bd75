//! The builder of a question.
//!
//! Invariants: nothing is asked before one of the three ends is awaited; each turn of a model is one
//! job.
//!
//! Not here: what the job does (`job`), turns with tools (`turns`).

use std::sync::Arc;

use nucleo_core::{Span, Usage};
use nucleo_harness::attempt::{JobOptions, RetryPolicy};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::job::Question;
use super::turns::TURNS_DEFAULT;
use crate::agent::{AgentContext, AgentError};
use crate::answer;
use crate::catalog::Grade;
use crate::picker::Target;
use crate::tool::Palette;
use crate::wire::{ChatReply, Hints, Message, ResponseSchema, Stop};

/// The timeout of a model call, unless told.
pub const CALL_TIMEOUT_DEFAULT: Span = Span::from_mins(6);

/// A question to a model, asked when one of [`ModelCall::text`], [`ModelCall::answer`] and
/// [`ModelCall::reply`] is awaited.
#[derive(Clone, Debug)]
#[must_use = "a question is asked when its answer is awaited"]
pub struct ModelCall {
    pub(super) context: AgentContext,
    pub(super) question: Question,
    retry: RetryPolicy,
    max_wait: Span,
    pub(super) palette: Option<Palette>,
    pub(super) turns: u32,
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
    /// What it used, all turns together; `None` when the provider did not say so of each.
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
        let question = Question::new(target);
        Self { context, question, retry, max_wait, palette: None, turns: TURNS_DEFAULT }
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

    /// Lets the model call these tools before it answers. The calls of one turn run side by side, each
    /// a job that is admitted by itself; their results go back, errors as errors that the model
    /// reads, and it is asked again: anew for quota and money.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use nucleo_agents::prelude::*;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Order {
    ///     /// As printed on the receipt.
    ///     number: u32,
    /// }
    ///
    /// async fn order_status(_ctx: ToolContext, order: Order) -> Result<String, ToolError> {
    ///     match order.number {
    ///         7 => Ok("on its way".to_owned()),
    ///         _ => Err(ToolError::correctable("there is no such order")),
    ///     }
    /// }
    ///
    /// let palette = Palette::new([Tool::new("order_status", "Looks an order up", order_status)])?;
    /// let runtime = Runtime::start(Catalog::loopback())?;
    /// let workflow = runtime.workflow("orders").start();
    /// let ask = workflow.context().model(Grade::Small).tools(&palette);
    /// // The loopback model calls what it is told to.
    /// let text = ask.user("Where is it? [call order_status {\"number\": 7}]").text().await?;
    /// assert!(!text.is_empty());
    /// assert_eq!(workflow.context().record().attempts, 3); // two turns and the tool
    /// # Ok(()) }
    /// ```
    pub fn tools(mut self, palette: &Palette) -> Self {
        self.question.tools = Arc::clone(palette.specs());
        self.palette = Some(palette.clone());
        self
    }

    /// How many turns the model may take with tools, its answer included; 50 unless told, and at
    /// least one.
    pub const fn turns(mut self, turns: u32) -> Self {
        self.turns = turns;
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
    /// [`AgentError::Job`]: refused by a cap, not admitted, failed, timed out, cancelled; with tools
    /// in any turn, and of tools what is not for the model to read: refused admission, a deadline, a
    /// cancellation. [`AgentError::Turns`]: the model went on calling tools.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the call: in the line it leaves; sent it gets its grace, and what
    /// it used is booked. Tools that run are cancelled.
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
            Ok(Reply { text, stop, usage: None })
        };
        let (reply, usage) = self.ask(None, read).await?;
        Ok(Reply { usage, ..reply })
    }

    /// Asks for a typed answer: the schema is shown, the reply is read leniently and judged
    /// strictly, and an answer that does not fit is corrected up to twice.
    ///
    /// # Errors
    /// As [`ModelCall::text`]; [`JobError::Failed`](nucleo_harness::attempt::JobError::Failed) with the signal `correction` when no correction
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
        let read = move |reply: &ChatReply| shape.read::<T>(&reply.text);
        Ok(self.ask(Some(shown), read).await?.0)
    }

    /// How each of its jobs runs.
    pub(super) fn options(&self) -> JobOptions {
        let mut options = self.context.options();
        options.retry = self.retry;
        options.max_wait = self.max_wait;
        options
    }
}
