//! The agent of `nucleo run`: one question, one answer.
//!
//! Invariants: a line that can't be asked is the item's failure, told as `bad_input`.
//!
//! Not here: many of them (`nucleo_agents::fan_out`).

use nucleo_agents::catalog::Grade;
use nucleo_agents::prelude::*;

use super::input::Line;

/// A line's answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
}

/// Asks about one line.
pub(crate) async fn ask(
    context: AgentContext,
    line: Line,
    grade: Grade,
    output: Option<u64>,
) -> Result<Answer, AgentError> {
    let messages = line.question.map_err(AgentError::other)?;
    let mut call = context.model(grade).messages(messages.iter().cloned());
    if let Some(tokens) = output {
        call = call.output(tokens);
    }
    Ok(Answer { text: call.text().await? })
}
