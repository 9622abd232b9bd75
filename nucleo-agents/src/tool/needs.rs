//! What a tool needs.
//!
//! Invariants: all of it is granted in one step, or none.
//!
//! Not here: opening accounts (`nucleo_harness::admission`).

use nucleo_core::{AccountId, Need, Span};
use nucleo_harness::attempt::{Requirements, TIMEOUT_DEFAULT};
use smallvec::SmallVec;

/// What a tool must hold while it runs: a place in the HTTP pool, places and amounts of accounts.
///
/// ```
/// use nucleo_agents::prelude::*;
/// use nucleo_core::AccountId;
/// let geocoder = AccountId::from_index(3);
/// let needs = Needs::http().account(geocoder).amount(AccountId::from_index(4), 250);
/// assert_ne!(needs, Needs::nothing());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    http: u64,
    accounts: SmallVec<[Need; 2]>,
    timeout: Span,
}

impl Needs {
    /// Nothing: it begins at once.
    #[must_use]
    pub fn nothing() -> Self {
        Self { http: 0, accounts: SmallVec::new(), timeout: TIMEOUT_DEFAULT }
    }

    /// A place in the pool of connections.
    #[must_use]
    pub fn http() -> Self {
        Self { http: 1, ..Self::nothing() }
    }

    /// And one of this account.
    #[must_use]
    pub fn account(self, account: AccountId) -> Self {
        self.amount(account, 1)
    }

    /// And so much of this account.
    #[must_use]
    pub fn amount(mut self, account: AccountId, amount: u64) -> Self {
        self.accounts.push(Need { account, amount });
        self
    }

    /// How long it may run, from the grant (30 minutes unless told).
    #[must_use]
    pub const fn timeout(mut self, timeout: Span) -> Self {
        self.timeout = timeout;
        self
    }

    pub(super) fn requirements(&self, http: AccountId) -> Requirements {
        let place = Need { account: http, amount: self.http };
        let needs = self.accounts.iter().copied().chain((self.http > 0).then_some(place));
        Requirements { needs: needs.collect(), timeout: self.timeout, ..Requirements::default() }
    }
}
