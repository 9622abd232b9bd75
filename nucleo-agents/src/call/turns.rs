//! The loop over a model's turns: it asks for tools, they run, it is asked again.
//!
//! Invariants: each turn is a job of its own, so that quota and money are asked for anew and a cap can
//! refuse between turns; the calls of one turn run side by side, each a job by itself, and have as
//! many results, in their order; nothing is held between them; the loop ends.
//!
//! Not here: one turn (`job`), one call of a tool (`tool`).

use futures_util::future::try_join_all;
use nucleo_core::Usage;

use super::builder::ModelCall;
use super::job::{ModelJob, Said, Turn};
use crate::agent::AgentError;
use crate::answer::Correction;
use crate::wire::{ChatReply, Message, ResponseSchema};

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
            let Turn { said, usage } = self.turn(read.clone()).await?;
            used = used.zip(usage).map(|(sum, usage)| sum.plus(&usage));
            match said {
                Said::Answer(answer) => return Ok((answer, used)),
                // Nobody would read the results.
                Said::Calls { .. } if left == 0 => break,
                Said::Calls { calls, messages } => {
                    self.question.messages = messages;
                    let results = calls.iter().map(|call| palette.answer(&self.context, call));
                    let results = try_join_all(results).await?;
                    self.question.messages.push(Message::tool_results(results));
                }
            }
        }
        Err(AgentError::Turns(TooManyTurns { turns }))
    }

    /// One turn of the model.
    async fn turn<T, R>(&self, read: R) -> Result<Turn<T>, AgentError>
    where
        T: Send + 'static,
        R: Fn(&ChatReply) -> Result<T, Correction> + Send + 'static,
    {
        let runtime = self.context.runtime().clone();
        let job = ModelJob::new(runtime, self.question.clone(), read);
        let end = self.context.node().run(job, self.options()).await;
        Ok(self.context.note(end)?)
    }
}
