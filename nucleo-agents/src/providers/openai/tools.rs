//! Tools on the wire: what is offered, and the calls of a conversation.
//!
//! Invariants: `strict` of a tool is said to OpenAI only, and only where the schema keeps its rules
//! (`encode` tells which): others refuse or ignore it.
//!
//! Not here: calls that come back (`calls`).

use serde::Serialize;
use serde_json::Value;

use super::Dialect;
use super::encode::fits_strict;
use crate::wire::{ChatRequest, ToolCall, ToolChoice, ToolSpec};

/// A call that the model made earlier.
#[derive(Serialize)]
pub(super) struct CallOut<'a> {
    id: &'a str,
    r#type: &'static str,
    function: FunctionCalled<'a>,
}

#[derive(Serialize)]
struct FunctionCalled<'a> {
    name: &'a str,
    /// JSON inside a string.
    arguments: String,
}

/// A tool that the model may call.
#[derive(Serialize)]
pub(super) struct ToolOut<'a> {
    r#type: &'static str,
    function: FunctionOffered<'a>,
}

#[derive(Serialize)]
struct FunctionOffered<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Whether it may call one.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ChoiceOut<'a> {
    Word(&'static str),
    Named { r#type: &'static str, function: FunctionNamed<'a> },
}

#[derive(Serialize)]
pub(super) struct FunctionNamed<'a> {
    name: &'a str,
}

impl<'a> CallOut<'a> {
    pub(super) fn of(call: &'a ToolCall) -> Self {
        let function = FunctionCalled { name: &call.name, arguments: call.arguments.to_string() };
        Self { id: &call.id, r#type: FUNCTION, function }
    }
}

impl<'a> ToolOut<'a> {
    pub(super) fn of(tool: &'a ToolSpec, dialect: Dialect) -> Self {
        let strict = dialect == Dialect::OpenAi && fits_strict(&tool.parameters);
        let function = FunctionOffered {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            strict: strict.then_some(true),
        };
        Self { r#type: FUNCTION, function }
    }
}

impl<'a> ChoiceOut<'a> {
    /// What is said of it: nothing where there are no tools, and where the default holds.
    pub(super) fn of(request: &'a ChatRequest) -> Option<Self> {
        if request.tools.is_empty() {
            return None;
        }
        match &request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(Self::Word("none")),
            ToolChoice::Required => Some(Self::Word("required")),
            ToolChoice::Named(name) => {
                Some(Self::Named { r#type: FUNCTION, function: FunctionNamed { name } })
            }
        }
    }
}

const FUNCTION: &str = "function";
