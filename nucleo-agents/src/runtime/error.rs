//! Why a runtime did not start.
//!
//! Invariants: the catalog entry at fault is named; no key is.
//!
//! Not here: what is wrong inside a catalog (`catalog::LoadError`).

use std::error::Error;
use std::sync::Arc;

/// Why a runtime did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The catalog could not be loaded.
    #[error(transparent)]
    Catalog(#[from] crate::catalog::LoadError),
    /// A cap could not be set.
    #[error(transparent)]
    Cap(#[from] super::CapError),
    /// A provider of the catalog could not be set up.
    #[error("provider {provider}: can't be set up")]
    Provider {
        /// Its name in the catalog.
        provider: Arc<str>,
        /// What was wrong.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// A limit that no account can have.
    #[error("{account}: can't be an account")]
    Account {
        /// The account.
        account: Arc<str>,
        /// What was wrong.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}
