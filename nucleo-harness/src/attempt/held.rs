//! What an attempt holds, shared with work that outlives it.
//!
//! A thread can't be stopped. So work on one takes a [`Hold`], a share of the attempt's grant: the
//! attempt may be over, its handle told and its money booked, but the accounts come back when the
//! last share is gone, and until then the job is seen among the living ones.
//!
//! Invariants: the grant ends once, with the last share; what an answer says about the pace is told
//! at the attempt's end, however long its work goes on; a share can't be had after the end, and one
//! that was had before it is seen there.
//!
//! Not here: what the ending is (`guard`, `table`).

use std::sync::{Arc, OnceLock, Weak};

use crate::admission::{Ending, Grant};
use crate::sync::Mutex;
use crate::workflow::Place;

/// A share of what an attempt was granted: the accounts come back when the last one is dropped.
///
/// [`Granted::blocking`](super::Granted::blocking) takes one along by itself; take one by
/// [`Granted::hold`](super::Granted::hold) for a thread that you start.
#[derive(Debug)]
#[must_use = "what an attempt holds comes back when its last share is dropped"]
pub struct Hold {
    _held: Arc<Held>,
}

/// The attempt is over: nothing of its grant can be had any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the attempt is over: what it was granted can't be held any longer")]
pub struct AttemptOver;

/// Where shares are had.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    held: Weak<Held>,
    /// Locked while a share is taken and while the end looks whether one was.
    over: Arc<Mutex<bool>>,
}

impl Shares {
    /// Another share, while the attempt is not over.
    pub(super) fn take(&self) -> Result<Hold, AttemptOver> {
        let over = self.over.lock();
        if *over {
            return Err(AttemptOver);
        }
        self.held.upgrade().map(|held| Hold { _held: held }).ok_or(AttemptOver)
    }
}

/// A grant and how it ends.
#[derive(Debug)]
pub(crate) struct Held {
    /// There until the drop.
    grant: Option<Grant>,
    /// Set once, at the attempt's end; `None` there rolls the grant back.
    ending: OnceLock<Option<Ending>>,
    /// The job is alive as long as something is held for it.
    place: Arc<Place>,
    over: Arc<Mutex<bool>>,
    /// Set once, before the ending: whether work of the attempt is there after its end.
    outlived: OnceLock<()>,
}

impl Held {
    pub(crate) fn new(grant: Grant, place: Arc<Place>) -> Arc<Self> {
        Arc::new(Self {
            grant: Some(grant),
            ending: OnceLock::new(),
            place,
            over: Arc::default(),
            outlived: OnceLock::new(),
        })
    }

    pub(super) fn shares(self: &Arc<Self>) -> Shares {
        Shares { held: Arc::downgrade(self), over: Arc::clone(&self.over) }
    }

    /// The attempt is over, and its work, unless it is shared, is gone. `None`: it never happened.
    pub(super) fn end(self: Arc<Self>, ending: Option<Ending>) {
        let outlived = {
            let mut over = self.over.lock();
            *over = true;
            Arc::strong_count(&self) > 1
        };
        let ending = match ending {
            Some(ending) if outlived => {
                let grant = self.grant.as_ref().expect("a grant is there until the last share is");
                // Others need to know of a rate limit now, not when a thread has ended.
                grant.tell(&ending);
                Some(Ending::new(ending.settlement))
            }
            ending => ending,
        };
        if outlived {
            self.outlived.set(()).expect("an attempt ends once");
            self.place.outlived();
        }
        self.ending.set(ending).expect("an attempt ends once");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let grant = self.grant.take().expect("a grant is there until the last share is");
        match self.ending.take().flatten() {
            Some(ending) => grant.settle(ending),
            None => grant.roll_back(),
        }
        if self.outlived.get().is_some() {
            self.place.work_gone();
        }
    }
}
