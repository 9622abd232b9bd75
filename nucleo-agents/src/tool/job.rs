//! The job that running a tool becomes.
//!
//! Invariants: a tool is called once, after its grant; its error is permanent, because nobody but its
//! caller knows whether calling it again is harmless.
//!
//! Not here: the order of the steps (`nucleo_harness::attempt`).

use std::error::Error;

use nucleo_core::AccountId;
use nucleo_harness::attempt::{Ended, Failure, Granted, History, Job, Requirements, Signal};

use super::context::ToolContext;
use super::needs::Needs;

/// A tool on its way.
pub(crate) struct ToolJob<F> {
    needs: Needs,
    http: AccountId,
    tool: Option<F>,
}

impl<F> ToolJob<F> {
    pub(crate) const fn new(needs: Needs, http: AccountId, tool: F) -> Self {
        Self { needs, http, tool: Some(tool) }
    }
}

impl<F, Fut, T, E> Job for ToolJob<F>
where
    F: FnOnce(ToolContext) -> Fut + Send + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
    T: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    type Out = T;

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.needs.requirements(self.http))
    }

    async fn execute(&mut self, granted: Granted) -> Result<T, Failure> {
        let tool = self.tool.take().expect("a tool has one attempt");
        // What it does with its resources nobody sees: they count as used from here.
        granted.mark_sent();
        let called = tool(ToolContext::new(granted)).await;
        called.map_err(|error| Failure::new(Signal::Permanent, Ended::WithError, error))
    }
}
