//! Limiter events, told outside the lock: to `tracing`, and to whoever listens.
//!
//! Invariants: bounded, and lossy with a counter; with nobody listening an input costs one look at an
//! empty list.
//!
//! Not here: what an event is (`nucleo_core::LimiterEvent`), workflow events (`workflow`).

use std::collections::VecDeque;

use nucleo_core::LimiterEvent;
use smallvec::SmallVec;

/// How many events one lock hold hands out at most; a pass makes about as many decisions.
pub(crate) const EVENTS_A_PASS: usize = 256;

/// The events of one lock hold.
pub(crate) type Batch = SmallVec<[LimiterEvent; 4]>;

/// The events that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    kept: VecDeque<LimiterEvent>,
    most: usize,
    lost: u64,
}

/// Events taken at once, and how many were lost before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimiterEvents {
    /// Oldest first.
    pub events: Vec<LimiterEvent>,
    /// How many were lost since the listening began, because nobody took them in time.
    pub lost: u64,
}

impl Heard {
    pub(crate) const fn listen(&mut self, most: usize) {
        self.most = most;
    }

    pub(crate) fn hear(&mut self, batch: Batch) {
        for event in batch {
            if self.kept.len() >= self.most {
                self.lost += 1;
                self.kept.pop_front();
            }
            if self.most > 0 {
                self.kept.push_back(event);
            }
        }
    }

    pub(crate) fn take(&mut self) -> LimiterEvents {
        LimiterEvents { events: self.kept.drain(..).collect(), lost: self.lost }
    }
}

/// Tells `tracing`.
pub(crate) fn trace(batch: &Batch) {
    for event in batch {
        tracing::debug!(
            target: "nucleo::admission",
            kind = event.what.name(),
            key = %event.key,
            at = %event.at,
            what = ?event.what,
        );
    }
}

/// Whether `tracing` wants to hear of it.
pub(crate) fn is_traced() -> bool {
    tracing::enabled!(target: "nucleo::admission", tracing::Level::DEBUG)
}
