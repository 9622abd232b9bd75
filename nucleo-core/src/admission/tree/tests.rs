//! The tree beside an ordered map, under random operations.

use std::collections::BTreeMap;

use super::super::order::{Order, Ticket};
use super::{Probe, Search, Tree};

fn key(number: u64) -> Order {
    Order { tag: 0, number }
}

fn ticket(number: u64) -> Ticket {
    Ticket { slot: u32::try_from(number).unwrap(), generation: 0 }
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
        for account in 0..tree.width {
            let places = 0..child.len;
            let smallest = places.clone().map(|at| child.need(account, at)).min().unwrap();
            let largest = places.map(|at| child.largest(account, at)).max().unwrap();
            assert_eq!((node.need(account, at), node.largest(account, at)), (smallest, largest));
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
                    let at = if random.bool() { next * 1_000 } else { random.u64(1..600_000) };
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
    let over = |(_, (_, needs)): &(&Order, &(Ticket, [u64; 2]))| i128::from(needs[1]) > free[1];
    let behind = map.range(from..).filter(|(key, _)| **key > from).find(over);
    let told = tree.first_over(Some(from), 1, free[1]).map(|(key, _)| key);
    assert_eq!(told, behind.map(|(key, _)| *key));
    assert_eq!(tree.count_over(1, free[1]), map.iter().filter(over).count());
    let mut blocked = [None, None];
    let mut at = from;
    // Cut short every few nodes, and gone on with: the same answer.
    let found = loop {
        let mut probe = Probe { from: at, free: &free, blocked: &mut blocked, nodes_left: 3 };
        match tree.search(&mut probe) {
            Search::Until(key) if key == at => {
                let mut probe =
                    Probe { from: at, free: &free, blocked: &mut blocked, nodes_left: 9_999 };
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
                let held = needs.iter().zip(&blocked).zip(free).any(|((need, least), free)| {
                    least.is_some_and(|least| i128::from(least) > free && *need >= least)
                });
                assert!(held, "everyone is in the way of some need that was told");
            }
        }
        (found, wanted) => panic!("found {found:?}, wanted {wanted:?}"),
    }
}
