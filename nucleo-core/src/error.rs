//! Why a demand was not admitted.
//!
//! Invariants: each variant says what the caller does next (change the call, wait longer, stop);
//! nothing else refuses: a demand that merely does not fit waits.
//!
//! Not here: what the money wall refuses (`spend::SpendRefusal`), what a provider refuses.

use std::sync::Arc;

use crate::account::Reason;
use crate::time::Span;

/// Why a demand was not admitted. Nothing was taken, or all of it was given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmitError {
    /// It can never fit: change the call or the limit.
    #[error(
        "asks for {asked} of {account}, which never holds more than {capacity}: ask for less or raise the limit"
    )]
    LargerThanLimit {
        /// The account.
        account: Arc<str>,
        /// What was asked.
        asked: u64,
        /// The most it can hold.
        capacity: u64,
    },
    /// It waited as long as it may: wait longer, or ask for less.
    #[error("waited {waited} for {on}, its longest wait: allow a longer one or ask for less")]
    Expired {
        /// How long it waited.
        waited: Span,
        /// What it was short of, an account's name or `memory`.
        on: Arc<str>,
    },
    /// An account refuses everyone for now: come back later, or go another way.
    #[error("{account} refuses everyone: {}", .reason.name())]
    Refusing {
        /// The account.
        account: Arc<str>,
        /// Why.
        reason: Reason,
    },
    /// A user's own account failed as it was asked: mend it.
    #[error("{account}, an account of your own, failed: {cause}")]
    AccountFault {
        /// The account.
        account: Arc<str>,
        /// What its panic said.
        cause: Arc<str>,
    },
    /// The runtime is stopping: stop.
    #[error("the runtime is shutting down")]
    ShutDown,
    /// The monitor met a bug of its own and refuses everyone with it, so that nobody hangs: report it.
    #[error("admission is defective: {cause}")]
    Defective {
        /// What was wrong.
        cause: Arc<str>,
    },
}

const _: () = assert!(size_of::<AdmitError>() <= 40, "a Result of admission must stay small");

impl AdmitError {
    /// The name that logs, metrics and reports share.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::LargerThanLimit { .. } => "larger_than_limit",
            Self::Expired { .. } => "expired",
            Self::Refusing { .. } => "refusing",
            Self::AccountFault { .. } => "account_fault",
            Self::ShutDown => "shut_down",
            Self::Defective { .. } => "defective",
        }
    }
}
