//! The loop over a model's turns: it asks for tools, they run, it is asked again.
//!
//! Invariants: each turn is a job of its own, so that quota and money are asked for anew and a cap can
//! refuse between turns; the calls of one turn run side by side, each a job by itself, and have as
//! many results, in their order; nothing is held between them; the loop ends.
//!
//! Not here: one turn (`job`), one call of a tool (`tool`).

use futures_util::future::try_join_all;
use nucleo_core::Usage;
use nucleo_harness::attempt::JobError;

use super::builder::ModelCall;
use super::job::{ModelJob, Said, Turn};
use crate::agent::{AgentContext, AgentError};
use crate::answer::Correction;
use crate::tool::Palette;
use crate::wire::{ChatReply, Message, ResponseSchema, ToolCall, ToolResult};

/// How many turns a model may take with tools, unless told.
pub const TURNS_DEFAULT: u32 = 50;

/// The model called tools in every turn that it had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model called tools in each of its {turns} turns and gave no answer: tell it when it knows enough, or allow more with `turns`"
)]
#[non_exhaustive]
pub struct TooManyTurns {
    /// How many it had.
    pub turns: u32,
}

impl ModelCall {
    /// Asks until there is an answer; with what all turns used, if each said so.
    pub(super) async fn ask<T, R>(
        mut self,
        schema: Option<ResponseSchema>,
        read: R,
    ) -> Result<(T, Option<Usage>), AgentError>
    where
        T: Send + 'static,
        R: Fn(&ChatReply) -> Result<T, Correction> + Clone + Send + 'static,
    {
        self.question.schema = schema;
        let palette = self.palette.take().unwrap_or_default();
        let turns = self.turns.max(1);
        let mut used = Some(Usage::default());
        for left in (0..turns).rev() {
            let runtime = self.context.runtime().clone();
            let job = ModelJob::new(runtime, self.question.clone(), read.clone());
            let Turn { said, usage } = self.context.run_job(job, self.options()).await?;
            used = used.zip(usage).map(|(sum, usage)| sum.plus(&usage));
            match said {
                Said::Answer(answer) => return Ok((answer, used)),
                // Nobody would read the results.
                Said::Calls { .. } if left == 0 => break,
                Said::Calls { calls, messages } => {
                    self.question.messages = messages;
                    let results = results_of(calls, &palette, &self.context).await?;
                    self.question.messages.push(Message::tool_results(results));
                }
            }
        }
        Err(AgentError::Turns(TooManyTurns { turns }))
    }
}

/// The results of one turn's calls, in their order. It owns all that it needs, so that it can be sent
/// wherever its agent is.
fn results_of(
    calls: Vec<ToolCall>,
    palette: &Palette,
    context: &AgentContext,
) -> impl Future<Output = Result<Vec<ToolResult>, JobError>> + Send + use<> {
    let answer = |call| palette.clone().answer(context.clone(), call);
    try_join_all(calls.into_iter().map(answer).collect::<Vec<_>>())
}
