//! Asking for a demand: the future that waits, and the grant it ends with.
//!
//! Invariants:
//! - a future that is dropped leaves the line, or rolls its grant back if that had landed, and the
//!   line is run in the same lock hold, so followers that fit now go;
//! - a grant is a value: alive means held, it can't be cloned, and one owner gives it back, once:
//!   dropped before [`Grant::mark_sent`] it rolls back whole, after it metered units stay spent.
//!
//! Not here: the lock (`shared`), what an attempt's end calls for (`attempt::table`).

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use nucleo_core::{
    AccountId, Action, AdmitError, Admitted, Demand, Order, Reason, Settlement, Span, Ticket, Time,
    Verdict, WaitedOn,
};
use smallvec::SmallVec;

use super::seats::{Seat, SeatId};
use super::shared::{Core, Shared};

/// Waits until a demand is granted whole; made by [`Admission::admit`](super::Admission::admit).
#[must_use = "a future does nothing until it is awaited"]
#[derive(Debug)]
pub struct Admit {
    shared: Arc<Shared>,
    state: State,
}

#[derive(Debug)]
enum State {
    New(Box<Demand>),
    Seated(SeatId),
    Over,
}

impl Admit {
    pub(crate) fn new(shared: Arc<Shared>, demand: Demand) -> Self {
        Self { shared, state: State::New(Box::new(demand)) }
    }

    /// Submits, runs the line, and looks at the seat, in one lock hold.
    fn submit(&self, demand: Demand, waker: &mut Option<Waker>) -> (SeatId, Looked) {
        let looked = self.shared.enter_then(
            |core, now| {
                let ticket = core.monitor.submit(demand, now);
                // Mostly it is decided at once, and needs no seat.
                match core.monitor.decided_at_arrival(ticket) {
                    Some(action) => Err(outcome(action)),
                    None => Ok(core.seats.take(ticket)),
                }
            },
            |core, seat| match seat {
                Ok(seat) => (seat, look(core, seat, waker)),
                Err(outcome) => (SeatId::NONE, Looked::Decided(outcome)),
            },
        );
        looked.unwrap_or_else(|error| (SeatId::NONE, Looked::Decided(Err(error))))
    }
}

fn outcome(action: Action) -> Result<Admitted, AdmitError> {
    match action {
        Action::Admit(admitted) => Ok(admitted),
        Action::Reject(_, error) => Err(error),
    }
}

/// What a look at a seat found.
enum Looked {
    Waiting,
    Decided(Result<Admitted, AdmitError>),
}

/// Takes the outcome out of a seat, and gives the seat up; or swaps the waker in it, so that the
/// caller drops the old one once the lock is free.
fn look(core: &mut Core, seat: SeatId, waker: &mut Option<Waker>) -> Looked {
    match core.seats.get_mut(seat) {
        Seat::Waiting(_, seated) => {
            mem::swap(seated, waker);
            Looked::Waiting
        }
        Seat::Decided(_) => match core.seats.leave(seat) {
            Seat::Decided(outcome) => Looked::Decided(*outcome),
            other => unreachable!("just seen decided, now {other:?}"),
        },
        Seat::Empty => unreachable!("a seat is looked at by the one who holds it"),
    }
}

impl Future for Admit {
    type Output = Result<Grant, AdmitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned before the lock and dropped after it: a waker is foreign code.
        let mut waker = Some(cx.waker().clone());
        let looked = match mem::replace(&mut self.state, State::Over) {
            State::New(demand) => {
                let (seat, looked) = self.submit(*demand, &mut waker);
                self.state = State::Seated(seat);
                looked
            }
            State::Seated(seat) => {
                self.state = State::Seated(seat);
                // Also of a defective monitor: its outcomes are in the seats.
                self.shared.touch(|core| look(core, seat, &mut waker))
            }
            State::Over => panic!("polled after it was ready"),
        };
        let Looked::Decided(outcome) = looked else {
            return Poll::Pending;
        };
        self.state = State::Over;
        Poll::Ready(outcome.map(|admitted| Grant::new(Arc::clone(&self.shared), admitted)))
    }
}

impl Drop for Admit {
    fn drop(&mut self) {
        let State::Seated(seat) = mem::replace(&mut self.state, State::Over) else {
            return;
        };
        // The seat, with its waker, is dropped after the lock. A defective monitor holds nothing that
        // could be given back.
        let _seat = self.shared.enter(|core, now| {
            let seat = core.seats.leave(seat);
            let ticket = match &seat {
                Seat::Waiting(ticket, _) => Some(*ticket),
                Seat::Decided(outcome) => outcome.as_ref().as_ref().ok().map(|one| one.ticket),
                Seat::Empty => unreachable!("a seat is left by the one who holds it"),
            };
            if let Some(ticket) = ticket {
                core.monitor.leave(ticket, now);
            }
            seat
        });
    }
}

/// Everything that one attempt holds. Alive means held.
///
/// Dropped before [`Grant::mark_sent`] it rolls back whole, as if it never happened; after it,
/// dropping gives back what is held and leaves what is metered spent.
#[must_use = "dropping a grant gives it back"]
pub struct Grant {
    shared: Arc<Shared>,
    ticket: Ticket,
    order: Order,
    waited: Span,
    waited_on: WaitedOn,
    sent: Option<Time>,
    over: bool,
}

/// How a grant ends: one input to the monitor, in one lock hold.
///
/// ```
/// use nucleo_core::{AccountId, Charge, Settlement};
/// use nucleo_harness::admission::Ending;
/// let tokens = AccountId::from_index(1);
/// let ending = Ending::new(Settlement::in_full().charge(tokens, Charge::Used(640)));
/// assert!(ending.buckets.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// What comes back and what is charged.
    pub settlement: Settlement,
    /// What the answer says about the pace, for each of `buckets`.
    pub verdict: Option<Verdict>,
    /// The buckets that the verdict, the parking and the draining concern.
    pub buckets: SmallVec<[AccountId; 4]>,
    /// Nothing goes from the buckets before this instant.
    pub park_until: Option<Time>,
    /// The buckets' levels are lowered to zero: the provider says that nothing is left.
    pub drain: bool,
    /// The buckets refuse everyone from now on, for this reason.
    pub close: Option<Reason>,
}

impl Ending {
    /// An ending that only settles.
    #[must_use]
    pub fn new(settlement: Settlement) -> Self {
        Self { settlement, ..Self::default() }
    }

    fn tell(&self, core: &mut Core, now: Time) {
        for account in &self.buckets {
            if let Some(verdict) = self.verdict {
                core.monitor.verdict(*account, verdict, now);
            }
            if let Some(until) = self.park_until {
                core.monitor.park(*account, until, now);
            }
            if let Some(reason) = self.close {
                core.monitor.close(*account, reason, now);
            }
            if self.drain {
                core.monitor.lower(*account, 0, now);
            }
        }
    }
}

impl Grant {
    fn new(shared: Arc<Shared>, admitted: Admitted) -> Self {
        let Admitted { ticket, waited, waited_on, order } = admitted;
        Self { shared, ticket, order, waited, waited_on, sent: None, over: false }
    }

    /// The request leaves now: from here metered units stay spent.
    pub fn mark_sent(&mut self) {
        self.sent = Some(self.shared.clock().now());
    }

    /// When the request left, if it did.
    #[must_use]
    pub const fn sent(&self) -> Option<Time> {
        self.sent
    }

    /// How long it waited in the line.
    #[must_use]
    pub const fn waited(&self) -> Span {
        self.waited
    }

    /// What it waited on.
    #[must_use]
    pub const fn waited_on(&self) -> &WaitedOn {
        &self.waited_on
    }

    /// The place it had in the line, for a retry to keep.
    #[must_use]
    pub const fn order(&self) -> Order {
        self.order
    }

    /// The work ended: gives back what is held, charges what is metered, and tells the accounts what
    /// the answer said.
    pub fn settle(mut self, ending: Ending) {
        self.end(|core, ticket, now| {
            core.monitor.settle(ticket, &ending.settlement, now);
            ending.tell(core, now);
        });
    }

    /// Tells the accounts what the answer said, ahead of the settlement.
    pub(crate) fn tell(&self, ending: &Ending) {
        let _ = self.shared.enter(|core, now| ending.tell(core, now));
    }

    /// The work never happened: everything comes back.
    pub fn roll_back(mut self) {
        self.end(|core, ticket, now| core.monitor.roll_back(ticket, now));
    }

    fn end(&mut self, input: impl FnOnce(&mut Core, Ticket, Time)) {
        if mem::replace(&mut self.over, true) {
            return;
        }
        let ticket = self.ticket;
        // A defective monitor holds nothing that could be given back.
        let _ = self.shared.enter(|core, now| input(core, ticket, now));
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let sent = self.sent.is_some();
        self.end(|core, ticket, now| {
            if sent {
                core.monitor.settle(ticket, &Settlement::in_full(), now);
            } else {
                core.monitor.roll_back(ticket, now);
            }
        });
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("ticket", &self.ticket)
            .field("waited", &self.waited)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}
