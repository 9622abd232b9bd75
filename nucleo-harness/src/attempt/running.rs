//! A running attempt: its own task, which owns the grant until everything is settled.
//!
//! Invariants: it ends by itself, within its timeout and the grace after it; a cancellation wins
//! over a result that comes at the same time, and over work that has not begun; panics end here,
//! also those of a drop.
//!
//! Not here: what led to the grant (`run`), what comes back (`guard`).

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;
use nucleo_core::{JobId, Span};
use tokio_util::sync::CancellationToken;

use super::granted::Granted;
use super::guard::{Guard, Settled, Verdicts};
use super::holding::as_holder;
use super::job::Job;
use super::signal::Failure;
use crate::admission::panic_text;
use crate::runtime::Clock;
use crate::workflow::Place;

/// The grace after a timeout or a cancellation: a tenth of the timeout, within these.
const GRACE: (Span, Span) = (Span::from_millis(500), Span::from_secs(30));

/// How long a job has to end by itself once its cancellation has fired.
pub(crate) fn grace(timeout: Span) -> Span {
    Span::from_nanos(timeout.as_nanos() / 10).clamp(GRACE.0, GRACE.1)
}

/// Why an attempt has no answer.
#[derive(Debug)]
pub(crate) enum Cut {
    Failed(Failure),
    Cancelled,
    TimedOut(Span),
    Panicked(Arc<str>),
}

/// An attempt that ran.
pub(crate) struct Ran<J: Job> {
    pub(crate) job: J,
    pub(crate) outcome: Result<J::Out, Cut>,
    pub(crate) settled: Settled,
}

/// An attempt about to run.
pub(crate) struct Running<J> {
    pub(crate) job: J,
    pub(crate) granted: Granted,
    pub(crate) guard: Guard,
    /// The attempt's cancellation, which also fires at its timeout.
    pub(crate) token: CancellationToken,
    pub(crate) timeout: Span,
    /// The job, if it was granted anything.
    pub(crate) holder: Option<JobId>,
    /// Kept until everything is settled, also when nobody waits for the answer any more.
    pub(crate) place: Arc<Place>,
}

impl<J: Job> Running<J> {
    /// Executes the job, and settles when it is gone.
    pub(crate) async fn run(mut self, clock: Arc<dyn Clock>) -> Ran<J> {
        let outcome = {
            let (job, granted) = (&mut self.job, self.granted);
            // In a block of its own, so that a job that panics before its first await ends here too.
            let work = async move { job.execute(granted).await };
            let cancel = self.place.cancel();
            let driven = drive(work, cancel, &self.token, &*clock, self.timeout);
            AssertUnwindSafe(as_holder(self.holder, driven))
                .catch_unwind()
                .await
                .unwrap_or_else(|payload| Err(panicked(&*payload)))
        };
        let settled = self.guard.settle(match &outcome {
            Ok(_) => Verdicts::Success,
            Err(Cut::Failed(failure)) => Verdicts::Failed(failure),
            Err(_) => Verdicts::CutOff,
        });
        Ran { job: self.job, outcome, settled }
    }
}

fn panicked(payload: &(dyn Any + Send)) -> Cut {
    Cut::Panicked(panic_text(payload).into())
}

/// Polls the work to its end, its cancellation, or its timeout; the work is gone when it returns.
async fn drive<T>(
    work: impl Future<Output = Result<T, Failure>>,
    cancel: &CancellationToken,
    token: &CancellationToken,
    clock: &dyn Clock,
    timeout: Span,
) -> Result<T, Cut> {
    if cancel.is_cancelled() {
        // Nothing has begun, and nothing will: the grace is for work that has.
        return Err(Cut::Cancelled);
    }
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let deadline = clock.now().saturating_add(timeout);
    let cut = tokio::select! {
        biased;
        () = cancel.cancelled() => Cut::Cancelled,
        ended = &mut work => {
            return ended.map_err(|payload| panicked(&*payload))?.map_err(Cut::Failed);
        }
        () = clock.sleep_until(deadline) => Cut::TimedOut(timeout),
    };
    token.cancel();
    let end_of_grace = clock.now().saturating_add(grace(timeout));
    tokio::select! {
        biased;
        // What it answers now is too late, but what it reports still counts.
        _ = &mut work => {}
        () = clock.sleep_until(end_of_grace) => {}
    }
    Err(cut)
}
