//! Protection: besides the head, on each account the oldest waiter that is short there.
//!
//! Invariants: at most one waiter is protected on an account; it meets the head's set-aside and other
//! accounts' protection, not its own; without the policy nothing here costs anything.
//!
//! Not here: when a waiter is protected (`shares`), start tags (`shares`).

use super::super::accounts::Protected;
use super::super::index::{Found, Index};
use super::super::order::{Order, Ticket};
use super::Monitor;
use super::decide::account_at;
use crate::account::Horizon;
use crate::demand::amount_of;
use crate::time::Time;

impl<I: Index> Monitor<I> {
    /// The first behind the head that fits: of the line, or of those that are protected somewhere and
    /// so meet less that is set aside.
    pub(super) fn first_follower(&mut self, now: Time) -> Option<(Order, Ticket)> {
        let found = match self.index.first_fit(&self.accounts, now) {
            Found::Waiter(order, ticket) => Some((order, ticket)),
            Found::Nobody | Found::Unfinished => None,
        };
        if self.policy.protection().is_none() {
            return found;
        }
        let fits = |protected: &Protected| {
            let needs = &self.slots.waiter(protected.ticket).needs;
            self.accounts.follower_fits(protected.ticket, needs, now)
        };
        let protected =
            (0..self.accounts.len()).filter_map(|at| self.accounts.protected(account_at(at)));
        let protected = protected.filter(fits).map(|protected| (protected.order, protected.ticket));
        found.into_iter().chain(protected).min()
    }

    /// Sees anew whom each account is protected for.
    pub(super) fn refresh_protection(&mut self, now: Time) {
        let Some(protect) = self.policy.protection() else {
            return;
        };
        let head = self.head.map(|(order, _)| order);
        for account in (0..self.accounts.len()).map(account_at) {
            let free = self.accounts.beside_head(account, now);
            let oldest = self.index.first_short(account, free, head).filter(|(order, ticket)| {
                let since = self.slots.waiter(*ticket).since;
                self.accounts.overtaking(account).protects(order.number, since, now, protect)
            });
            let protected = oldest.map(|(order, ticket)| {
                let amount = amount_of(&self.slots.waiter(ticket).needs, account);
                Protected { order, ticket, amount }
            });
            if protected != self.accounts.protected(account) {
                self.accounts.protect(account, protected);
                self.index.changed(account);
            }
        }
    }

    /// When the clock alone lets a protected waiter go, or brings it what it was short of, so that
    /// what is set aside for it is free again.
    pub(super) fn protection_deadline(&self, now: Time) -> Horizon {
        let ends = (0..self.accounts.len()).filter_map(|at| {
            let account = account_at(at);
            let protected = self.accounts.protected(account)?;
            let needs = &self.slots.waiter(protected.ticket).needs;
            let goes = self.accounts.follower_when(protected.ticket, needs, now);
            let enough = self.accounts.beside_head_when(account, protected.amount, now);
            Some(goes.min(enough))
        });
        ends.min().unwrap_or(Horizon::OnEvent)
    }
}
