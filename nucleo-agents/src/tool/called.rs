//! From a model's call to its result.
//!
//! Invariants: every call has one result; what the model can do something about is an error that it
//! reads, and neither its input nor a panic's words are repeated in it; what the runtime refused
//! (admission, a deadline, a cancellation, a shutdown) is the caller's, because the model can't help.
//!
//! Not here: the calls of a turn together (`call`).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use nucleo_core::Span;
use nucleo_harness::attempt::JobError;

use super::error::{Help, Told};
use super::palette::Palette;
use crate::agent::AgentContext;
use crate::answer::Correction;
use crate::wire::{ToolCall, ToolResult};

/// Why a call has no result, for the model.
#[derive(Debug)]
enum Unanswered<'a> {
    NoSuchTool(&'a Palette),
    Misfit(Correction),
    Told(&'a Told),
    Panicked,
    TimedOut(Span),
}

impl Palette {
    /// The result of a call.
    pub(crate) async fn answer(
        &self,
        context: &AgentContext,
        call: &ToolCall,
    ) -> Result<ToolResult, JobError> {
        let error = |why: Unanswered<'_>| ToolResult::error(call.id.clone(), why.to_string());
        let Some(tool) = self.get(&call.name) else {
            return Ok(error(Unanswered::NoSuchTool(self)));
        };
        // The input's own code may panic as well as the tool's.
        let prepared = catch_unwind(AssertUnwindSafe(|| tool.prepare(&call.arguments)));
        let work = match prepared {
            Ok(Ok(work)) => work,
            Ok(Err(correction)) => return Ok(error(Unanswered::Misfit(correction))),
            Err(_) => return Ok(error(Unanswered::Panicked)),
        };
        match context.tool(tool.held().clone(), work).await {
            Ok(found) => Ok(ToolResult::found(call.id.clone(), found)),
            Err(JobError::Panicked { .. }) => Ok(error(Unanswered::Panicked)),
            Err(JobError::TimedOut { after }) => Ok(error(Unanswered::TimedOut(after))),
            Err(JobError::Failed { attempts, failure }) => match failure.error.downcast_ref() {
                Some(told) => Ok(error(Unanswered::Told(told))),
                None => Err(JobError::Failed { attempts, failure }),
            },
            Err(refused) => Err(refused),
        }
    }
}

impl fmt::Display for Unanswered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTool(palette) => {
                f.write_str("there is no such tool, there are ")?;
                for (place, tool) in palette.tools().iter().enumerate() {
                    let separator = if place > 0 { ", " } else { "" };
                    write!(f, "{separator}`{}`", tool.spec().name)?;
                }
                Ok(())
            }
            Self::Misfit(correction) => {
                let wrong = correction.about("the input");
                write!(f, "{wrong}: call again with an input that fits the schema")
            }
            Self::Told(Told { message, help: Help::AnotherInput }) => {
                write!(f, "{message} (another input may help)")
            }
            Self::Told(Told { message, help: Help::Nothing }) => {
                write!(f, "{message} (no other input helps)")
            }
            Self::Panicked => f.write_str("the tool panicked (no other input helps)"),
            Self::TimedOut(after) => {
                write!(f, "the tool did not end within {after} (ask it for less)")
            }
        }
    }
}
