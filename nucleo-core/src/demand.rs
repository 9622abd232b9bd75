//! A demand: every account that one attempt must hold at once.
//!
//! Invariants: amounts on one account are merged and summed, no entry is zero, and entries are
//! sorted by account, so two demands that name the same accounts have the same shape.
//!
//! Not here: deciding (`admission`), money, which is no account (`spend`).

use smallvec::SmallVec;

use crate::account::AccountId;
use crate::admission::Order;
use crate::id::{AttemptKey, WorkflowId};
use crate::time::Span;

/// How long a job may wait in all, unless told otherwise: a day.
pub const MAX_WAIT_DEFAULT: Span = Span::from_mins(24 * 60);

/// One entry: an amount of one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The account.
    pub account: AccountId,
    /// How much of it, in the account's own unit. Never zero.
    pub amount: u64,
}

/// What one attempt must hold at once: granted whole, or waiting and holding nothing.
///
/// A demand without entries is an orchestrator's: it is granted at once, whatever the line looks
/// like, and never meets the memory gate.
///
/// ```
/// use nucleo_core::{AccountId, Demand, JobId, WorkflowId};
/// let (http, tokens) = (AccountId::from_index(0), AccountId::from_index(1));
/// let key = JobId::root(WorkflowId::from_u128(1)).attempt(1);
/// let demand = Demand::new(key).need(tokens, 900).need(http, 1).need(tokens, 100);
/// assert_eq!(demand.needs().len(), 2);
/// assert_eq!(demand.amount(tokens), 1_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    key: AttemptKey,
    needs: SmallVec<[Need; 4]>,
    /// Whose job it is; shares between workflows go by it.
    pub workflow: WorkflowId,
    /// The longest it may wait from now on.
    pub max_wait: Span,
    /// The longest the grant may live: the attempt's timeout and its grace. A lease for a remote
    /// decider; the local one does not take back what is held.
    pub hold_at_most: Span,
    /// The memory in bytes that the job is expected to take, if its size is known; zero states
    /// nothing. Only a memory gate with the adaptive profile asks, and learns what is not stated.
    pub expected_memory: u64,
    /// The place that an earlier attempt of the same job had; a retry keeps it.
    pub place: Option<Order>,
}

impl Demand {
    /// A demand that asks for nothing yet, waiting at most [`MAX_WAIT_DEFAULT`].
    #[must_use]
    pub fn new(key: AttemptKey) -> Self {
        Self {
            key,
            needs: SmallVec::new(),
            workflow: WorkflowId::default(),
            max_wait: MAX_WAIT_DEFAULT,
            hold_at_most: Span::MAX,
            expected_memory: 0,
            place: None,
        }
    }

    /// Asks for `amount` more of `account`; zero asks for nothing.
    ///
    /// # Panics
    /// When the sum on one account passes `u64::MAX`.
    #[must_use]
    pub fn need(mut self, account: AccountId, amount: u64) -> Self {
        if amount == 0 {
            return self;
        }
        match self.needs.binary_search_by_key(&account, |need| need.account) {
            Ok(at) => {
                let sum = self.needs[at].amount.checked_add(amount);
                self.needs[at].amount = sum.expect("one demand asks for more than u64::MAX");
            }
            Err(at) => self.needs.insert(at, Need { account, amount }),
        }
        self
    }

    /// Sets whose job it is.
    #[must_use]
    pub fn workflow(mut self, workflow: WorkflowId) -> Self {
        self.workflow = workflow;
        self
    }

    /// Sets the longest wait.
    #[must_use]
    pub fn max_wait(mut self, span: Span) -> Self {
        self.max_wait = span;
        self
    }

    /// Sets the longest hold.
    #[must_use]
    pub fn hold_at_most(mut self, span: Span) -> Self {
        self.hold_at_most = span;
        self
    }

    /// Sets the memory in bytes that the job is expected to take.
    #[must_use]
    pub const fn expected_memory(mut self, bytes: u64) -> Self {
        self.expected_memory = bytes;
        self
    }

    /// Keeps the place of an earlier attempt.
    #[must_use]
    pub fn place(mut self, place: Option<Order>) -> Self {
        self.place = place;
        self
    }

    /// The attempt it is for: the idempotency key.
    #[must_use]
    pub const fn key(&self) -> AttemptKey {
        self.key
    }

    /// Its entries, sorted by account.
    #[must_use]
    pub fn needs(&self) -> &[Need] {
        &self.needs
    }

    /// How much it asks of `account`; zero when it does not name it.
    #[must_use]
    pub fn amount(&self, account: AccountId) -> u64 {
        amount_of(&self.needs, account)
    }
}

/// How much `needs`, sorted by account, ask of `account`.
pub(crate) fn amount_of(needs: &[Need], account: AccountId) -> u64 {
    needs.binary_search_by_key(&account, |need| need.account).map_or(0, |at| needs[at].amount)
}
