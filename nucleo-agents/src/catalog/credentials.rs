//! Keys of the providers, read once at the start from where the catalog says they are.
//!
//! Invariants: a key never stands in a catalog, in an error or in a log (`Debug` shows that there
//! is one); a key that was read is not empty and fits an HTTP header.
//!
//! Not here: sending it (`providers`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::SecretString;

use super::{Catalog, KeySource, ProviderEntry};

/// The keys of a catalog's providers.
///
/// ```
/// use nucleo_agents::catalog::{Catalog, Credentials};
/// let text = "[providers.acme]\nkind = \"openai-compatible\"\napi_key_env = \"ACME_KEY\"\n";
/// let catalog = Catalog::parse("models.toml", text)?;
/// let credentials = Credentials::with_variables(&catalog, |name| {
///     (name == "ACME_KEY").then(|| "k-123".to_owned())
/// });
/// assert!(credentials.key("acme").is_ok_and(|key| key.is_some()));
/// assert!(!format!("{credentials:?}").contains("k-123"));
/// # Ok::<(), nucleo_agents::catalog::LoadError>(())
/// ```
#[derive(Clone, Default)]
pub struct Credentials {
    keys: BTreeMap<Arc<str>, Result<SecretString, NoKey>>,
}

/// Why a provider has no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoKey {
    /// The variable is not there.
    #[error("environment variable {0} is not set")]
    NotSet(Arc<str>),
    /// The file can't be read.
    #[error("key file {} can't be read ({kind})", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        kind: std::io::ErrorKind,
    },
    /// There is nothing in it.
    #[error("{0} is empty")]
    Empty(KeySource),
    /// It has blanks or characters that no key has.
    #[error("{0} holds more than a key: one line of visible ASCII is wanted")]
    NotAKey(KeySource),
}

impl Credentials {
    /// The keys in this process's environment and in the files that the catalog names.
    #[must_use]
    pub fn of_process(catalog: &Catalog) -> Self {
        Self::with_variables(catalog, |name| std::env::var(name).ok())
    }

    /// The same with variables from elsewhere, for tests and vaults.
    #[must_use]
    pub fn with_variables(catalog: &Catalog, variable: impl Fn(&str) -> Option<String>) -> Self {
        let key = |provider: &ProviderEntry| {
            let source = provider.key.as_ref()?;
            let text = match source {
                KeySource::Env(name) => {
                    variable(name).ok_or_else(|| NoKey::NotSet(Arc::clone(name)))
                }
                KeySource::File(path) => read(path),
            };
            let key = text.and_then(|text| sound(text, source));
            Some((Arc::clone(&provider.name), key))
        };
        Self { keys: catalog.providers().filter_map(key).collect() }
    }

    /// The key of a provider; `None` when it needs none.
    ///
    /// # Errors
    /// [`NoKey`] when it needs one that is not there.
    pub fn key(&self, provider: &str) -> Result<Option<&SecretString>, &NoKey> {
        self.keys.get(provider).map(Result::as_ref).transpose()
    }
}

fn read(path: &Path) -> Result<String, NoKey> {
    std::fs::read_to_string(path)
        .map_err(|error| NoKey::Unreadable { path: path.to_owned(), kind: error.kind() })
}

fn sound(text: String, source: &KeySource) -> Result<SecretString, NoKey> {
    let key = text.trim();
    if key.is_empty() {
        return Err(NoKey::Empty(source.clone()));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(NoKey::NotAKey(source.clone()));
    }
    Ok(SecretString::from(key))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |key: &Result<SecretString, NoKey>| match key {
            Ok(_) => "a key".to_owned(),
            Err(error) => error.to_string(),
        };
        f.debug_map().entries(self.keys.iter().map(|(name, key)| (name, shown(key)))).finish()
    }
}
