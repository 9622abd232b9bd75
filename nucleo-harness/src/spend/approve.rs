//! The future of one ask at the local ledger.
//!
//! Invariants: it decides at its first poll, and is pending only while it waits for siblings;
//! dropped in the line, it leaves it in the same lock hold that lets the next one pass; dropped
//! with an approval that nobody took, it gives that back.
//!
//! Not here: the lock (`ledger`), the rule of the line (`nucleo_core::spend`).

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use nucleo_core::spend::{Ask, CommitmentId, Decision, Outcome, WaitId};

use super::ledger::{Shared, Wait};
use super::{Commitment, SpendError};

#[derive(Debug)]
pub(super) struct Approve {
    shared: Arc<Shared>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Asks(Box<Ask>),
    Waits(WaitId),
    Done,
}

impl Approve {
    pub(super) fn new(shared: Arc<Shared>, ask: Ask) -> Self {
        Self { shared, step: Step::Asks(Box::new(ask)) }
    }

    fn commitment(&self, id: CommitmentId) -> Commitment {
        Commitment::new(Arc::clone(&self.shared) as _, id.to_bits())
    }

    /// The first poll: the decision, and the seat in the line if there is one.
    fn ask(&mut self, ask: Ask, cx: &Context<'_>) -> Poll<Result<Commitment, SpendError>> {
        // Cloned before the lock and dropped after it: a waker is foreign code.
        let mut waker = Some(cx.waker().clone());
        let decision = self.shared.enter(|state| {
            let decision = state.ledger.approve(ask);
            if let Decision::Waiting(id) = decision {
                let waker = waker.take().expect("taken once");
                state.waits.insert(id, Wait::Pending(waker));
            }
            decision
        });
        Poll::Ready(match decision? {
            Decision::Approved(id) => Ok(self.commitment(id)),
            Decision::Refused(refusal) => Err(SpendError::Refused(refusal)),
            Decision::Stopped(stop) => Err(stop.into()),
            Decision::Waiting(id) => {
                self.step = Step::Waits(id);
                return Poll::Pending;
            }
        })
    }

    /// A later poll: the outcome, or a fresh waker left behind.
    fn look(&mut self, id: WaitId, cx: &Context<'_>) -> Poll<Result<Commitment, SpendError>> {
        let mut waker = cx.waker().clone();
        let outcome = self.shared.enter(|state| match state.waits.get_mut(&id) {
            Some(Wait::Pending(seat)) => {
                mem::swap(seat, &mut waker);
                None
            }
            Some(Wait::Decided(_)) => match state.waits.remove(&id) {
                Some(Wait::Decided(outcome)) => Some(outcome),
                _ => None,
            },
            None => unreachable!("a seat is kept until its owner leaves"),
        });
        Poll::Ready(match outcome? {
            Some(Outcome::Approved(id)) => Ok(self.commitment(id)),
            Some(Outcome::Refused(refusal)) => Err(SpendError::Refused(refusal)),
            Some(Outcome::Stopped(stop)) => Err(stop.into()),
            None => {
                self.step = Step::Waits(id);
                return Poll::Pending;
            }
        })
    }
}

impl Future for Approve {
    type Output = Result<Commitment, SpendError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match mem::replace(&mut self.step, Step::Done) {
            Step::Asks(ask) => self.ask(*ask, cx),
            Step::Waits(id) => self.look(id, cx),
            Step::Done => panic!("an approval is polled after it resolved"),
        }
    }
}

impl Drop for Approve {
    fn drop(&mut self) {
        let Step::Waits(id) = self.step else { return };
        // The seat, with its waker, is dropped after the lock. A defective ledger has no line.
        let _seat = self.shared.enter(|state| {
            let seat = state.waits.remove(&id);
            match &seat {
                Some(Wait::Pending(_)) => state.ledger.leave(id),
                Some(Wait::Decided(Outcome::Approved(commitment))) => {
                    state.ledger.release(*commitment);
                }
                _ => {}
            }
            seat
        });
    }
}
