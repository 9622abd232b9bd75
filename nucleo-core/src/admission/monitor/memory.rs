//! Where the monitor asks the memory gate.
//!
//! The head is asked first. When it may go by the gate but not by its accounts, the first follower
//! that fits its accounts is asked too, because it may state another size; if the gate refuses it,
//! nobody goes past it. An earlier follower that the clock brings in meanwhile is seen at the next
//! sample, which is never far.
//!
//! Invariants: a refusal puts everyone who waits into the gate's line; an empty demand never meets
//! the gate, neither at its start nor at its end.
//!
//! Not here: the gate's rules (`memory`).

use super::super::index::Index;
use super::super::order::{Order, Ticket};
use super::Monitor;
use crate::account::Horizon;
use crate::memory::{Ask, MemoryGate, MemoryProfile, MemoryStatus, Reading, Signal};
use crate::time::Time;

impl<I: Index> Monitor<I> {
    /// Sets a memory gate before all accounts; without a sample it lets everyone pass. One that is
    /// there already stays as it is.
    pub fn watch_memory(&mut self, profile: MemoryProfile) {
        let slots = &self.slots;
        self.gate.get_or_insert_with(|| MemoryGate::new(profile, slots.holding()));
    }

    /// A reading of memory's pages, as a share of a limit that is not told: sizes that demands state
    /// in bytes are not judged by it.
    ///
    /// # Panics
    /// When memory is not watched.
    pub fn sample_memory(&mut self, share: f64, now: Time) {
        let now = self.advance(now);
        self.watched().sample(share, Signal::Pages, now);
    }

    /// A reading of memory.
    ///
    /// # Panics
    /// When memory is not watched.
    pub fn read_memory(&mut self, reading: Reading, now: Time) {
        let now = self.advance(now);
        self.watched().read(reading, now);
    }

    /// The allocator was asked to hand back what is free; the status says so.
    ///
    /// # Panics
    /// When memory is not watched.
    pub fn memory_trimmed(&mut self, now: Time) {
        let now = self.advance(now);
        self.watched().trimmed(now);
    }

    /// Whether memory is worth reading: somebody waits or runs, or the gate is not green.
    #[must_use]
    pub fn memory_matters(&self) -> bool {
        let latched_or_busy = |gate: &MemoryGate| gate.in_flight() > 0 || gate.is_latched();
        self.gate.as_ref().is_some_and(|gate| latched_or_busy(gate) || !self.index.is_empty())
    }

    /// How the memory gate stands; `None` when memory is not watched.
    #[must_use]
    pub fn memory(&self) -> Option<MemoryStatus> {
        self.gate.as_ref().map(|gate| gate.status(self.latest))
    }

    fn watched(&mut self) -> &mut MemoryGate {
        self.gate.as_mut().expect("a reading without a memory gate")
    }
}

/// Steps.
impl<I: Index> Monitor<I> {
    /// What the gate says to a job that states so many bytes.
    pub(super) fn gate_says(&self, stated: u64, now: Time) -> Ask {
        self.gate.as_ref().map_or(Ask::Go, |gate| gate.ask(now, stated))
    }

    /// Asks the gate for one who waits: a refusal puts all who wait into its line.
    pub(super) fn ask_gate(&mut self, ticket: Ticket, now: Time) -> Ask {
        let answer = self.gate_says(self.slots.waiter(ticket).memory, now);
        if let (Ask::Wait(_), Some(gate)) = (answer, &mut self.gate) {
            gate.join(self.index.len(), self.numbers);
        }
        answer
    }

    /// The first follower that fits, if memory lets it go as well.
    pub(super) fn follower_with_memory(&mut self, now: Time) -> Option<(Order, Ticket)> {
        let (order, ticket) = self.first_follower(now)?;
        if self.ask_gate(ticket, now) == Ask::Go {
            return Some((order, ticket));
        }
        self.kept_by_memory = Some(self.slots.waiter(ticket).memory);
        None
    }

    /// Until when memory keeps a waiter: by what it states, or because it keeps one ahead.
    pub(super) fn memory_keeps(&self, ticket: Ticket) -> Option<Horizon> {
        let head = self.index.head().map(|(_, head)| head);
        let ahead = head.filter(|head| *head != ticket);
        let states = |ticket| self.slots.waiter(ticket).memory;
        let kept = ahead.and(self.kept_by_memory);
        let stated = [Some(states(ticket)), ahead.map(states), kept];
        stated.into_iter().flatten().filter_map(|stated| self.gate_horizon(stated)).max()
    }

    /// When the clock alone lets the head or a follower go, with memory in it.
    pub(super) fn with_memory(&self, head: Ticket, head_fits: Horizon, line: Horizon) -> Horizon {
        let kept = self.kept_by_memory.and_then(|stated| self.gate_horizon(stated));
        let first = head_fits.min(kept.map_or(line, |kept| line.max(kept)));
        let head = self.gate_horizon(self.slots.waiter(head).memory);
        head.map_or(first, |kept| first.max(kept))
    }

    fn gate_horizon(&self, stated: u64) -> Option<Horizon> {
        match self.gate_says(stated, self.latest) {
            Ask::Wait(horizon) => Some(horizon),
            Ask::Go => None,
        }
    }
}
