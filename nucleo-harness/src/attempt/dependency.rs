//! What a job depends on: the ends of others, waited for before it takes anything.
//!
//! Invariants: a job waits for all of them and holds nothing meanwhile; the first failure ends the
//! wait, unless that dependency is tolerated; nothing can depend on itself, because whatever is
//! depended on was there before.
//!
//! Not here: whose ends they are (`workflow::submit` for jobs, `nucleo-agents` for agents).

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, try_join_all};
use nucleo_core::JobId;

use super::holding::holder;
use super::job::JobError;

/// Why what was depended on has no result.
pub type DependencyError = Arc<dyn Error + Send + Sync>;

/// The end of something that a job depends on.
pub struct Dependency {
    on: JobId,
    ended: BoxFuture<'static, Result<(), JobError>>,
}

impl Dependency {
    /// Depends on what `ended` tells the end of; `on` is named where it failed.
    pub fn new(
        on: JobId,
        ended: impl Future<Output = Result<(), DependencyError>> + Send + 'static,
    ) -> Self {
        let ended =
            async move { ended.await.map_err(|cause| JobError::DependencyFailed { on, cause }) };
        Self { on, ended: ended.boxed() }
    }

    /// Waits for the end alone, however it comes.
    #[must_use]
    pub fn tolerated(self) -> Self {
        let ended = async move {
            // However it ended.
            let _ = self.ended.await;
            Ok(())
        };
        Self { on: self.on, ended: ended.boxed() }
    }

    /// What it depends on.
    #[must_use]
    pub const fn on(&self) -> JobId {
        self.on
    }
}

/// All of them.
///
/// # Errors
/// The first that failed, whatever the others do; [`JobError::WaitsWhileHolding`] within a job that
/// holds something.
///
/// # Cancel safety
/// Dropped, nobody waits any more; what was depended on goes on.
pub async fn all_ended(after: Vec<Dependency>) -> Result<(), JobError> {
    if let (Some(holder), Some(first)) = (holder(), after.first()) {
        return Err(JobError::WaitsWhileHolding { holder, job: first.on() });
    }
    let each: Vec<_> = after.into_iter().map(|dependency| dependency.ended).collect();
    try_join_all(each).await.map(drop)
}

impl fmt::Debug for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dependency").field("on", &self.on).finish_non_exhaustive()
    }
}
