//! One question to a model.
//!
//! Invariants: `max_output` is the very number that was reserved and that is sent; `Debug` shows
//! sizes, never text.
//!
//! Not here: its answer (`reply`), which model and provider (the picker).

use std::sync::Arc;

use super::Message;
use super::tools::{ToolChoice, ToolSpec};

/// What one attempt asks of one model.
///
/// ```
/// use nucleo_agents::wire::{ChatRequest, Message, Streaming};
/// let request = ChatRequest::new("small-1", vec![Message::user("Name a colour.")], 64)
///     .streaming(Streaming::Pieces);
/// assert_eq!(request.max_output, 64);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The provider's own name of the model.
    pub wire_id: Arc<str>,
    /// The conversation, oldest first.
    pub messages: Arc<[Message]>,
    /// The output limit in tokens, reasoning included: what was reserved.
    pub max_output: u64,
    /// The form the answer must have, if any.
    pub schema: Option<ResponseSchema>,
    /// The tools that the model may call; shared, because a loop sends the same ones every turn.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may, must or must not call one; of no meaning without tools.
    pub tool_choice: ToolChoice,
    /// How much chance; the model's own default when `None`.
    pub temperature: Option<f32>,
    /// Whether the answer comes whole or in pieces.
    pub streaming: Streaming,
    /// What a loopback server may be told about the answer; other servers ignore it.
    pub hints: Hints,
}

/// The JSON schema an answer must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseSchema {
    /// A name for it: letters, digits, `_` and `-`.
    pub name: Arc<str>,
    /// The schema; shared, because a fan-out sends the same one a thousand times.
    pub schema: Arc<serde_json::Value>,
}

/// Whether an answer comes whole or in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streaming {
    /// One body at the end.
    #[default]
    Whole,
    /// As it is produced; each piece goes to [`CallWatch::piece`](super::CallWatch::piece).
    Pieces,
}

/// Hints to a loopback server, sent as headers that others ignore.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hints {
    /// Answer with this many output tokens (a replay knows the row's own number).
    pub output_tokens: Option<u64>,
    /// Call tools, whichever, in so many turns of the conversation.
    pub tool_turns: Option<u64>,
}

impl ChatRequest {
    /// A plain question: no schema, no tools, whole answer.
    #[must_use]
    pub fn new(
        wire_id: impl Into<Arc<str>>,
        messages: impl Into<Arc<[Message]>>,
        max_output: u64,
    ) -> Self {
        Self {
            wire_id: wire_id.into(),
            messages: messages.into(),
            max_output,
            schema: None,
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            streaming: Streaming::Whole,
            hints: Hints::default(),
        }
    }

    /// With an answer of this form.
    #[must_use]
    pub fn schema(mut self, schema: ResponseSchema) -> Self {
        self.schema = Some(schema);
        self
    }

    /// With these tools to call.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Arc<[ToolSpec]>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Whether it may, must or must not call one.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// With this temperature.
    #[must_use]
    pub const fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Whole, or in pieces.
    #[must_use]
    pub const fn streaming(mut self, streaming: Streaming) -> Self {
        self.streaming = streaming;
        self
    }

    /// With these hints.
    #[must_use]
    pub const fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }
}

impl Hints {
    /// Nothing to tell.
    pub const NONE: Self = Self { output_tokens: None, tool_turns: None };

    /// Ask a loopback server for an answer of `tokens` output tokens.
    #[must_use]
    pub const fn output_tokens(tokens: u64) -> Self {
        Self { output_tokens: Some(tokens), ..Self::NONE }
    }

    /// And to call tools in so many turns of the conversation.
    ///
    /// ```
    /// use nucleo_agents::wire::Hints;
    /// assert_eq!(Hints::NONE.tool_turns(3).tool_turns, Some(3));
    /// ```
    #[must_use]
    pub const fn tool_turns(mut self, turns: u64) -> Self {
        self.tool_turns = Some(turns);
        self
    }
}
