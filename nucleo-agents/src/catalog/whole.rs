//! The whole catalog, loaded: read-only, in the order of the file.
//!
//! Invariants: every reference resolves (provider, quota, pin); ids are unique; the names of a
//! model's accounts are names in [`Catalog::accounts`].
//!
//! Not here: reading the text (`load`), the entries themselves (`model`, `provider`, `limits`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::{AccountSpec, Grade, Limits, LoadError, ModelEntry, ProviderEntry, load};

/// A deployment's models, their providers, shared quotas and pins.
///
/// ```
/// use nucleo_agents::catalog::Catalog;
/// let catalog = Catalog::loopback();
/// assert!(catalog.models().count() >= 2);
/// ```
#[derive(Clone, Debug)]
pub struct Catalog {
    name: Arc<str>,
    providers: Vec<ProviderEntry>,
    models: Vec<Arc<ModelEntry>>,
    quotas: Vec<Quota>,
    pins: BTreeMap<Grade, Vec<Arc<str>>>,
}

/// One `[quotas.NAME]` entry: limits that several models share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Quota {
    /// Its name in the catalog.
    pub name: Arc<str>,
    /// What it allows.
    pub limits: Limits,
}

impl Catalog {
    /// Reads the catalog in a file.
    ///
    /// # Errors
    /// [`LoadError`]: the file can't be read, or everything that is wrong with it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LoadError> {
        let path = path.as_ref();
        let file: Arc<str> = path.display().to_string().into();
        let text = std::fs::read_to_string(path)
            .map_err(|source| LoadError::Unreadable { file: Arc::clone(&file), source })?;
        Self::parse(&file, &text)
    }

    /// Reads the catalog in `text`; `name` is what errors call it, and relative key files count
    /// from its folder.
    ///
    /// # Errors
    /// [`LoadError::Invalid`]: everything that is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, LoadError> {
        load::parse(name, text).map_err(LoadError::Invalid)
    }

    /// The embedded catalog: models of the loopback provider, inside the process, without a key.
    ///
    /// # Panics
    /// Never: a test loads it.
    #[must_use]
    pub fn loopback() -> Self {
        Self::parse("loopback.toml", Self::LOOPBACK).expect("the embedded catalog is sound")
    }

    /// The text of the embedded catalog.
    pub const LOOPBACK: &str = include_str!("../../catalogs/loopback.toml");

    /// The text of a catalog to start from, for vendors: every key, explained, commented out.
    pub const EXAMPLE: &str = include_str!("../../catalogs/models.example.toml");

    /// The name that it was loaded by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All providers, in the order of the file.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderEntry> {
        self.providers.iter()
    }

    /// The provider `name`.
    #[must_use]
    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|provider| &*provider.name == name)
    }

    /// All models, in the order of the file.
    pub fn models(&self) -> impl Iterator<Item = &Arc<ModelEntry>> {
        self.models.iter()
    }

    /// The model `id`.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<&Arc<ModelEntry>> {
        self.models.iter().find(|model| &*model.id == id)
    }

    /// All shared quotas, in the order of the file.
    pub fn quotas(&self) -> impl Iterator<Item = &Quota> {
        self.quotas.iter()
    }

    /// The models pinned to a grade, in order.
    #[must_use]
    pub fn pins(&self, grade: Grade) -> &[Arc<str>] {
        self.pins.get(&grade).map_or(&[], Vec::as_slice)
    }

    /// All accounts to be opened: the quotas', then the models', each in the order of the file.
    #[must_use]
    pub fn accounts(&self) -> Vec<AccountSpec> {
        let quotas = self.quotas.iter().map(|quota| quota.limits.accounts(&quota.name));
        let own = |model: &Arc<ModelEntry>| Some(model.limits.as_ref()?.accounts(&model.id));
        quotas.chain(self.models.iter().filter_map(own)).flatten().collect()
    }

    /// The catalog of entries that were read and checked.
    pub(super) fn of(
        name: &str,
        providers: Vec<ProviderEntry>,
        models: Vec<ModelEntry>,
        quotas: Vec<Quota>,
        pins: BTreeMap<Grade, Vec<Arc<str>>>,
    ) -> Self {
        let mut catalog = Self { name: name.into(), providers, models: Vec::new(), quotas, pins };
        for mut model in models {
            model.accounts = catalog.account_names(&model);
            catalog.models.push(Arc::new(model));
        }
        catalog
    }

    fn account_names(&self, model: &ModelEntry) -> Vec<Arc<str>> {
        let quota = self.quotas.iter().find(|quota| Some(&quota.name) == model.quota.as_ref());
        let specs = match (&model.limits, quota) {
            (Some(limits), _) => limits.accounts(&model.id),
            (None, Some(quota)) => quota.limits.accounts(&quota.name),
            (None, None) => Vec::new(),
        };
        specs.into_iter().map(|spec| spec.name).collect()
    }
}
