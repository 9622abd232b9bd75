//! What an executing job is given: its cancellation, and a meter for each binding.
//!
//! The meter is how the outside learns what happened, also when the job is cut off midway: what was
//! reported until then is what is settled.
//!
//! Invariants: usage is cumulative, the last report holds; a report after the end changes nothing.
//!
//! Not here: settling (`guard`).

use std::sync::Arc;

use nucleo_core::{AttemptKey, Time, Usage};
use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;

use super::held::{AttemptOver, Hold, Shares};
use super::signal::Ended;
use crate::runtime::{Clock, Lost, on_thread};
use crate::sync::Mutex;

/// What was reported of one binding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reported {
    pub(crate) sent: Option<Time>,
    pub(crate) usage: Option<Usage>,
    pub(crate) ended: Option<Ended>,
}

/// Reports on one binding of a running attempt.
#[derive(Clone, Debug)]
pub struct Meter {
    clock: Arc<dyn Clock>,
    reported: Arc<Mutex<Reported>>,
}

impl Meter {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, reported: Arc::new(Mutex::new(Reported::default())) }
    }

    /// The request leaves now: from here what it was granted stays spent.
    pub fn mark_sent(&self) {
        let now = self.clock.now();
        self.reported.lock().sent = Some(now);
    }

    /// What the call has used so far; the last word holds. Whoever has used something was sent.
    pub fn usage(&self, usage: Usage) {
        let now = self.clock.now();
        let mut reported = self.reported.lock();
        reported.sent.get_or_insert(now);
        reported.usage = Some(usage);
    }

    /// What was told of the usage covers no longer what the call has used: until more is told, nothing
    /// is known.
    pub fn usage_outdated(&self) {
        self.reported.lock().usage = None;
    }

    /// Where the call ended, when that is known before the job itself ends.
    pub fn ended(&self, ended: Ended) {
        self.reported.lock().ended = Some(ended);
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) fn read(&self) -> Reported {
        *self.reported.lock()
    }
}

/// What an attempt was granted.
#[derive(Clone, Debug)]
pub struct Granted {
    /// The attempt.
    pub key: AttemptKey,
    /// Fires when the job is cancelled or has timed out; a grace follows, then it is dropped.
    pub cancel: CancellationToken,
    pub(crate) meters: SmallVec<[Meter; 1]>,
    /// Of the work as a whole, for what it holds besides its bindings.
    pub(crate) work: Meter,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) shares: Shares,
}

/// Why work on a thread has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockingError {
    /// The attempt was over before it could begin.
    #[error(transparent)]
    Over(#[from] AttemptOver),
    /// It panicked.
    #[error("panicked: {0}")]
    Panicked(Arc<str>),
    /// The tokio runtime went down before it could begin.
    #[error("the runtime went down before it could begin")]
    ShutDown,
}

impl Granted {
    /// The meter of the `leg`-th binding, from 0.
    ///
    /// # Panics
    /// When the requirements had no such binding.
    #[must_use]
    pub fn meter(&self, leg: usize) -> &Meter {
        &self.meters[leg]
    }

    /// The work begins now: what is metered besides the bindings stays spent from here.
    pub fn mark_sent(&self) {
        self.work.mark_sent();
    }

    /// A share of the grant, for work that may outlive the attempt: the accounts come back when the
    /// last share is dropped. Give it to a thread that you start.
    ///
    /// # Errors
    /// [`AttemptOver`] when there is nothing to share any more.
    pub fn hold(&self) -> Result<Hold, AttemptOver> {
        self.shares.take()
    }

    /// Runs work that blocks on a thread for it. A thread can't be stopped, so the work takes a
    /// [`Hold`] along: when the attempt is cancelled or times out meanwhile, the accounts come back
    /// as the work ends, and until then the job is told as one that outlived its end.
    ///
    /// # Errors
    /// [`BlockingError`]: the attempt was over, or the work panicked.
    ///
    /// # Cancel safety
    /// Dropped, the work goes on with its share of the grant, and its result is lost.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, BlockingError> {
        let hold = self.hold()?;
        self.mark_sent();
        let working = on_thread(move || {
            let _hold = hold;
            work()
        });
        working.await.map_err(|lost| match lost {
            Lost::Panicked(message) => BlockingError::Panicked(message),
            Lost::ShutDown => BlockingError::ShutDown,
        })
    }

    /// The clock of the runtime.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
