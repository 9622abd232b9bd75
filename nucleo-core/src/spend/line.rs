//! The line: attempts that only their siblings' commitments keep out.
//!
//! A waiter holds nothing. It stands in the line of one scope, the one that keeps it out, by its
//! time of arrival; nobody who waits passes an older one that stands in the line of a scope of
//! theirs. An ask that doesn't wait ([`NearCap::Refuse`](super::NearCap::Refuse)) has no place in a
//! line: the law alone decides it, so it may pass, and its refusal never hides a law that holds.
//!
//! Why nobody is stranded: the head of a line is kept out by that scope's own law, and by siblings
//! only, so money is committed there; that commitment's end stirs the scope, and a stirred line is
//! looked at from its head until one stays. A head that its scope admits, but another doesn't, goes
//! over to that one's line, at its place by arrival. Among stirred lines the oldest head is first.
//!
//! Why nobody waits in vain: every scope knows its waiters by size, whichever line they stand in,
//! so when money is spent there, those that no settlement can help are refused in that same step.
//!
//! Not here: deadlines (the shell's, which then calls [`Ledger::leave`]).

use super::ledger::{Ledger, ScopeKeys};
use super::scope::Fit;
use super::slab::Key;
use super::{Ask, Decision, Outcome};
use crate::Money;

/// One attempt in the line; a later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitId(u64);

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) ask: Ask,
    pub(super) mine: Money,
    pub(super) scopes: ScopeKeys,
    /// The scope in whose line it stands.
    pub(super) stands_in: Key,
}

impl Ledger {
    /// An attempt gives up its wait, or the outcome that it never looked at.
    ///
    /// # Panics
    /// When its outcome was polled before: from then on a commitment is settled or released.
    pub fn leave(&mut self, wait: WaitId) {
        if self.waiters.contains_key(&wait) {
            let scopes = self.remove_waiter(wait).scopes;
            self.retire(&scopes);
            self.turn();
            return;
        }
        let at = self.outcomes.iter().position(|(id, _)| *id == wait);
        let at = at.expect("a wait is left before its outcome is polled");
        if let Some((_, Outcome::Approved(commitment))) = self.outcomes.remove(at) {
            self.release(commitment);
        }
    }

    /// Approves an attempt that may wait, unless siblings or older waiters are before it.
    pub(super) fn join_line(&mut self, ask: Ask, mine: Money, scopes: ScopeKeys) -> Decision {
        let id = WaitId(self.arrivals);
        let Some(stands_in) = self.keeps_out(id, mine, &scopes) else {
            return Decision::Approved(self.commit(ask, Some(mine), scopes));
        };
        self.arrivals += 1;
        for &key in &scopes {
            self.scope_mut(key).members.insert((mine.pico(), id));
        }
        self.scope_mut(stands_in).line.insert(id);
        self.waiters.insert(id, Waiter { ask, mine, scopes, stands_in });
        Decision::Waiting(id)
    }

    /// Money was spent in a scope: refuses the waiters that this left without hope.
    pub(super) fn after_spending(&mut self, key: Key) {
        while let Some(id) = self.scope(key).hopeless() {
            self.refuse_waiter(id);
        }
        self.stirred.insert(key);
    }

    /// A cap changed: refuses the waiters that it can never admit, another currency's included.
    pub(super) fn refuse_misfits(&mut self, key: Key) {
        let scope = self.scope(key);
        let never = |id| matches!(scope.fit(Some(self.waiters[id].mine)), Fit::Never(_));
        let misfits: Vec<WaitId> =
            scope.members.iter().map(|(_, id)| id).filter(|id| never(*id)).copied().collect();
        for id in misfits {
            self.refuse_waiter(id);
        }
    }

    /// Moves the stirred lines as far as they go.
    pub(super) fn turn(&mut self) {
        while let Some((id, key)) = self.oldest_stirred_head() {
            let Waiter { mine, scopes, .. } = &self.waiters[&id];
            if self.scope(key).fit(Some(*mine)) != Fit::Yes {
                self.stirred.remove(&key);
                continue;
            }
            match self.keeps_out(id, *mine, scopes) {
                Some(other) => {
                    self.scope_mut(key).line.remove(&id);
                    self.scope_mut(other).line.insert(id);
                    self.waiters.get_mut(&id).expect("it stands in a line").stands_in = other;
                }
                None => {
                    let Waiter { ask, mine, scopes, .. } = self.remove_waiter(id);
                    let commitment = self.commit(ask, Some(mine), scopes);
                    self.outcomes.push_back((id, Outcome::Approved(commitment)));
                }
            }
        }
        self.stirred.clear();
        self.drop_retired();
    }

    /// Takes a waiter out of its line and its scopes; its line may move.
    pub(super) fn remove_waiter(&mut self, id: WaitId) -> Waiter {
        let waiter = self.waiters.remove(&id).expect("a waiter is decided once");
        for &key in &waiter.scopes {
            self.scope_mut(key).members.remove(&(waiter.mine.pico(), id));
        }
        self.scope_mut(waiter.stands_in).line.remove(&id);
        self.stirred.insert(waiter.stands_in);
        waiter
    }

    fn refuse_waiter(&mut self, id: WaitId) {
        let Waiter { ask, mine, scopes, .. } = self.remove_waiter(id);
        let (scope, why) = match self.blame(&scopes, Some(mine)) {
            Some((scope, Some(why))) => (scope, why),
            fits => unreachable!("a waiter with hope was refused: {fits:?}"),
        };
        let refusal = self.refuse(&ask, scope, why, false);
        self.retire(&scopes);
        self.outcomes.push_back((id, Outcome::Refused(refusal)));
    }

    /// The first scope that keeps a waiter out: by its law, or by an older one in its line.
    fn keeps_out(&self, id: WaitId, mine: Money, scopes: &[Key]) -> Option<Key> {
        scopes.iter().copied().find(|key| {
            let scope = self.scope(*key);
            let behind = scope.line.first().is_some_and(|head| *head < id);
            behind || scope.fit(Some(mine)) != Fit::Yes
        })
    }

    fn oldest_stirred_head(&self) -> Option<(WaitId, Key)> {
        let head = |key: &Key| Some((*self.scopes.get(*key)?.line.first()?, *key));
        self.stirred.iter().filter_map(head).min()
    }
}
