//! A model's answer.
//!
//! Invariants: a reply without usage says so (`None`): unknown is never zero; calls are whole, each
//! with an id, a name and an input in JSON; `Debug` shows sizes, never contents.
//!
//! Not here: the question (`chat`), what is done with the calls (`tool`).

use std::fmt;

use nucleo_core::Usage;

use super::message::{Message, Role};
use super::part::{Part, Reasoning, ToolCall};

/// What a model answered.
///
/// ```
/// use nucleo_agents::wire::{ChatReply, Stop, ToolCall};
/// let call = ToolCall::new("call-1", "order_status", serde_json::json!({"order": 7}));
/// let reply = ChatReply::new("Let me see.", Stop::ToolCalls).calls(vec![call]);
/// assert_eq!(reply.to_message().tool_calls().count(), 1);
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatReply {
    /// The text, whole, also when it was streamed.
    pub text: String,
    /// The tools it wants called, in its order.
    pub calls: Vec<ToolCall>,
    /// What it thought, where its provider wants that back.
    pub reasoning: Vec<Reasoning>,
    /// What it used; `None` when the provider did not say.
    pub usage: Option<Usage>,
    /// Why it stopped.
    pub stop: Stop,
    /// The provider's name for the exchange, for its support.
    pub request_id: Option<Box<str>>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// It had finished.
    End,
    /// It reached the output limit: the text is cut, and calls that were not whole are left out.
    OutputLimit,
    /// The provider held it back, or the model refused.
    ContentFilter,
    /// It wants tools called.
    ToolCalls,
    /// Something else, in the provider's word; empty when it gave none.
    Other(String),
}

impl ChatReply {
    /// A reply of text, of unknown usage.
    #[must_use]
    pub fn new(text: impl Into<String>, stop: Stop) -> Self {
        let (calls, reasoning) = (Vec::new(), Vec::new());
        Self { text: text.into(), calls, reasoning, usage: None, stop, request_id: None }
    }

    /// That wants these tools called.
    #[must_use]
    pub fn calls(mut self, calls: Vec<ToolCall>) -> Self {
        self.calls = calls;
        self
    }

    /// After this reasoning, which its provider wants back.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Vec<Reasoning>) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// That used this much.
    #[must_use]
    pub const fn usage(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }

    /// Of the exchange that the provider names so.
    #[must_use]
    pub fn request_id(mut self, id: Option<Box<str>>) -> Self {
        self.request_id = id;
        self
    }

    /// The same as a message of the conversation: reasoning, text, calls.
    #[must_use]
    pub fn to_message(&self) -> Message {
        let text = (!self.text.is_empty()).then(|| Part::text(&*self.text));
        let reasoning = self.reasoning.iter().cloned().map(Part::Reasoning);
        let calls = self.calls.iter().cloned().map(Part::ToolCall);
        Message::of(Role::Assistant, reasoning.chain(text).chain(calls))
    }
}

impl fmt::Debug for ChatReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatReply")
            .field("bytes", &self.text.len())
            .field("calls", &self.calls)
            .field("reasoning", &self.reasoning)
            .field("usage", &self.usage)
            .field("stop", &self.stop)
            .field("request_id", &self.request_id)
            .finish()
    }
}
