//! Where outcomes are picked up: one seat for each future that waits.
//!
//! Invariants: a seat is taken at the submission and given up once, by the future that took it; an
//! outcome stays in its seat until then, even when the monitor has forgotten the ticket; so nothing
//! is decided for nobody.
//!
//! Not here: deciding (`nucleo-core`), waking (the caller collects wakers and calls them unlocked).

use std::task::Waker;

use nucleo_core::{AdmitError, Admitted, Ticket};

/// A seat's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeatId(u32);

impl SeatId {
    /// No seat: of a demand that a defective monitor refused.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// What is in a seat.
#[derive(Debug)]
pub(crate) enum Seat {
    Empty,
    Waiting(Ticket, Option<Waker>),
    Decided(Box<Result<Admitted, AdmitError>>),
}

/// All seats, and whose a ticket's is.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    seats: Vec<Seat>,
    free: Vec<u32>,
    by_slot: Vec<u32>,
}

impl Seats {
    pub(crate) fn take(&mut self, ticket: Ticket) -> SeatId {
        let seat = self.free.pop().unwrap_or_else(|| {
            self.seats.push(Seat::Empty);
            u32::try_from(self.seats.len() - 1).expect("more than four billion seats")
        });
        self.seats[seat as usize] = Seat::Waiting(ticket, None);
        if self.by_slot.len() <= ticket.slot() {
            self.by_slot.resize(ticket.slot() + 1, u32::MAX);
        }
        self.by_slot[ticket.slot()] = seat;
        SeatId(seat)
    }

    /// Puts an outcome into the ticket's seat and hands out the waker of whoever waits there.
    pub(crate) fn decide(
        &mut self,
        ticket: Ticket,
        outcome: Result<Admitted, AdmitError>,
    ) -> Option<Waker> {
        let seat = &mut self.seats[self.by_slot[ticket.slot()] as usize];
        match std::mem::replace(seat, Seat::Decided(Box::new(outcome))) {
            Seat::Waiting(seated, waker) if seated == ticket => waker,
            other => panic!("{ticket:?} was decided, but its seat held {other:?}"),
        }
    }

    pub(crate) fn get_mut(&mut self, seat: SeatId) -> &mut Seat {
        &mut self.seats[seat.0 as usize]
    }

    /// Gives the seat up.
    pub(crate) fn leave(&mut self, seat: SeatId) -> Seat {
        let left = std::mem::replace(self.get_mut(seat), Seat::Empty);
        assert!(!matches!(left, Seat::Empty), "a seat was left twice");
        self.free.push(seat.0);
        left
    }

    /// Decides every seat that waits, for a monitor that can't any more.
    pub(crate) fn fail_all(&mut self, error: &AdmitError) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for seat in &mut self.seats {
            if let Seat::Waiting(_, waker) = seat {
                wakers.extend(waker.take());
                *seat = Seat::Decided(Box::new(Err(error.clone())));
            }
        }
        wakers
    }
}
