//! The rule as it reads: look at every waiter in order.
//!
//! Slow and plainly right, so it stays in the tree as the oracle of every faster index.
//!
//! Invariants: those of `index`.
//!
//! Not here: speed (`classes`).

use std::collections::BTreeMap;

use super::accounts::Accounts;
use super::index::{Found, Index};
use super::order::{Order, Ticket};
use crate::account::{AccountId, Horizon};
use crate::demand::{Need, amount_of};
use crate::time::Time;

/// The line as one ordered map.
#[derive(Debug, Default)]
pub struct Naive {
    line: BTreeMap<Order, (Ticket, Vec<Need>)>,
}

impl Index for Naive {
    fn insert(&mut self, order: Order, ticket: Ticket, needs: &[Need]) {
        let before = self.line.insert(order, (ticket, needs.to_vec()));
        assert!(before.is_none(), "two waiters at one place of the line");
    }

    fn remove(&mut self, order: Order, _needs: &[Need]) {
        self.line
            .remove(&order)
            .expect("a waiter that leaves stood in the line");
    }

    fn head(&self) -> Option<(Order, Ticket)> {
        self.line
            .first_key_value()
            .map(|(order, (ticket, _))| (*order, *ticket))
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn changed(&mut self, _account: AccountId) {}

    fn first_fit(&mut self, accounts: &Accounts, now: Time) -> Found {
        let mut fits = self
            .line
            .iter()
            .filter(|(_, (_, needs))| accounts.follower_fits(needs, now));
        fits.next().map_or(Found::Nobody, |(order, (ticket, _))| {
            Found::Waiter(*order, *ticket)
        })
    }

    fn deadline(&self, accounts: &Accounts, now: Time) -> Horizon {
        let all = self
            .line
            .values()
            .map(|(_, needs)| accounts.follower_when(needs, now));
        all.min().unwrap_or(Horizon::OnEvent)
    }

    fn naming(&self, account: AccountId, each: &mut dyn FnMut(Order, Ticket, u64)) {
        for (order, (ticket, needs)) in &self.line {
            let amount = amount_of(needs, account);
            if amount > 0 {
                each(*order, *ticket, amount);
            }
        }
    }

    fn in_order(&self, each: &mut dyn FnMut(Order, Ticket)) {
        for (order, (ticket, _)) in &self.line {
            each(*order, *ticket);
        }
    }
}
