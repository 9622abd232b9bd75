//! A row of the trace as it is sent.
//!
//! Invariants: what it declares is within what its model can answer, its input within what the model
//! holds.
//!
//! Not here: reading rows (`trace`), sending them (`replaying`).

use std::sync::Arc;

use anyhow::bail;
use nucleo_agents::catalog::ModelEntry;
use nucleo_core::Span;

use super::trace::Row;
use crate::args::{self, Declare};

/// One row as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) row: Row,
    pub(super) model: Arc<ModelEntry>,
    /// When it arrives, after the start.
    pub(super) arrives: Span,
    /// The output that it reserves.
    pub(super) declared: u64,
}

impl Job {
    pub(super) fn new(
        row: Row,
        model: Arc<ModelEntry>,
        args: &args::Replay,
    ) -> anyhow::Result<Self> {
        let declared = match args.declare {
            Declare::Actual => row.output_tokens.max(1),
            Declare::Tokens(tokens) => tokens,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an instant of a trace, scaled"
        )]
        let scaled = Span::from_nanos((row.t_ns as f64 / args.speed) as u64);
        let arrives = if args.at_once { Span::ZERO } else { scaled };
        if declared > model.max_output {
            bail!(
                "{declared} output tokens, but {} answers {} at most: raise its max_output",
                model.id,
                model.max_output
            );
        }
        // Its prompt is made in full when it is sent: one that is never taken may not fit in memory.
        if row.input_tokens > model.context {
            bail!(
                "{} input tokens, but {} holds {} of input and output: raise its context",
                row.input_tokens,
                model.id,
                model.context
            );
        }
        Ok(Self { row, model, arrives, declared })
    }
}
