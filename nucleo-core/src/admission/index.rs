//! How the line is searched: the seam between the rule and its speed.
//!
//! The monitor keeps the rule (head, set-aside, gate, refusals); an index keeps the waiters in order
//! and finds the first that fits. [`Naive`](super::Naive) looks at all of them and is the oracle
//! that any faster index is tested against.
//!
//! Invariants: `first_fit` names the smallest order whose demand fits beside the set-aside, exactly;
//! `deadline` is never later than the first instant at which the clock alone lets someone fit.
//!
//! Not here: taking, refusing, memory (`monitor`).

use std::fmt;

use super::accounts::Accounts;
use super::order::{Order, Ticket};
use crate::account::{AccountId, Horizon};
use crate::demand::Need;
use crate::time::Time;

/// The answer to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The first waiter that fits.
    Waiter(Order, Ticket),
    /// Nobody fits.
    Nobody,
    /// The search was cut short and goes on where it stopped when asked again.
    Unfinished,
}

/// A line in order, searched for the first that fits. Only this crate implements it.
pub trait Index: Default + fmt::Debug + Send {
    /// A waiter joined.
    fn insert(&mut self, order: Order, ticket: Ticket, needs: &[Need]);

    /// A waiter left.
    fn remove(&mut self, order: Order, needs: &[Need]);

    /// The smallest order of all.
    fn head(&self) -> Option<(Order, Ticket)>;

    /// How many wait.
    fn len(&self) -> usize;

    /// Nobody waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// There may be more for a follower on this account than at the last search.
    fn changed(&mut self, account: AccountId);

    /// The first waiter that fits beside what is set aside.
    fn first_fit(&mut self, accounts: &Accounts, now: Time) -> Found;

    /// When the clock alone may let someone fit.
    fn deadline(&self, accounts: &Accounts, now: Time) -> Horizon;

    /// The first waiter behind an order that names the account and needs more of it than is free.
    fn first_short(
        &self,
        account: AccountId,
        free: i128,
        behind: Option<Order>,
    ) -> Option<(Order, Ticket)>;

    /// How many waiters name the account and need more of it than is free.
    fn count_short(&self, account: AccountId, free: i128) -> usize;

    /// Calls `each` for every waiter that names the account, in no particular order.
    fn naming(&self, account: AccountId, each: &mut dyn FnMut(Order, Ticket, u64));

    /// Every waiter, in order.
    fn in_order(&self, each: &mut dyn FnMut(Order, Ticket));
}
