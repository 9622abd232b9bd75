//! One node of the tree: keys in order, and needs laid out account by account.
//!
//! Invariants: the first `len` places are filled, in order; an inner node knows for each child the
//! first key, and the smallest and the largest need of every account below it.
//!
//! Not here: keeping the nodes of a tree true to each other (the parent module).

use super::super::order::{Order, Ticket};

/// Children of an inner node and waiters of a leaf, at most.
pub(super) const FANOUT: usize = 32;

/// One node: a leaf's keys are waiters, an inner node's are children.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) len: usize,
    /// A leaf's own keys; an inner node's first key below each child.
    pub(super) keys: [Order; FANOUT],
    pub(super) links: Links,
    /// For each account, one need a key, `needs[account * FANOUT + at]`: a leaf's own, an inner
    /// node's smallest below each child.
    pub(super) needs: Box<[u64]>,
    /// The largest below each child, laid out alike; empty in a leaf.
    pub(super) largest: Box<[u64]>,
}

#[derive(Debug)]
pub(super) enum Links {
    Leaf([Ticket; FANOUT]),
    Inner([u32; FANOUT]),
}

impl Node {
    pub(super) fn leaf(width: usize) -> Box<Self> {
        Self::new(width, Links::Leaf([Ticket { slot: 0, generation: 0 }; FANOUT]))
    }

    pub(super) fn inner(width: usize) -> Box<Self> {
        Self::new(width, Links::Inner([0; FANOUT]))
    }

    pub(super) fn new(width: usize, links: Links) -> Box<Self> {
        let keys = [Order { tag: 0, number: 0 }; FANOUT];
        let largest = if matches!(links, Links::Inner(_)) { width * FANOUT } else { 0 };
        let (needs, largest) = (vec![0; width * FANOUT].into(), vec![0; largest].into());
        Box::new(Self { len: 0, keys, links, needs, largest })
    }

    /// A node of no use but to stand where another was taken out.
    pub(super) fn hollow() -> Box<Self> {
        Self::new(0, Links::Inner([0; FANOUT]))
    }

    pub(super) fn keys(&self) -> &[Order] {
        &self.keys[..self.len]
    }

    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.links, Links::Leaf(_))
    }

    pub(super) fn child(&self, at: usize) -> u32 {
        match &self.links {
            Links::Inner(children) => children[at],
            Links::Leaf(_) => unreachable!("a leaf has no children"),
        }
    }

    pub(super) fn ticket(&self, at: usize) -> Ticket {
        match &self.links {
            Links::Leaf(tickets) => tickets[at],
            Links::Inner(_) => unreachable!("an inner node has no tickets"),
        }
    }

    /// The child below which a key is, or would be.
    pub(super) fn child_of(&self, key: Order) -> usize {
        self.keys().partition_point(|first| *first <= key).saturating_sub(1)
    }

    pub(super) fn need(&self, account: usize, at: usize) -> u64 {
        self.needs[account * FANOUT + at]
    }

    /// The largest need of an account at a place: a leaf's own, or the largest below a child.
    pub(super) fn largest(&self, account: usize, at: usize) -> u64 {
        let needs = if self.is_leaf() { &self.needs } else { &self.largest };
        needs[account * FANOUT + at]
    }

    /// Takes a waiter's needs into account at the child that it went below.
    pub(super) fn widen(&mut self, at: usize, key: Order, needs: &[u64]) {
        self.keys[at] = self.keys[at].min(key);
        for (account, need) in needs.iter().enumerate() {
            let place = account * FANOUT + at;
            self.needs[place] = self.needs[place].min(*need);
            self.largest[place] = self.largest[place].max(*need);
        }
    }

    /// Writes what is below a child: its first key, and its smallest and largest needs.
    pub(super) fn set_child(&mut self, at: usize, child: u32, below: &Self, width: usize) {
        self.keys[at] = below.keys[0];
        for account in 0..width {
            let range = account * FANOUT..account * FANOUT + below.len;
            let needs = if below.is_leaf() { &below.needs } else { &below.largest };
            let largest = needs[range.clone()].iter().copied().max().unwrap_or(0);
            let smallest = below.needs[range].iter().copied().min().unwrap_or(u64::MAX);
            self.needs[account * FANOUT + at] = smallest;
            self.largest[account * FANOUT + at] = largest;
        }
        match &mut self.links {
            Links::Inner(children) => children[at] = child,
            Links::Leaf(_) => unreachable!("a leaf has no children"),
        }
    }

    pub(super) fn set_needs(&mut self, at: usize, needs: &[u64]) {
        for (account, need) in needs.iter().enumerate() {
            self.needs[account * FANOUT + at] = *need;
        }
    }

    /// Makes room at a place, moving what is behind it.
    pub(super) fn open(&mut self, at: usize) {
        self.shift(at, at + 1, self.len - at);
        self.len += 1;
    }

    /// Closes a place, moving what is behind it.
    pub(super) fn close(&mut self, at: usize) {
        self.shift(at + 1, at, self.len - at - 1);
        self.len -= 1;
    }

    pub(super) fn shift(&mut self, from: usize, to: usize, count: usize) {
        self.keys.copy_within(from..from + count, to);
        match &mut self.links {
            Links::Leaf(tickets) => tickets.copy_within(from..from + count, to),
            Links::Inner(children) => children.copy_within(from..from + count, to),
        }
        let all = self.needs.chunks_exact_mut(FANOUT).chain(self.largest.chunks_exact_mut(FANOUT));
        for needs in all {
            needs.copy_within(from..from + count, to);
        }
    }

    /// Moves everything from `at` on to the end of another node of the same kind.
    pub(super) fn move_tail(&mut self, at: usize, to: &mut Self) {
        let count = self.len - at;
        let end = to.len;
        to.keys[end..end + count].copy_from_slice(&self.keys[at..self.len]);
        match (&self.links, &mut to.links) {
            (Links::Leaf(mine), Links::Leaf(theirs)) => {
                theirs[end..end + count].copy_from_slice(&mine[at..at + count]);
            }
            (Links::Inner(mine), Links::Inner(theirs)) => {
                theirs[end..end + count].copy_from_slice(&mine[at..at + count]);
            }
            _ => unreachable!("nodes of one height are of one kind"),
        }
        let mine = self.needs.chunks_exact(FANOUT).chain(self.largest.chunks_exact(FANOUT));
        let theirs = to.needs.chunks_exact_mut(FANOUT).chain(to.largest.chunks_exact_mut(FANOUT));
        for (mine, theirs) in mine.zip(theirs) {
            theirs[end..end + count].copy_from_slice(&mine[at..at + count]);
        }
        to.len += count;
        self.len = at;
    }
}
