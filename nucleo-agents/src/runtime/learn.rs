//! What a route's accounts learn from the heads of its answers.
//!
//! A provider's own word on a minute's quota is newer than the catalog's. Its *limit* is run at, within
//! what the catalog says (that is the deployment's word on how much it may take), and what *remains*
//! may only lower a level: others may use the same quota.
//!
//! Invariants: only a minute's accounts learn, for the headers' names mean a minute; a burst keeps its
//! share of the rate, so the headroom is kept, too.
//!
//! Not here: reading headers (`wire::limits`), the accounts' rule (`nucleo_core::limits`).

use nucleo_core::admission::Learnt;
use nucleo_core::limits::Rate;
use nucleo_core::{AccountId, Time};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::Counts;

use crate::catalog::{AccountSpec, Capacity, Period};
use crate::wire::{LimitFact, LimitFacts};

/// One account that learns, as the catalog has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learns {
    account: AccountId,
    counts: Counts,
    rate: u64,
    burst: u64,
}

impl Learns {
    /// `None` when it is no minute's account.
    pub(super) const fn of(account: AccountId, counts: Counts, spec: &AccountSpec) -> Option<Self> {
        match spec.capacity {
            Capacity::Clocked { rate, period: Period::Minute, burst } => {
                Some(Self { account, counts, rate, burst })
            }
            _ => None,
        }
    }

    /// Tells the account what the head of an answer says, of a request that left at `sent`.
    pub(super) fn hear(&self, admission: &Admission, facts: &LimitFacts, sent: Time) {
        let fact = match self.counts {
            Counts::Requests => facts.requests,
            Counts::Tokens => facts.tokens,
            Counts::InputTokens => facts.input_tokens,
            Counts::OutputTokens => facts.output_tokens,
            Counts::Calls => None,
        };
        let Some(LimitFact { limit, remaining, .. }) = fact else {
            return;
        };
        let rate = limit.filter(|limit| *limit > 0).map(|limit| self.rate_of(limit));
        let learnt = Learnt { rate, remaining, sent };
        if let Err(error) = admission.learn(self.account, learnt) {
            tracing::debug!(%error, "a limit in a header is none");
        }
    }

    /// The rate of a limit, with a burst that keeps its share.
    fn rate_of(&self, limit: u64) -> Rate {
        let limit = limit.min(self.rate);
        let burst = u128::from(self.burst) * u128::from(limit) / u128::from(self.rate);
        let burst = u64::try_from(burst).unwrap_or(u64::MAX).max(1);
        Rate::per_minute(limit).burst(burst)
    }
}
