//! From a model's call to its result.
//!
//! Invariants: every call has one result; what the model can do something about is an error that it
//! reads, and neither its input nor a panic's words are repeated in it; what the runtime refused
//! (admission, a deadline, a cancellation, a shutdown) is the caller's, because the model can't help.
//!
//! Not here: the calls of a turn together (`call`).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use nucleo_core::{AccountId, Span};
use nucleo_harness::attempt::{
    Ended, Failure, Granted, History, Job, JobError, Requirements, Signal,
};

use super::context::ToolContext;
use super::error::{Help, Told};
use super::needs::Needs;
use super::offered::Work;
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

/// A call on its way: as [`ToolJob`](super::ToolJob), of one type for all tools.
struct CalledJob {
    needs: Needs,
    http: AccountId,
    work: Option<Work>,
}

impl Job for CalledJob {
    type Out = Arc<str>;

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.needs.requirements(self.http))
    }

    async fn execute(&mut self, granted: Granted) -> Result<Arc<str>, Failure> {
        let work = self.work.take().expect("a tool has one attempt");
        granted.mark_sent();
        let called = work(ToolContext::new(granted)).await;
        called.map_err(|error| Failure::new(Signal::Permanent, Ended::WithError, error))
    }
}

impl Palette {
    /// The result of a call. It owns all that it needs, so that it can be sent wherever its agent is.
    pub(crate) async fn answer(
        self,
        context: AgentContext,
        call: ToolCall,
    ) -> Result<ToolResult, JobError> {
        let (needs, work) = match self.prepare(&call) {
            Ok(prepared) => prepared,
            Err(why) => return Ok(why.told(&call)),
        };
        let http = context.runtime().http();
        let job = CalledJob { needs, http, work: Some(work) };
        match context.job(job, context.options()).await {
            Ok(found) => Ok(ToolResult::found(call.id, found)),
            Err(JobError::Panicked { .. }) => Ok(Unanswered::Panicked.told(&call)),
            Err(JobError::TimedOut { after }) => Ok(Unanswered::TimedOut(after).told(&call)),
            Err(JobError::Failed { attempts, failure }) => match failure.error.downcast_ref() {
                Some(told) => Ok(Unanswered::Told(told).told(&call)),
                None => Err(JobError::Failed { attempts, failure }),
            },
            Err(refused) => Err(refused),
        }
    }

    /// The tool and its input, if both are sound.
    fn prepare(&self, call: &ToolCall) -> Result<(Needs, Work), Unanswered<'_>> {
        let tool = self.get(&call.name).ok_or(Unanswered::NoSuchTool(self))?;
        // The input's own code may panic as well as the tool's.
        let prepared = catch_unwind(AssertUnwindSafe(|| tool.prepare(&call.arguments)));
        let prepared = prepared.map_err(|_| Unanswered::Panicked)?;
        let work = prepared.map_err(Unanswered::Misfit)?;
        Ok((tool.held().clone(), work))
    }
}

impl Unanswered<'_> {
    /// The result that says so.
    fn told(&self, call: &ToolCall) -> ToolResult {
        ToolResult::error(Arc::clone(&call.id), self.to_string())
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
