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
        self.line.remove(&order).expect("a waiter that leaves stood in the line");
    }

    fn head(&self) -> Option<(Order, Ticket)> {
        self.line.first_key_value().map(|(order, (ticket, _))| (*order, *ticket))
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn changed(&mut self, _account: AccountId) {}

    fn first_fit(&mut self, accounts: &Accounts, now: Time) -> Found {
        let mut fits = self
            .line
            .iter()
            .filter(|(_, (ticket, needs))| accounts.follower_fits(*ticket, needs, now));
        fits.next().map_or(Found::Nobody, |(order, (ticket, _))| Found::Waiter(*order, *ticket))
    }

    fn deadline(&self, accounts: &Accounts, now: Time) -> Horizon {
        let when =
            |(ticket, needs): &(Ticket, Vec<Need>)| accounts.follower_when(*ticket, needs, now);
        let all = self.line.values().map(when);
        all.min().unwrap_or(Horizon::OnEvent)
    }

    fn first_short(
        &self,
        account: AccountId,
        free: i128,
        behind: Option<Order>,
    ) -> Option<(Order, Ticket)> {
        let mut line = self.line.iter().filter(|(order, _)| behind.is_none_or(|b| **order > b));
        let short =
            line.find(|(_, (_, needs))| i128::from(amount_of(needs, account)) > free.max(0));
        short.map(|(order, (ticket, _))| (*order, *ticket))
    }

    fn count_short(&self, account: AccountId, free: i128) -> usize {
        let short = |needs: &[Need]| i128::from(amount_of(needs, account)) > free.max(0);
        self.line.values().filter(|(_, needs)| short(needs)).count()
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
