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
//! Invariants: every row is reached by a test at every step that can end there (`tests/attempt.rs`).
//!
//! Not here: carrying it out (`guard`).

use nucleo_core::spend::Booking;
use nucleo_core::{Charge, Settlement, Usage};

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
    /// Writes the charges of a binding's accounts into a settlement.
    pub(crate) fn apply(self, binding: &Binding, settlement: Settlement) -> Settlement {
        binding.accounts.iter().fold(settlement, |settlement, counted| {
            let charge = match self {
                Self::RolledBack => Charge::RolledBack,
                Self::Used(usage) => counted.charge(&usage, binding.unused),
                Self::RequestOnly if counted.counts == Counts::Requests => {
                    Charge::Used(counted.amount)
                }
                Self::RequestOnly => Charge::RolledBack,
                Self::Spent => Charge::Used(counted.amount),
            };
            settlement.charge(counted.account, charge)
        })
    }
}
