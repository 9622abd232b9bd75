//! A future in the hands of the test, with a waker that counts.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use nucleo_core::{AccountId, AdmitError, Demand, JobId, WorkflowId};
use nucleo_harness::admission::{Admission, Admit, Grant};

#[derive(Debug, Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One who asked.
pub(crate) struct Waiter {
    admit: Admit,
    woken: Arc<Woken>,
}

/// A demand for these amounts.
pub(crate) fn demand(needs: &[(AccountId, u64)]) -> Demand {
    let key = JobId::root(WorkflowId::from_u128(1)).attempt(1);
    needs.iter().fold(Demand::new(key), |demand, (account, amount)| demand.need(*account, *amount))
}

impl Waiter {
    pub(crate) fn new(admission: &Admission, demand: Demand) -> Self {
        Self { admit: admission.admit(demand), woken: Arc::default() }
    }

    /// Asks, and must wait.
    pub(crate) fn waits(admission: &Admission, needs: &[(AccountId, u64)]) -> Self {
        let mut waiter = Self::new(admission, demand(needs));
        assert!(waiter.poll().is_pending(), "{needs:?} fits");
        waiter
    }

    pub(crate) fn poll(&mut self) -> Poll<Result<Grant, AdmitError>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        Pin::new(&mut self.admit).poll(&mut Context::from_waker(&waker))
    }

    /// How often it was woken so far.
    pub(crate) fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }

    /// It was woken once, and this is why.
    pub(crate) fn decided(mut self) -> Result<Grant, AdmitError> {
        assert_eq!(self.woken(), 1, "woken once");
        match self.poll() {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("woken for nothing"),
        }
    }
}

/// Asks, and is granted at once.
pub(crate) fn hold(admission: &Admission, needs: &[(AccountId, u64)]) -> Grant {
    match Waiter::new(admission, demand(needs)).poll() {
        Poll::Ready(granted) => granted.unwrap(),
        Poll::Pending => panic!("{needs:?} must wait"),
    }
}
