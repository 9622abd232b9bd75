//! Work that blocks, on a thread that may.
//!
//! Invariants: whoever awaits it goes on when it is done, also when it panicked.
//!
//! Not here: a user's blocking work, which keeps a grant (`attempt`).

/// Runs blocking work on tokio's threads for it, and waits for its end.
///
/// # Cancel safety
/// Dropped, the work goes on and nobody waits for it.
pub(crate) async fn off_thread(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = tokio::task::spawn_blocking(work).await {
        tracing::error!(%error, "work on a thread of its own failed");
    }
}
