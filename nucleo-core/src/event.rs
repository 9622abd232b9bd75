//! Limiter events: what the line did, for people and metrics.
//!
//! They are bounded and lossy, with a counter of what was lost: nothing that must not be lost, money
//! least of all, travels by them.
//!
//! Invariants: events are in the order of what they tell; a monitor that nobody listens to keeps
//! none.
//!
//! Not here: the decisions themselves (`admission`), workflow events (`nucleo-harness`).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::account::AccountId;
use crate::id::AttemptKey;
use crate::time::{Span, Time};

/// One thing that the line did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimiterEvent {
    /// When.
    pub at: Time,
    /// Whose demand.
    pub key: AttemptKey,
    /// What.
    pub what: LimiterWhat,
}

/// What the line did with a demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimiterWhat {
    /// Granted at its arrival.
    GrantedAtOnce,
    /// It waits.
    Waiting {
        /// The accounts that were short at its arrival; none when others are before it, or memory is.
        #[serde(skip)]
        short: SmallVec<[AccountId; 4]>,
        /// How many wait now, it included.
        waiting: usize,
    },
    /// Granted after a wait.
    GrantedAfterWait {
        /// How long.
        waited: Span,
    },
    /// Refused.
    Refused {
        /// [`AdmitError::name`](crate::AdmitError::name).
        #[serde(skip)]
        why: &'static str,
    },
    /// It left the line.
    Left,
    /// A grant ended.
    Settled,
}

impl LimiterWhat {
    /// The name that logs, metrics and traces share.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::GrantedAtOnce => "granted_at_once",
            Self::Waiting { .. } => "waiting",
            Self::GrantedAfterWait { .. } => "granted_after_wait",
            Self::Refused { .. } => "refused",
            Self::Left => "left",
            Self::Settled => "settled",
        }
    }
}

/// The latest events, as many as somebody asked to keep.
#[derive(Debug, Default)]
pub(crate) struct EventRing {
    kept: VecDeque<LimiterEvent>,
    most: usize,
    lost: u64,
}

impl EventRing {
    /// Keeps at most so many from now on; none unless told.
    pub(crate) fn keep(&mut self, most: usize) {
        self.most = most;
        while self.kept.len() > most {
            self.kept.pop_front();
            self.lost += 1;
        }
    }

    /// Whether anybody listens.
    pub(crate) const fn listens(&self) -> bool {
        self.most > 0
    }

    pub(crate) fn push(&mut self, event: LimiterEvent) {
        if self.kept.len() == self.most {
            self.kept.pop_front();
            self.lost += 1;
        }
        self.kept.push_back(event);
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = LimiterEvent> + '_ {
        self.kept.drain(..)
    }

    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_counted_and_the_latest_are_kept() {
        let mut ring = EventRing::default();
        assert!(!ring.listens());
        ring.keep(2);
        for ns in 0..5 {
            let what = LimiterWhat::Settled;
            ring.push(LimiterEvent { at: Time::from_nanos(ns), key: AttemptKey::default(), what });
        }
        let kept: Vec<u64> = ring.drain().map(|event| event.at.as_nanos()).collect();
        assert_eq!((kept, ring.lost()), (vec![3, 4], 3));
    }
}
