//! What a tool is given: the resources of its job.
//!
//! Invariants: it has no way to submit, to ask a model or to run an agent.
//!
//! Not here: an agent's context, which has all of these and holds nothing (`agent`).

use nucleo_core::AttemptKey;
use nucleo_harness::attempt::{AttemptOver, BlockingError, Granted, Hold};
use tokio_util::sync::CancellationToken;

/// What a tool is given. It holds what the tool's [`Needs`](super::Needs) say, until it returns.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nucleo_agents::prelude::*;
/// let runtime = Runtime::start(Catalog::loopback())?;
/// let workflow = runtime.workflow("sizes").start();
/// async fn size(ctx: ToolContext, path: &'static str) -> std::io::Result<u64> {
///     // Blocking work, on a thread that keeps what was granted until it is done.
///     ctx.blocking(move || std::fs::metadata(path).map(|file| file.len()))
///         .await
///         .map_err(std::io::Error::other)?
/// }
/// let size = workflow.context().tool(Needs::nothing(), |ctx| size(ctx, "Cargo.toml")).await?;
/// assert!(size > 0);
/// # Ok(()) }
/// ```
///
/// It can't submit anything:
///
/// ```compile_fail
/// use nucleo_agents::prelude::*;
/// async fn tool(ctx: ToolContext) {
///     let _ = ctx.model(Grade::Small);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ToolContext {
    granted: Granted,
}

impl ToolContext {
    pub(super) const fn new(granted: Granted) -> Self {
        Self { granted }
    }

    /// Which attempt of which job it is.
    #[must_use]
    pub const fn key(&self) -> AttemptKey {
        self.granted.key
    }

    /// Fires when the tool is cancelled or has timed out; a grace follows, then it is dropped.
    #[must_use]
    pub const fn cancel_token(&self) -> &CancellationToken {
        &self.granted.cancel
    }

    /// Runs work that blocks on a thread for it, which keeps what was granted until the work is gone:
    /// also when the tool is cancelled or times out meanwhile, for a thread can't be stopped.
    ///
    /// # Errors
    /// [`BlockingError`]: the tool was over, or the work panicked.
    ///
    /// # Cancel safety
    /// Dropped, the work goes on with what was granted, and its result is lost.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        self.granted.blocking(work).await
    }

    /// A share of what was granted, for a thread or task of your own: what the tool holds comes back
    /// when the last share is dropped. Threads that have none are not seen.
    ///
    /// # Errors
    /// [`AttemptOver`] when the tool is over.
    pub fn hold(&self) -> Result<Hold, AttemptOver> {
        self.granted.hold()
    }
}
