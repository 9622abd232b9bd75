//! Work that blocks, on a thread that may.
//!
//! Invariants: whoever awaits it goes on when it is done, also when it panicked; what the work owns
//! is dropped on its thread before that, or, where no thread ever took it, with the runtime.
//!
//! Not here: the grant that a user's blocking work keeps (`attempt::held`).

use std::sync::Arc;

use crate::admission::panic_text;

/// Why blocking work has no result.
#[derive(Debug)]
pub(crate) enum Lost {
    Panicked(Arc<str>),
    ShutDown,
}

/// Runs blocking work on tokio's threads for it, and waits for its result.
///
/// # Cancel safety
/// Dropped, the work goes on and nobody waits for it.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Lost> {
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(payload) => Lost::Panicked(panic_text(&*payload).into()),
        Err(_) => Lost::ShutDown,
    })
}

/// As [`on_thread`], for work whose failure concerns nobody: it is logged.
///
/// # Cancel safety
/// Dropped, the work goes on and nobody waits for it.
pub(crate) async fn off_thread(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = on_thread(work).await {
        tracing::error!(?error, "work on a thread of its own failed");
    }
}
