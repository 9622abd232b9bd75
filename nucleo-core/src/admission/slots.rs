//! Who stands in the line and who holds a grant: one slot each.
//!
//! Invariants: a ticket is good for one life of its slot; a slot is free, waiting or granted, and
//! moves only in that direction.
//!
//! Not here: the order of the line (`index`).

use smallvec::SmallVec;

use super::attribution::Readings;
use super::order::{Order, Ticket};
use crate::account::AccountId;
use crate::demand::Need;
use crate::id::AttemptKey;
use crate::time::Time;

/// The entries of a demand, as a slot keeps them.
pub(crate) type Needs = SmallVec<[Need; 4]>;

/// The accounts on which a grant is a probe; hardly ever any.
pub(crate) type Probes = Vec<AccountId>;

/// One who waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) order: Order,
    pub(crate) key: AttemptKey,
    pub(crate) needs: Needs,
    /// The integrals of attribution at its arrival.
    pub(crate) readings: Readings,
    pub(crate) since: Time,
    /// When its wait ends.
    pub(crate) expires: Time,
    /// Counted from 1 at every entry into the line, also of a retry that keeps its order.
    pub(crate) number: u64,
    /// The memory in bytes that it states, or zero.
    pub(crate) memory: u64,
}

/// What a slot holds.
#[derive(Debug)]
pub(crate) enum State {
    Free,
    Waiting(Waiter),
    /// Granted: what is held still, on which accounts as a probe, and the memory that it stated.
    Granted(AttemptKey, Needs, Probes, u64),
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    state: State,
}

// The target is 256 bytes with its place in the index and its deadline; docs/benchmarks.md says by how
// much that is missed, and this keeps it from growing.
const _: () = assert!(size_of::<Slot>() <= 184, "a million of them may wait");

/// All slots, reused as they fall free.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn insert(&mut self, state: State) -> Ticket {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.state = state;
            return Ticket { slot, generation: entry.generation };
        }
        let slot = u32::try_from(self.slots.len()).expect("more than four billion tickets");
        self.slots.push(Slot { generation: 0, state });
        Ticket { slot, generation: 0 }
    }

    /// What the ticket stands for; `Free` once its life is over.
    pub(crate) fn get(&self, ticket: Ticket) -> &State {
        match self.slots.get(ticket.slot()) {
            Some(slot) if slot.generation == ticket.generation => &slot.state,
            _ => &State::Free,
        }
    }

    /// The waiter of a ticket that is known to wait.
    pub(crate) fn waiter(&self, ticket: Ticket) -> &Waiter {
        match self.get(ticket) {
            State::Waiting(waiter) => waiter,
            _ => panic!("{ticket:?} stands in the line but does not wait"),
        }
    }

    /// Puts another state in the ticket's slot; its life goes on.
    pub(crate) fn replace(&mut self, ticket: Ticket, state: State) -> State {
        assert!(!matches!(self.get(ticket), State::Free), "{ticket:?} is over");
        std::mem::replace(&mut self.slots[ticket.slot()].state, state)
    }

    /// How many hold a grant of something; looks at all.
    pub(crate) fn holding(&self) -> u64 {
        let holds =
            |slot: &&Slot| matches!(&slot.state, State::Granted(_, needs, ..) if !needs.is_empty());
        self.slots.iter().filter(holds).fold(0, |count, _| count + 1)
    }

    /// What the ticket stands for, to be changed in place.
    ///
    /// # Panics
    /// When its life is over.
    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> &mut State {
        let slot = &mut self.slots[ticket.slot()];
        assert!(slot.generation == ticket.generation, "{ticket:?} is over");
        &mut slot.state
    }

    /// Ends the ticket's life, whatever it stands for.
    pub(crate) fn end(&mut self, ticket: Ticket) {
        *self.get_mut(ticket) = State::Free;
        let slot = &mut self.slots[ticket.slot()];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(ticket.slot);
    }

    /// Ends the ticket's life.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> State {
        let state = self.replace(ticket, State::Free);
        let slot = &mut self.slots[ticket.slot()];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(ticket.slot);
        state
    }
}
