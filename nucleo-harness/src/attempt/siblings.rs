//! How many attempts of a fan-out wait for their siblings' money, so that it pulls nothing meanwhile.
//!
//! Invariants: counted from the first look that finds an attempt waiting to the end of that wait,
//! whatever ends it; whoever watches is woken when the count falls.
//!
//! Not here: the waiting itself (`spend`), pulling (`nucleo-agents`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use futures_util::task::AtomicWaker;

/// A count of the attempts that wait for siblings, with one watcher.
///
/// ```
/// use nucleo_harness::attempt::Siblings;
/// let siblings = Siblings::default();
/// assert_eq!(siblings.waiting(), 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Siblings {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: AtomicUsize,
    watcher: AtomicWaker,
}

/// One attempt that waits.
#[derive(Debug)]
pub(crate) struct WaitsForSiblings<'s>(&'s Siblings);

impl Siblings {
    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.waiting.load(Ordering::Acquire)
    }

    /// Wakes this watcher, in place of an earlier one, when the count falls.
    pub fn watch(&self, waker: &Waker) {
        self.inner.watcher.register(waker);
    }

    pub(crate) fn enter(&self) -> WaitsForSiblings<'_> {
        self.inner.waiting.fetch_add(1, Ordering::AcqRel);
        WaitsForSiblings(self)
    }
}

impl Drop for WaitsForSiblings<'_> {
    fn drop(&mut self) {
        let inner = &self.0.inner;
        inner.waiting.fetch_sub(1, Ordering::AcqRel);
        inner.watcher.wake();
    }
}
