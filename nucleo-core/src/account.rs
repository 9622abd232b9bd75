//! The contract of an account: one counter that can be asked and debited.
//!
//! An account never makes anyone wait and never knows who waits: it says what it has, when the
//! clock alone will bring it to a level, and is told what was taken and what came back. Everything
//! about waiting is the monitor's (`admission`).
//!
//! Invariants every account keeps:
//! - asking changes nothing;
//! - `available(when(level)) >= level`, exactly, for every level that `when` gives an instant for;
//! - giving back more than was taken is a bug and panics, in release builds too.
//!
//! Not here: the accounts themselves (`limits`), the memory gate (`memory`), which is no counter.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// An account of one monitor: an index that the monitor gave out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(u32);

impl AccountId {
    /// The account at this place of its monitor's table.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The place in the monitor's table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "account {}", self.0)
    }
}

/// How what was taken comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// When the work ends: a connection, a permit.
    Held,
    /// With the clock: tokens a minute, requests a second.
    Metered,
}

/// When a level will be reached. Ordered, so that `max` over several accounts is the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Horizon {
    /// By the clock alone, at this instant.
    At(Time),
    /// Not by the clock: something has to happen first.
    OnEvent,
}

/// Whether an account takes demands at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccountState {
    /// It does; a demand that does not fit waits.
    Open,
    /// It refuses everyone, with the reason.
    Refusing(Reason),
}

/// Why an account refuses everyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Too much pushback in a row: a cooldown runs.
    CircuitOpen,
    /// The provider says that nothing is left to pay with; waiting does not help.
    OutOfCredit,
    /// It was closed by its owner.
    Closed,
}

impl Reason {
    /// The name that logs, errors and metrics print.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CircuitOpen => "circuit open",
            Self::OutOfCredit => "out of credit",
            Self::Closed => "closed",
        }
    }
}

/// What an answer says about the pace at which an account lets requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request was served.
    Success,
    /// The provider asked for a slower pace.
    Pushback {
        /// When the request left: pushback on one that left before the last step is old news.
        sent: Time,
        /// How many steps down: 1 for a rate limit, 3 for an overload.
        steps: u32,
    },
}

/// One counter that can be asked and debited.
///
/// The monitor is the only caller; it asks all accounts of a demand first and takes from all of
/// them after, so an account never sees a half-taken demand.
pub trait Account: fmt::Debug + Send {
    /// How what was taken comes back.
    fn kind(&self) -> Kind;

    /// The most that one demand may ask.
    fn capacity(&self, now: Time) -> u64;

    /// What is there now; below zero after a debit past the level.
    fn available(&self, now: Time) -> i128;

    /// The instant at which the clock alone brings [`Account::available`] to `level`.
    fn when(&self, level: i128, now: Time) -> Horizon;

    /// Open, or refusing everyone.
    fn state(&self, _now: Time) -> AccountState {
        AccountState::Open
    }

    /// Whether only the head of the line may take from it now, as a probe.
    fn head_only(&self, _now: Time) -> bool {
        false
    }

    /// Takes `amount`, which the monitor has just seen to be available.
    fn take(&mut self, amount: u64, now: Time);

    /// The work ended: `taken` was taken at the grant and `charged` is what it costs in the end. The
    /// difference comes back, or is debited unconditionally. Held accounts get `taken` back whole.
    ///
    /// # Panics
    /// When more comes back than was taken.
    fn settle(&mut self, taken: u64, charged: u64, now: Time);

    /// The work never happened: `amount` comes back whole.
    ///
    /// # Panics
    /// When more comes back than was taken.
    fn roll_back(&mut self, amount: u64, now: Time);

    /// A grant that was taken while [`Account::head_only`] held has ended; if no verdict came, the next
    /// head may probe.
    fn probe_over(&mut self, _now: Time) {}

    /// An answer says something about the pace.
    fn verdict(&mut self, _verdict: Verdict, _now: Time) {}
}
