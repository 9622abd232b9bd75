//! Who holds something here: the check that no job is waited for while another's grant is held.
//!
//! What holds must not wait for what may need the same: that is how everything comes to a stand.
//! The types say so (who executes has no way to submit), and this is for a handle that was smuggled
//! in by capture. It is kept with the running task, so work that is spawned or put on a thread is
//! not seen.
//!
//! Invariants: set from the grant to the settlement, around the job's own code and nothing else; a
//! job that was granted nothing holds nothing.
//!
//! Not here: what is done about it (`run`).

use nucleo_core::JobId;

tokio::task_local! {
    static HOLDER: JobId;
}

/// The job whose grant is held by whoever asks: it must not wait for another job.
///
/// ```
/// assert_eq!(nucleo_harness::attempt::holder(), None, "nobody holds anything here");
/// ```
#[must_use]
pub fn holder() -> Option<JobId> {
    HOLDER.try_with(|job| *job).ok()
}

/// Runs a job's work as that of the holder of its grant.
pub(super) async fn as_holder<T>(holder: Option<JobId>, work: impl Future<Output = T>) -> T {
    match holder {
        Some(job) => HOLDER.scope(job, work).await,
        None => work.await,
    }
}
