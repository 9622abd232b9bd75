//! A binding: one model that an attempt is bound to, priced, with the accounts it is counted on.
//!
//! Invariants: what is reserved here is what is sent to the provider as its limit; the accounts'
//! amounts follow from the tokens, so what is charged in the end can follow from the usage.
//!
//! Not here: choosing a model (`nucleo-agents`, picker), prices (`nucleo_core::spend`).

use std::sync::Arc;

use nucleo_core::spend::{Ask, Price, ScopeId};
use nucleo_core::{AccountId, AttemptKey, Charge, Reserved, Usage};
use smallvec::SmallVec;

use super::job::JobOptions;
use crate::workflow::Place;

/// What an account of a model counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// One a request, whatever its size; kept by every answer but a rate limit's.
    Requests,
    /// Input and output tokens together.
    Tokens,
    /// Input tokens that are read at the plain price or written to a cache: what is read from a
    /// cache is not counted.
    InputTokens,
    /// Output tokens, reasoning included.
    OutputTokens,
    /// One while the call runs: a model's own limit of calls at once.
    Calls,
}

/// What the provider does with an unused reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Unused {
    /// It gives it back at the end of the call.
    #[default]
    GivenBack,
    /// It keeps it.
    Kept,
}

/// One account that a binding is counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The account.
    pub account: AccountId,
    /// What it counts.
    pub counts: Counts,
    /// How much the attempt takes.
    pub amount: u64,
}

/// One model that an attempt is bound to.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The model, as its catalog names it.
    pub model: Arc<str>,
    /// What the request may use at the most.
    pub tokens: Reserved,
    /// The accounts it is counted on.
    pub accounts: SmallVec<[Counted; 4]>,
    /// What its tokens cost; `None` where nobody knows.
    pub price: Option<Arc<Price>>,
    /// What the provider does with an unused reservation.
    pub unused: Unused,
    /// The API key that pays, by the name of its provider: a scope where a cap is set for it.
    pub key: Option<Arc<str>>,
}

impl Counted {
    /// What this account is charged for a call that used so much.
    #[must_use]
    pub const fn used(&self, usage: &Usage) -> u64 {
        match self.counts {
            Counts::Requests | Counts::Calls => self.amount,
            Counts::Tokens => usage.total(),
            Counts::InputTokens => usage.input.saturating_add(usage.cache_write),
            Counts::OutputTokens => usage.output_total(),
        }
    }

    /// The charge for a call that used so much: never less than was taken where the provider keeps
    /// what is unused.
    #[must_use]
    pub fn charge(&self, usage: &Usage, unused: Unused) -> Charge {
        Charge::Used(self.charged(usage, unused))
    }

    pub(crate) fn charged(&self, usage: &Usage, unused: Unused) -> u64 {
        let used = self.used(usage);
        match unused {
            Unused::GivenBack => used,
            Unused::Kept => used.max(self.amount),
        }
    }
}

impl Binding {
    /// The question to the spend gates.
    pub(crate) fn ask(&self, place: &Place, attempt: AttemptKey, options: &JobOptions) -> Ask {
        let mut ask = Ask::new(place.workflow_id(), Arc::clone(&self.model), self.tokens)
            .attempt(attempt)
            .agent(Arc::clone(&options.agent))
            .near_cap(options.near_cap);
        ask.price.clone_from(&self.price);
        ask.user = place.state().user().cloned();
        let key = self.key.iter().map(|key| ScopeId::Key(Arc::clone(key)));
        ask.scopes = key.chain(place.harness().days().iter().cloned()).collect();
        ask
    }
}
