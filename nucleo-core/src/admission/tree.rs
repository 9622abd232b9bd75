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

use super::order::{Order, Ticket};

/// Children of an inner node and waiters of a leaf, at most.
const FANOUT: usize = 32;

/// One node: a leaf's keys are waiters, an inner node's are children.
#[derive(Debug)]
struct Node {
    len: usize,
    /// A leaf's own keys; an inner node's first key below each child.
    keys: [Order; FANOUT],
    links: Links,
    /// For each account, one need a key: `needs[account * FANOUT + at]`.
    needs: Box<[u64]>,
}

#[derive(Debug)]
enum Links {
    Leaf([Ticket; FANOUT]),
    Inner([u32; FANOUT]),
}

/// The waiters of one class.
#[derive(Debug)]
pub(crate) struct Tree {
    /// How many accounts the class names.
    width: usize,
    #[expect(
        clippy::vec_box,
        reason = "a vector of nodes would copy all of them as it grows"
    )]
    nodes: Vec<Box<Node>>,
    free: Vec<u32>,
    root: u32,
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

impl Node {
    fn leaf(width: usize) -> Box<Self> {
        Self::new(
            width,
            Links::Leaf(
                [Ticket {
                    slot: 0,
                    generation: 0,
                }; FANOUT],
            ),
        )
    }

    fn inner(width: usize) -> Box<Self> {
        Self::new(width, Links::Inner([0; FANOUT]))
    }

    fn new(width: usize, links: Links) -> Box<Self> {
        let keys = [Order { tag: 0, number: 0 }; FANOUT];
        Box::new(Self {
            len: 0,
            keys,
            links,
            needs: vec![0; width * FANOUT].into(),
        })
    }

    fn keys(&self) -> &[Order] {
        &self.keys[..self.len]
    }

    fn is_leaf(&self) -> bool {
        matches!(self.links, Links::Leaf(_))
    }

    fn child(&self, at: usize) -> u32 {
        match &self.links {
            Links::Inner(children) => children[at],
            Links::Leaf(_) => unreachable!("a leaf has no children"),
        }
    }

    fn ticket(&self, at: usize) -> Ticket {
        match &self.links {
            Links::Leaf(tickets) => tickets[at],
            Links::Inner(_) => unreachable!("an inner node has no tickets"),
        }
    }

    /// The child below which a key is, or would be.
    fn child_of(&self, key: Order) -> usize {
        self.keys()
            .partition_point(|first| *first <= key)
            .saturating_sub(1)
    }

    fn need(&self, account: usize, at: usize) -> u64 {
        self.needs[account * FANOUT + at]
    }

    fn set_needs(&mut self, at: usize, needs: &[u64]) {
        for (account, need) in needs.iter().enumerate() {
            self.needs[account * FANOUT + at] = *need;
        }
    }

    /// The smallest need of each account in this node.
    fn smallest(&self, width: usize) -> impl Iterator<Item = u64> + '_ {
        (0..width).map(|account| {
            let needs = &self.needs[account * FANOUT..account * FANOUT + self.len];
            needs.iter().copied().min().unwrap_or(u64::MAX)
        })
    }

    /// Makes room at a place, moving what is behind it.
    fn open(&mut self, at: usize) {
        self.shift(at, at + 1, self.len - at);
        self.len += 1;
    }

    /// Closes a place, moving what is behind it.
    fn close(&mut self, at: usize) {
        self.shift(at + 1, at, self.len - at - 1);
        self.len -= 1;
    }

    fn shift(&mut self, from: usize, to: usize, count: usize) {
        self.keys.copy_within(from..from + count, to);
        match &mut self.links {
            Links::Leaf(tickets) => tickets.copy_within(from..from + count, to),
            Links::Inner(children) => children.copy_within(from..from + count, to),
        }
        for needs in self.needs.chunks_exact_mut(FANOUT) {
            needs.copy_within(from..from + count, to);
        }
    }

    /// Moves everything from `at` on to the end of another node of the same kind.
    fn move_tail(&mut self, at: usize, to: &mut Self) {
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
        for (mine, theirs) in self
            .needs
            .chunks_exact(FANOUT)
            .zip(to.needs.chunks_exact_mut(FANOUT))
        {
            theirs[end..end + count].copy_from_slice(&mine[at..at + count]);
        }
        to.len += count;
        self.len = at;
    }
}

impl Tree {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            nodes: vec![Node::leaf(width)],
            free: Vec::new(),
            root: 0,
            len: 0,
        }
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
        if self.len == 0 {
            Search::Nobody
        } else {
            self.search_below(self.root, probe)
        }
    }

    /// Every waiter, in order, with its needs.
    pub(crate) fn each(&self, each: &mut Visit<'_>) {
        self.each_below(self.root, each);
    }

    fn each_below(&self, id: u32, each: &mut Visit<'_>) {
        let node = self.node(id);
        for at in 0..node.len {
            if node.is_leaf() {
                each(node.keys[at], node.ticket(at), &|account| {
                    node.need(account, at)
                });
            } else {
                self.each_below(node.child(at), each);
            }
        }
    }

    fn node(&self, id: u32) -> &Node {
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

    /// Writes a child's first key and smallest needs into its parent.
    fn link(&mut self, parent: u32, at: usize, child: u32) {
        let width = self.width;
        let below = self.node(child);
        let first = below.keys[0];
        let smallest: smallvec::SmallVec<[u64; 8]> = below.smallest(width).collect();
        let node = self.node_mut(parent);
        node.keys[at] = first;
        node.set_needs(at, &smallest);
        match &mut node.links {
            Links::Inner(children) => children[at] = child,
            Links::Leaf(_) => unreachable!("a leaf has no children"),
        }
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
            let node = self.node_mut(id);
            node.keys[at] = node.keys[at].min(key);
            for (account, need) in needs.iter().enumerate() {
                let smallest = &mut node.needs[account * FANOUT + at];
                *smallest = (*smallest).min(*need);
            }
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
        let left = if at + 1 < node.len {
            at
        } else {
            at.saturating_sub(1)
        };
        if left + 1 >= node.len {
            return;
        }
        let (keep, give) = (node.child(left), node.child(left + 1));
        if self.node(keep).len + self.node(give).len > FANOUT / 2 {
            return;
        }
        let empty = Box::new(Node {
            len: 0,
            keys: [Order { tag: 0, number: 0 }; FANOUT],
            links: Links::Inner([0; FANOUT]),
            needs: Box::default(),
        });
        let mut given = std::mem::replace(&mut self.nodes[give as usize], empty);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn key(number: u64) -> Order {
        Order { tag: 0, number }
    }

    fn ticket(number: u64) -> Ticket {
        Ticket {
            slot: u32::try_from(number).unwrap(),
            generation: 0,
        }
    }

    /// Every inner node's first keys and smallest needs are those of its children.
    fn check(tree: &Tree, id: u32) -> usize {
        let node = tree.node(id);
        assert!(node.keys().is_sorted(), "keys in order");
        if node.is_leaf() {
            return node.len;
        }
        let mut below = 0;
        for at in 0..node.len {
            let child = tree.node(node.child(at));
            assert!(child.len > 0, "no empty nodes");
            assert_eq!(node.keys[at], child.keys[0]);
            for (account, smallest) in child.smallest(tree.width).enumerate() {
                assert_eq!(node.need(account, at), smallest);
            }
            below += check(tree, node.child(at));
        }
        below
    }

    #[test]
    fn agrees_with_a_map_under_random_operations() {
        for seed in 0..40 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut tree = Tree::new(2);
            let mut map = BTreeMap::new();
            let mut next = 0;
            for _ in 0..600 {
                match random.u32(0..10) {
                    0..5 => {
                        next += 1;
                        let at = if random.bool() {
                            next * 1_000
                        } else {
                            random.u64(1..600_000)
                        };
                        let needs = [random.u64(1..100), random.u64(1..100)];
                        if map.insert(key(at), (ticket(at), needs)).is_none() {
                            tree.insert(key(at), ticket(at), &needs);
                        } else {
                            let (_, needs) = map[&key(at)];
                            tree.remove(key(at));
                            tree.insert(key(at), ticket(at), &needs);
                        }
                    }
                    5..8 => {
                        let keys: Vec<Order> = map.keys().copied().collect();
                        if let Some(gone) = random.choice(&keys) {
                            map.remove(gone);
                            tree.remove(*gone);
                        }
                    }
                    _ => compare(&tree, &map, &mut random),
                }
                assert_eq!(tree.len(), map.len());
                assert_eq!(check(&tree, tree.root), map.len());
                assert_eq!(tree.first().map(|(key, _)| key), map.keys().next().copied());
            }
        }
    }

    fn compare(tree: &Tree, map: &BTreeMap<Order, (Ticket, [u64; 2])>, random: &mut fastrand::Rng) {
        let free = [random.i128(-1..110), random.i128(-1..110)];
        let from = key(random.u64(0..600_000));
        let fits = |needs: &[u64; 2]| needs.iter().zip(free).all(|(n, f)| i128::from(*n) <= f);
        let wanted = map.range(from..).find(|(_, (_, needs))| fits(needs));
        let mut blocked = [None, None];
        let mut at = from;
        // Cut short every few nodes, and gone on with: the same answer.
        let found = loop {
            let mut probe = Probe {
                from: at,
                free: &free,
                blocked: &mut blocked,
                nodes_left: 3,
            };
            match tree.search(&mut probe) {
                Search::Until(key) if key == at => {
                    let mut probe = Probe {
                        from: at,
                        free: &free,
                        blocked: &mut blocked,
                        nodes_left: 9_999,
                    };
                    break tree.search(&mut probe);
                }
                Search::Until(key) => at = key,
                ended => break ended,
            }
        };
        match (found, wanted) {
            (Search::Found(key, _), Some((wanted, _))) => assert_eq!(key, *wanted),
            (Search::Nobody, None) => {
                for (_, (_, needs)) in map.range(from..) {
                    let held = needs
                        .iter()
                        .zip(&blocked)
                        .zip(free)
                        .any(|((need, least), free)| {
                            least.is_some_and(|least| i128::from(least) > free && *need >= least)
                        });
                    assert!(held, "everyone is in the way of some need that was told");
                }
            }
            (found, wanted) => panic!("found {found:?}, wanted {wanted:?}"),
        }
    }
}
