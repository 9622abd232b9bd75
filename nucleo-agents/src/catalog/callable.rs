//! Callable: whether an entry can be used here and now, or why not.
//!
//! Invariants: an entry is callable when it is open, its provider's kind is part of this build, and
//! the provider's key is there. What a probe found later is the picker's to know.
//!
//! Not here: which of the callable entries is used ([`crate::picker`]).

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Catalog, Credentials, ModelEntry, NoKey, ProviderKind, Status};

/// Why an entry can't be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotCallable {
    /// No such entry.
    #[error("no such model in the catalog")]
    Unknown,
    /// The catalog closed it.
    #[error("closed: {0}")]
    Closed(Arc<str>),
    /// The provider's kind is not part of this build.
    #[error("this build has no provider of kind `{0}`")]
    NotCompiled(ProviderKind),
    /// The provider's key is not there.
    #[error("{0}")]
    NoKey(NoKey),
    /// It was turned off while running.
    #[error("turned off: {0}")]
    TurnedOff(Arc<str>),
}

impl Catalog {
    /// Whether the model `id` can be called with these credentials.
    ///
    /// # Errors
    /// [`NotCallable`] says why not.
    pub fn callable(&self, id: &str, credentials: &Credentials) -> Result<(), NotCallable> {
        let model = self.model(id).ok_or(NotCallable::Unknown)?;
        self.entry_callable(model, credentials)
    }

    pub(crate) fn entry_callable(
        &self,
        model: &ModelEntry,
        credentials: &Credentials,
    ) -> Result<(), NotCallable> {
        if let Status::Closed(reason) = &model.status {
            return Err(NotCallable::Closed(Arc::clone(reason)));
        }
        let provider = self.provider(&model.provider).expect("the loader resolved every provider");
        if !provider.kind.is_compiled() {
            return Err(NotCallable::NotCompiled(provider.kind));
        }
        match credentials.key(&provider.name) {
            Ok(_) => Ok(()),
            Err(error) => Err(NotCallable::NoKey(error.clone())),
        }
    }
}

/// As its sentence.
impl Serialize for NotCallable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
