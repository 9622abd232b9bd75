//! An ordered tree of one class's waiters that knows, below each node, the smallest need of every
//! account: "the first waiter whose needs are all within what is free" is a descent.
//!
//! A B+ tree: leaves hold waiters in order, inner nodes hold for each child its first key and its
//! smallest needs. Needs are laid out account by account, so that a scan of one node reads a few
//! cache lines.
//!
//! Invariants: keys are unique and in order; an inner node's smallest needs are exact, never stale;
//! no node is empty but the root of an empty tree.
//!
//! Not here: which classes are searched, and when (`classes`).

use super::super::order::{Order, Ticket};
use super::node::{FANOUT, Links, Node};

/// The waiters of one class.
#[derive(Debug)]
pub(crate) struct Tree {
    /// How many accounts the class names.
    pub(super) width: usize,
    #[expect(clippy::vec_box, reason = "a vector of nodes would copy all of them as it grows")]
    nodes: Vec<Box<Node>>,
    free: Vec<u32>,
    pub(super) root: u32,
    len: usize,
}

/// Looks at one waiter: its key, its ticket, and its need of the class's n-th account.
pub(crate) type Visit<'v> = dyn FnMut(Order, Ticket, &dyn Fn(usize) -> u64) + 'v;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Found(Order, Ticket),
    Nobody,
    /// Cut short: nobody before this key fits.
    Until(Order),
}

/// What a search looks for, and what it learns.
#[derive(Debug)]
pub(crate) struct Probe<'p> {
    /// Nobody before this is looked at.
    pub(crate) from: Order,
    /// What is free, account by account; below zero nothing fits.
    pub(crate) free: &'p [i128],
    /// For each account, the smallest need that was in the way of a waiter.
    pub(crate) blocked: &'p mut [Option<u64>],
    /// How many nodes may still be looked at.
    pub(crate) nodes_left: usize,
}

impl Tree {
    pub(crate) fn new(width: usize) -> Self {
        Self { width, nodes: vec![Node::leaf(width)], free: Vec::new(), root: 0, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn first(&self) -> Option<(Order, Ticket)> {
        let mut node = self.node(self.root);
        while !node.is_leaf() {
            node = self.node(node.child(0));
        }
        (node.len > 0).then(|| (node.keys[0], node.ticket(0)))
    }

    /// Adds a waiter.
    pub(crate) fn insert(&mut self, key: Order, ticket: Ticket, needs: &[u64]) {
        self.len += 1;
        let Some(split) = self.insert_below(self.root, key, ticket, needs) else {
            return;
        };
        let mut root = Node::inner(self.width);
        root.len = 2;
        let left = self.root;
        self.root = self.store(root);
        self.link(self.root, 0, left);
        self.link(self.root, 1, split);
    }

    /// Takes a waiter out.
    ///
    /// # Panics
    /// When nobody has the key.
    pub(crate) fn remove(&mut self, key: Order) {
        self.remove_below(self.root, key);
        self.len -= 1;
        let root = self.node(self.root);
        if !root.is_leaf() && root.len == 1 {
            let child = root.child(0);
            self.free.push(std::mem::replace(&mut self.root, child));
        }
    }

    /// The first waiter, from a key on, whose needs are all free.
    pub(crate) fn search(&self, probe: &mut Probe<'_>) -> Search {
        if self.len == 0 { Search::Nobody } else { self.search_below(self.root, probe) }
    }

    /// The first waiter behind a key that needs more of an account than is free.
    pub(crate) fn first_over(
        &self,
        behind: Option<Order>,
        account: usize,
        free: i128,
    ) -> Option<(Order, Ticket)> {
        self.first_over_below(self.root, behind, account, free)
    }

    fn first_over_below(
        &self,
        id: u32,
        behind: Option<Order>,
        account: usize,
        free: i128,
    ) -> Option<(Order, Ticket)> {
        let node = self.node(id);
        let over = |at: &usize| i128::from(node.largest(account, *at)) > free;
        if node.is_leaf() {
            let is_behind = |at: &usize| behind.is_none_or(|key| node.keys[*at] > key);
            let at = (0..node.len).filter(is_behind).find(over)?;
            return Some((node.keys[at], node.ticket(at)));
        }
        let start = behind.map_or(0, |key| node.child_of(key));
        let mut children = (start..node.len).filter(over);
        children.find_map(|at| self.first_over_below(node.child(at), behind, account, free))
    }

    /// How many waiters need more of an account than is free: what is all over, or all within, is
    /// counted by the node.
    pub(crate) fn count_over(&self, account: usize, free: i128) -> usize {
        if self.len == 0 { 0 } else { self.count_over_below(self.root, account, free) }
    }

    fn count_over_below(&self, id: u32, account: usize, free: i128) -> usize {
        let node = self.node(id);
        let over = (0..node.len).filter(|at| i128::from(node.largest(account, *at)) > free);
        if node.is_leaf() {
            return over.count();
        }
        over.map(|at| {
            let child = node.child(at);
            if i128::from(node.need(account, at)) > free {
                self.count_below(child)
            } else {
                self.count_over_below(child, account, free)
            }
        })
        .sum()
    }

    fn count_below(&self, id: u32) -> usize {
        let node = self.node(id);
        if node.is_leaf() {
            return node.len;
        }
        (0..node.len).map(|at| self.count_below(node.child(at))).sum()
    }

    /// Every waiter, in order, with its needs.
    pub(crate) fn each(&self, each: &mut Visit<'_>) {
        self.each_below(self.root, each);
    }

    fn each_below(&self, id: u32, each: &mut Visit<'_>) {
        let node = self.node(id);
        for at in 0..node.len {
            if node.is_leaf() {
                each(node.keys[at], node.ticket(at), &|account| node.need(account, at));
            } else {
                self.each_below(node.child(at), each);
            }
        }
    }

    pub(super) fn node(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }

    fn node_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    fn store(&mut self, node: Box<Node>) -> u32 {
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            return id;
        }
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("more than four billion nodes")
    }

    /// Writes what is below a child into its parent.
    fn link(&mut self, parent: u32, at: usize, child: u32) {
        let width = self.width;
        let places = [parent as usize, child as usize];
        let nodes = self.nodes.get_disjoint_mut(places);
        let [parent, below] = nodes.expect("a parent is not its own child");
        parent.set_child(at, child, below, width);
    }

    /// Inserts below a node; a node that was full gives its second half to a new one, told here.
    fn insert_below(&mut self, id: u32, key: Order, ticket: Ticket, needs: &[u64]) -> Option<u32> {
        if self.node(id).is_leaf() {
            return self.insert_in_leaf(id, key, ticket, needs);
        }
        let at = self.node(id).child_of(key);
        let child = self.node(id).child(at);
        let split = self.insert_below(child, key, ticket, needs);
        let Some(split) = split else {
            self.node_mut(id).widen(at, key, needs);
            return None;
        };
        self.link(id, at, child);
        let (target, at, new) = self.room(id, at + 1);
        self.node_mut(target).open(at);
        self.link(target, at, split);
        new
    }

    fn insert_in_leaf(
        &mut self,
        id: u32,
        key: Order,
        ticket: Ticket,
        needs: &[u64],
    ) -> Option<u32> {
        let at = self.node(id).keys().partition_point(|other| *other < key);
        let taken = self.node(id).keys().get(at) == Some(&key);
        assert!(!taken, "two waiters at one place of the line");
        let (target, at, new) = self.room(id, at);
        let node = self.node_mut(target);
        node.open(at);
        node.keys[at] = key;
        node.set_needs(at, needs);
        match &mut node.links {
            Links::Leaf(tickets) => tickets[at] = ticket,
            Links::Inner(_) => unreachable!("the target is of the leaf's kind"),
        }
        new
    }

    /// Where a new entry for a place goes: the node itself while it has room; else it is split, in
    /// the middle, or at its very end when that is where the entry goes, so that arrivals in order
    /// leave full nodes behind.
    fn room(&mut self, id: u32, at: usize) -> (u32, usize, Option<u32>) {
        if self.node(id).len < FANOUT {
            return (id, at, None);
        }
        let cut = if at == FANOUT { FANOUT } else { FANOUT / 2 };
        let width = self.width;
        let mut right = match self.node(id).links {
            Links::Leaf(_) => Node::leaf(width),
            Links::Inner(_) => Node::inner(width),
        };
        self.node_mut(id).move_tail(cut, &mut right);
        let right = self.store(right);
        if at > cut || cut == FANOUT {
            (right, at - cut, Some(right))
        } else {
            (id, at, Some(right))
        }
    }

    fn remove_below(&mut self, id: u32, key: Order) {
        if self.node(id).is_leaf() {
            let found = self.node(id).keys().binary_search(&key);
            let at = found.expect("a waiter that leaves stood in the line");
            self.node_mut(id).close(at);
            return;
        }
        let at = self.node(id).child_of(key);
        let child = self.node(id).child(at);
        self.remove_below(child, key);
        if self.node(child).len == 0 {
            self.node_mut(id).close(at);
            self.free.push(child);
            return;
        }
        self.link(id, at, child);
        self.merge(id, at);
    }

    /// Joins a sparse child with its neighbour, so that a tree that shrinks gives its nodes back.
    fn merge(&mut self, id: u32, at: usize) {
        let node = self.node(id);
        let left = if at + 1 < node.len { at } else { at.saturating_sub(1) };
        if left + 1 >= node.len {
            return;
        }
        let (keep, give) = (node.child(left), node.child(left + 1));
        if self.node(keep).len + self.node(give).len > FANOUT / 2 {
            return;
        }
        let mut given = std::mem::replace(&mut self.nodes[give as usize], Node::hollow());
        given.move_tail(0, self.node_mut(keep));
        self.free.push(give);
        self.node_mut(id).close(left + 1);
        self.link(id, left, keep);
    }

    fn search_below(&self, id: u32, probe: &mut Probe<'_>) -> Search {
        let node = self.node(id);
        probe.nodes_left = probe.nodes_left.saturating_sub(1);
        let start = if node.is_leaf() {
            node.keys().partition_point(|key| *key < probe.from)
        } else {
            node.child_of(probe.from)
        };
        for at in start..node.len {
            if let Some(account) = self.short(node, at, probe.free) {
                let need = node.need(account, at);
                let smallest = &mut probe.blocked[account];
                *smallest = Some(smallest.map_or(need, |other| other.min(need)));
                continue;
            }
            if node.is_leaf() {
                return Search::Found(node.keys[at], node.ticket(at));
            }
            if probe.nodes_left == 0 {
                return Search::Until(node.keys[at].max(probe.from));
            }
            match self.search_below(node.child(at), probe) {
                Search::Nobody => {}
                ended => return ended,
            }
        }
        Search::Nobody
    }

    /// An account whose free amount is below the need at a place.
    fn short(&self, node: &Node, at: usize, free: &[i128]) -> Option<usize> {
        (0..self.width).find(|account| i128::from(node.need(*account, at)) > free[*account])
    }
}
