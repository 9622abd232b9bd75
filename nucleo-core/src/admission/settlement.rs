//! What a grant gives back, account by account.
//!
//! Invariants: an account that is not named gives the safe answer: a held one comes back, a metered
//! one is charged what was taken.
//!
//! Not here: which of these an attempt's end calls for (`nucleo-harness`, the attempt's table).

use smallvec::SmallVec;

use crate::account::AccountId;

/// What becomes of what was taken on one account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// The work used this much: the rest comes back, or more is debited.
    Used(u64),
    /// As if it never happened: all comes back.
    RolledBack,
    /// Still held: the grant lives on with it.
    StillHeld,
}

/// How one grant ends, account by account.
///
/// ```
/// use nucleo_core::{AccountId, Charge, Settlement};
/// let tokens = AccountId::from_index(1);
/// let settlement = Settlement::in_full().charge(tokens, Charge::Used(640));
/// assert_eq!(settlement.of(tokens), Some(Charge::Used(640)));
/// assert_eq!(settlement.of(AccountId::from_index(0)), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settlement {
    charges: SmallVec<[(AccountId, Charge); 4]>,
}

impl Settlement {
    /// Held accounts come back, metered ones are charged what was taken.
    #[must_use]
    pub fn in_full() -> Self {
        Self::default()
    }

    /// Says otherwise for one account; the last word on an account holds.
    #[must_use]
    pub fn charge(mut self, account: AccountId, charge: Charge) -> Self {
        match self.charges.iter_mut().find(|(named, _)| *named == account) {
            Some(entry) => entry.1 = charge,
            None => self.charges.push((account, charge)),
        }
        self
    }

    /// What was said of an account.
    #[must_use]
    pub fn of(&self, account: AccountId) -> Option<Charge> {
        self.charges.iter().find(|(named, _)| *named == account).map(|(_, charge)| *charge)
    }
}
