//! The fast index: waiters filed by class, the set of accounts that their demands name.
//!
//! A class keeps its waiters in a [`Tree`] that finds the first whose needs are all free. A search
//! that finds nobody leaves behind, for each account, the smallest need that was in somebody's way:
//! the class's *threshold* on that account. It is looked at again only when one of its thresholds
//! is reached, by an event or by the clock.
//!
//! **Why nobody is stranded.** After a search every waiter of the class is held by some account on
//! which it needs more than is free, and that need is at least the class's threshold there. So as
//! long as every account stays below the class's threshold, every waiter stays held and the class may
//! be skipped. What can raise an account's free amount is (a) an input, which marks the account
//! changed, and every class with a threshold there is compared with what is free now; (b) the clock,
//! and the class sleeps until the first instant at which the clock alone reaches a threshold; (c) a
//! smaller set-aside, when the head changes: the accounts of the old and the new head are marked
//! changed. What an arrival needs is not in the thresholds, so the class is searched from the
//! arrival on. A waiter that leaves may leave a threshold that nobody has: the class is then looked
//! at once too often, and learns the right one. What is taken, and a larger set-aside, only lower
//! what is free: thresholds hold.
//!
//! **Why the order is exact.** Classes to be searched stand in a set under a key that is a lower
//! bound of their first waiter that fits; the smallest is searched first, and its result is the
//! answer only when no other class has a smaller bound.
//!
//! Invariants: those of `index`; a search looks at no more than [`NODES_A_SEARCH`] nodes and goes on
//! from where it stopped, in the same order.
//!
//! Not here: the head, the gate, refusals (`monitor`).

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::accounts::Accounts;
use super::index::{Found, Index};
use super::order::{Order, Ticket};
use super::tree::{Probe, Search, Tree};
use crate::account::{AccountId, Horizon};
use crate::demand::Need;
use crate::time::Time;

/// How many nodes one search looks at before it lets others in.
pub(crate) const NODES_A_SEARCH: usize = 256;

/// The accounts that the demands of a class name, in order.
type Signature = SmallVec<[AccountId; 4]>;

#[derive(Debug)]
struct Class {
    accounts: Signature,
    tree: Tree,
    /// For each account, the smallest need in somebody's way.
    thresholds: SmallVec<[Option<u64>; 4]>,
    /// Nobody before this fits; `None` while the class sleeps.
    from: Option<Order>,
    /// When the clock alone reaches a threshold, while it sleeps.
    wake: Option<Time>,
}

/// Waiters by class.
#[derive(Debug, Default)]
pub struct ByClass {
    classes: Vec<Class>,
    by_signature: BTreeMap<Signature, usize>,
    /// For each account, the classes that name it.
    naming: Vec<Vec<usize>>,
    len: usize,
    /// The first waiter of each class that has any.
    heads: BTreeSet<(Order, usize)>,
    /// Classes to be searched, under a lower bound of their answer.
    ready: BTreeSet<(Order, usize)>,
    /// Classes that sleep until the clock reaches a threshold.
    wakes: BTreeSet<(Time, usize)>,
    /// Accounts on which there may be more than at the last search.
    changed: Vec<AccountId>,
}

impl ByClass {
    /// The class of a demand, made at its first.
    fn class_of(&mut self, needs: &[Need]) -> usize {
        let signature: Signature = needs.iter().map(|need| need.account).collect();
        if let Some(class) = self.by_signature.get(&signature) {
            return *class;
        }
        let class = self.classes.len();
        for account in &signature {
            if self.naming.len() <= account.index() {
                self.naming.resize(account.index() + 1, Vec::new());
            }
            self.naming[account.index()].push(class);
        }
        self.classes.push(Class {
            tree: Tree::new(signature.len()),
            thresholds: SmallVec::from_elem(None, signature.len()),
            accounts: signature.clone(),
            from: None,
            wake: None,
        });
        self.by_signature.insert(signature, class);
        class
    }

    /// Changes a class's tree, keeping the set of first waiters true.
    fn edit(&mut self, class: usize, edit: impl FnOnce(&mut Tree)) {
        let tree = &mut self.classes[class].tree;
        let before = tree.first().map(|(order, _)| order);
        edit(tree);
        let after = tree.first().map(|(order, _)| order);
        if before != after {
            before.map(|order| self.heads.remove(&(order, class)));
            after.map(|order| self.heads.insert((order, class)));
        }
    }

    /// Wakes a class: it is searched from `from` on, or from earlier if it was to be.
    fn search_from(&mut self, class: usize, from: Order) {
        let entry = &mut self.classes[class];
        if entry.from.is_some_and(|before| before <= from) {
            return;
        }
        if let Some(before) = entry.from.replace(from) {
            self.ready.remove(&(before, class));
        }
        self.ready.insert((from, class));
    }

    /// Searches a class from its first waiter on, with new thresholds.
    fn search_all(&mut self, class: usize) {
        if let Some((first, _)) = self.classes[class].tree.first() {
            self.classes[class].thresholds.fill(None);
            self.search_from(class, first);
        }
    }

    /// The class has nobody that fits: it sleeps until a threshold is reached.
    fn sleep(&mut self, class: usize, accounts: &Accounts, now: Time) {
        let entry = &mut self.classes[class];
        if let Some(from) = entry.from.take() {
            self.ready.remove(&(from, class));
        }
        if entry.tree.len() == 0 {
            entry.thresholds.fill(None);
        }
        self.arm(class, accounts, now);
    }

    /// Computes when the clock alone reaches one of the class's thresholds.
    fn arm(&mut self, class: usize, accounts: &Accounts, now: Time) {
        let entry = &mut self.classes[class];
        if let Some(before) = entry.wake.take() {
            self.wakes.remove(&(before, class));
        }
        let whens = entry.accounts.iter().zip(&entry.thresholds).filter_map(|(account, least)| {
            match accounts.free_when(*account, (*least)?, now) {
                Horizon::At(at) => Some(at),
                Horizon::OnEvent => None,
            }
        });
        if let Some(wake) = whens.min() {
            entry.wake = Some(wake);
            self.wakes.insert((wake, class));
        }
    }

    /// Looks at the classes that what has changed may let go.
    fn notice(&mut self, accounts: &Accounts, now: Time) {
        for account in std::mem::take(&mut self.changed) {
            let Some(count) = self.naming.get(account.index()).map(Vec::len) else {
                continue;
            };
            let free = accounts.free(account, now);
            for at in 0..count {
                self.notice_class(self.naming[account.index()][at], account, free, accounts, now);
            }
        }
        while let Some(&(wake, class)) = self.wakes.first()
            && wake <= now
        {
            self.wakes.pop_first();
            self.classes[class].wake = None;
            self.search_all(class);
        }
    }

    fn notice_class(
        &mut self,
        class: usize,
        account: AccountId,
        free: i128,
        accounts: &Accounts,
        now: Time,
    ) {
        let entry = &self.classes[class];
        let place = entry.accounts.binary_search(&account).expect("the class names the account");
        let Some(least) = entry.thresholds[place] else {
            return;
        };
        if i128::from(least) <= free {
            self.search_all(class);
        } else if entry.from.is_none() {
            self.arm(class, accounts, now);
        }
    }

    /// Searches one class from its bound on; from its first waiter on if the clock has reached a
    /// threshold since it was last looked at.
    fn search(&mut self, class: usize, accounts: &Accounts, now: Time) -> Search {
        let entry = &self.classes[class];
        let free: SmallVec<[i128; 4]> =
            entry.accounts.iter().map(|account| accounts.free(*account, now)).collect();
        let reached = entry.thresholds.iter().zip(&free);
        if reached.clone().any(|(least, free)| least.is_some_and(|n| i128::from(n) <= *free)) {
            self.search_all(class);
        }
        let entry = &mut self.classes[class];
        let from = entry.from.expect("a class that is searched has a bound");
        let blocked = &mut entry.thresholds;
        let mut probe = Probe { from, free: &free, blocked, nodes_left: NODES_A_SEARCH };
        entry.tree.search(&mut probe)
    }

    /// Moves a class's bound up.
    fn rebound(&mut self, class: usize, to: Order) {
        let before = self.classes[class].from.replace(to).expect("the class has a bound");
        self.ready.remove(&(before, class));
        self.ready.insert((to, class));
    }
}

impl Index for ByClass {
    fn insert(&mut self, order: Order, ticket: Ticket, needs: &[Need]) {
        let class = self.class_of(needs);
        let amounts: SmallVec<[u64; 4]> = needs.iter().map(|need| need.amount).collect();
        self.edit(class, |tree| tree.insert(order, ticket, &amounts));
        self.len += 1;
        self.search_from(class, order);
    }

    fn remove(&mut self, order: Order, needs: &[Need]) {
        let class = self.class_of(needs);
        self.edit(class, |tree| tree.remove(order));
        self.len -= 1;
    }

    fn head(&self) -> Option<(Order, Ticket)> {
        let (_, class) = self.heads.first()?;
        self.classes[*class].tree.first()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn changed(&mut self, account: AccountId) {
        // With nobody in the line nobody is held, and an arrival is looked at anyway.
        if self.len > 0 && !self.changed.contains(&account) {
            self.changed.push(account);
        }
    }

    fn first_fit(&mut self, accounts: &Accounts, now: Time) -> Found {
        self.notice(accounts, now);
        while let Some(&(bound, class)) = self.ready.first() {
            match self.search(class, accounts, now) {
                Search::Nobody => self.sleep(class, accounts, now),
                Search::Until(order) => {
                    self.rebound(class, order);
                    return Found::Unfinished;
                }
                Search::Found(order, ticket) => {
                    if order != bound {
                        self.rebound(class, order);
                    }
                    if self.ready.first() == Some(&(order, class)) {
                        return Found::Waiter(order, ticket);
                    }
                }
            }
        }
        Found::Nobody
    }

    fn deadline(&self, _accounts: &Accounts, now: Time) -> Horizon {
        if !self.ready.is_empty() || !self.changed.is_empty() {
            return Horizon::At(now);
        }
        self.wakes.first().map_or(Horizon::OnEvent, |(wake, _)| Horizon::At(*wake))
    }

    fn first_short(
        &self,
        account: AccountId,
        free: i128,
        behind: Option<Order>,
    ) -> Option<(Order, Ticket)> {
        let classes = self.naming.get(account.index()).into_iter().flatten();
        let first = |class: &usize| {
            let entry = &self.classes[*class];
            let place = entry.accounts.binary_search(&account).expect("the class names it");
            entry.tree.first_over(behind, place, free.max(0))
        };
        classes.filter_map(first).min()
    }

    fn count_short(&self, account: AccountId, free: i128) -> usize {
        let classes = self.naming.get(account.index()).into_iter().flatten();
        let count = |class: &usize| {
            let entry = &self.classes[*class];
            let place = entry.accounts.binary_search(&account).expect("the class names it");
            entry.tree.count_over(place, free.max(0))
        };
        classes.map(count).sum()
    }

    fn naming(&self, account: AccountId, each: &mut dyn FnMut(Order, Ticket, u64)) {
        for class in self.naming.get(account.index()).into_iter().flatten() {
            let entry = &self.classes[*class];
            let place = entry.accounts.binary_search(&account).expect("the class names it");
            entry.tree.each(&mut |order, ticket, need| each(order, ticket, need(place)));
        }
    }

    fn in_order(&self, each: &mut dyn FnMut(Order, Ticket)) {
        let mut all = Vec::with_capacity(self.len);
        for class in &self.classes {
            class.tree.each(&mut |order, ticket, _| all.push((order, ticket)));
        }
        all.sort_unstable();
        for (order, ticket) in all {
            each(order, ticket);
        }
    }
}
