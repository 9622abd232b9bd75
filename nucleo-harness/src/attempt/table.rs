//! What comes back, by where an attempt ended: the table, as one match.
//!
//! | ends at | metered | money |
//! | --- | --- | --- |
//! | unsent, or no connection | back, in full | released |
//! | a rate limit | back, in full; drained when no wait was named | released |
//! | answered, with usage | what was used | actual |
//! | an error, no usage | all but the request back, or kept, as the provider does | released |
//! | answered in full, no usage | spent | the reservation, an estimate |
//! | sent, no complete answer | spent | as far as reported, else the reservation; an estimate |
//!
//! Held accounts come back in every row, once the work is gone.
//!
//! Invariants: every row is reached by a test at every step that can end there (`tests/attempt`).
//!
//! Not here: carrying it out (`guard`).

use nucleo_core::spend::Booking;
use nucleo_core::{AccountId, Charge, Settlement, Usage};
use smallvec::SmallVec;

use super::binding::{Binding, Counts, Unused};
use super::signal::Ended;

/// One row: what the accounts are charged, and what the ledger books.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) charges: Charges,
    /// `None`: the commitment is released.
    pub(crate) booking: Option<Booking>,
}

/// What becomes of a binding's metered accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charges {
    RolledBack,
    Used(Usage),
    /// The request counts, its tokens come back.
    RequestOnly,
    Spent,
}

/// The table.
pub(crate) fn row(ended: Ended, reported: Option<Usage>, binding: &Binding) -> Row {
    let (charges, booking) = match (ended, reported) {
        (Ended::Unsent | Ended::CouldNotConnect | Ended::RateLimited, _) => {
            (Charges::RolledBack, None)
        }
        (Ended::WithError | Ended::InFull, Some(usage)) => {
            (Charges::Used(usage), Some(Booking::Actual(usage)))
        }
        (Ended::WithError, None) => match binding.unused {
            Unused::GivenBack => (Charges::RequestOnly, None),
            Unused::Kept => (Charges::Spent, None),
        },
        (Ended::InFull | Ended::Incomplete, None) => (Charges::Spent, Some(Booking::Reservation)),
        (Ended::Incomplete, Some(usage)) => (Charges::Spent, Some(Booking::SoFar(usage))),
    };
    Row { charges, booking }
}

impl Charges {
    /// What each of a binding's accounts is charged.
    pub(crate) fn of(self, binding: &Binding) -> impl Iterator<Item = (AccountId, u64)> + '_ {
        binding.accounts.iter().map(move |counted| {
            let charged = match self {
                Self::Used(usage) => counted.charged(&usage, binding.unused),
                Self::RequestOnly if counted.counts == Counts::Requests => counted.amount,
                Self::RolledBack | Self::RequestOnly => 0,
                Self::Spent => counted.amount,
            };
            (counted.account, charged)
        })
    }
}

/// What each account is charged, summed over all that named it: a demand merges them, so one
/// settlement has to.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    sums: SmallVec<[(AccountId, u64); 4]>,
}

impl Sums {
    /// Charges an account so much more; a provider's own number may be any.
    pub(crate) fn add(&mut self, account: AccountId, charged: u64) {
        match self.sums.iter_mut().find(|(named, _)| *named == account) {
            Some((_, sum)) => *sum = sum.saturating_add(charged),
            None => self.sums.push((account, charged)),
        }
    }

    /// Held accounts come back, metered ones are charged these sums.
    pub(crate) fn settlement(self) -> Settlement {
        self.sums.into_iter().fold(Settlement::in_full(), |settlement, (account, charged)| {
            settlement.charge(account, Charge::Used(charged))
        })
    }
}
