//! Tools on the wire: what is offered, the tool that stands for an answer's form, and the choice.
//!
//! Invariants: where a tool stands for the form, the model must call one: that one, or another first.
//! Nothing is asked to be strict: what a tool is called with is judged where it runs.
//!
//! Not here: calls that come back (`blocks`).

use serde::Serialize;
use serde_json::Value;

use crate::wire::{ChatRequest, ToolChoice};

/// A tool that the model may call.
#[derive(Serialize)]
pub(super) struct ToolOut<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a Value,
}

/// Whether it may call one.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChoiceOut<'a> {
    Any,
    None,
    Tool { name: &'a str },
}

/// The tool whose input is the answer.
#[derive(Clone, Copy)]
pub(super) struct AnswerTool<'a> {
    pub(super) name: &'a str,
    pub(super) schema: &'a Value,
}

pub(super) const ANSWER_TOOL: &str = "Gives your answer, in the form that is wanted.";

pub(super) fn tools_out<'a>(
    request: &'a ChatRequest,
    answer: Option<AnswerTool<'a>>,
) -> Vec<ToolOut<'a>> {
    let tools = request.tools.iter().map(|tool| ToolOut {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
    });
    let answer = answer.map(|AnswerTool { name, schema }| ToolOut {
        name,
        description: ANSWER_TOOL,
        input_schema: schema,
    });
    tools.chain(answer).collect()
}

impl<'a> ChoiceOut<'a> {
    /// What is said of it: nothing where there are no tools, and where the default holds.
    pub(super) fn of(request: &'a ChatRequest, answer: Option<AnswerTool<'a>>) -> Option<Self> {
        let choice = &request.tool_choice;
        match (request.tools.is_empty(), answer, choice) {
            (true, None, _) | (false, None, ToolChoice::Auto) => None,
            (true, Some(answer), _) | (false, Some(answer), ToolChoice::None) => {
                Some(Self::Tool { name: answer.name })
            }
            (false, None, ToolChoice::None) => Some(Self::None),
            (false, Some(_), ToolChoice::Auto) | (false, _, ToolChoice::Required) => {
                Some(Self::Any)
            }
            (false, _, ToolChoice::Named(name)) => Some(Self::Tool { name }),
        }
    }
}
