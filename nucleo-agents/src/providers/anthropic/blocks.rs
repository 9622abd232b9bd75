//! What a model said, block by block, as a reply: the same for an answer that came whole and one
//! that came in pieces.
//!
//! Thinking is kept as it came, for its server and its model alone: both want it back with the
//! results of the tools that were called, and can read no other's.
//!
//! Invariants: a call is whole or it is none: what has no id, no name or no JSON as input is told by
//! name; after the output limit such a call was cut, and is left out. An absent input is an empty
//! object, as of a tool that takes none. Who stops for calls and has neither one nor words says
//! nothing.
//!
//! Not here: the wire's forms of a block (`decode`, `stream`).

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::wire::{ChatReply, ChatRequest, Reasoning, Stop, ToolCall};

/// What a reply is read for.
#[derive(Default)]
pub(super) struct Asked {
    /// The tool whose input is the answer, where its form is asked for in that way.
    pub(super) tool: Option<Arc<str>>,
    /// How this server and model know their own thinking again.
    pub(super) thinker: Arc<str>,
}

/// One block.
pub(super) enum Said {
    Text(String),
    /// A block of thinking, readable or not, as it goes back.
    Thought(Value),
    Call(CallSaid),
    /// Of a kind we don't know.
    Other,
}

/// A call as far as it came.
#[derive(Default)]
pub(super) struct CallSaid {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// JSON; nothing stands for an empty object.
    pub(super) input: String,
}

/// How a thinker is called.
pub(super) fn thinker(authority: &str, request: &ChatRequest) -> Arc<str> {
    format!("anthropic {authority} {}", request.wire_id).into()
}

/// The block of a thought that can be read, and the server's mark of it.
pub(super) fn thought(thinking: &str, signature: &str) -> Said {
    Said::Thought(json!({"type": "thinking", "thinking": thinking, "signature": signature}))
}

/// The block of a thought that can't be read.
pub(super) fn hidden_thought(data: &str) -> Said {
    Said::Thought(json!({"type": "redacted_thinking", "data": data}))
}

impl CallSaid {
    pub(super) fn is_of(&self, tool: Option<&Arc<str>>) -> bool {
        tool.is_some_and(|tool| self.name.as_deref() == Some(tool))
    }

    fn whole(self) -> Result<ToolCall, &'static str> {
        let filled = |word: Option<String>| word.filter(|word| !word.is_empty());
        let name = filled(self.name).ok_or("`name` of a tool call")?;
        let id = filled(self.id).ok_or("`id` of a tool call")?;
        let input = match &*self.input {
            "" => Value::Object(Map::new()),
            text => serde_json::from_str(text).map_err(|_| "JSON as `input` of a tool call")?,
        };
        Ok(ToolCall::new(id, name, input))
    }
}

/// The reply, or the essential that it lacks.
pub(super) fn reply(said: Vec<Said>, stop: Stop, asked: &Asked) -> Result<ChatReply, &'static str> {
    let (mut text, mut calls, mut thoughts) = (String::new(), Vec::new(), Vec::new());
    let mut answer = None;
    for block in said {
        match block {
            Said::Text(piece) => text.push_str(&piece),
            Said::Thought(data) => thoughts.push(Reasoning::new(Arc::clone(&asked.thinker), data)),
            Said::Call(call) if call.is_of(asked.tool.as_ref()) => answer = Some(call.input),
            Said::Call(call) => match call.whole() {
                Ok(call) => calls.push(call),
                Err(_) if stop == Stop::OutputLimit => {}
                Err(missing) => return Err(missing),
            },
            Said::Other => {}
        }
    }
    let stop = match (stop, calls.is_empty()) {
        // That tool was called because it had to be: the model is done.
        (Stop::ToolCalls, true) if answer.is_some() => Stop::End,
        (Stop::ToolCalls, true) if text.is_empty() => return Err("`tool_use` in `content`"),
        // Some servers name the usual end, or none, after calls.
        (Stop::End | Stop::Other(_), false) => Stop::ToolCalls,
        (stop, _) => stop,
    };
    Ok(ChatReply::new(answer.unwrap_or(text), stop).calls(calls).reasoning(thoughts))
}
