//! Providers of a catalog: who is asked, where, and where the key comes from.
//!
//! Invariants: a key is never part of a catalog, only the name of the variable or file that holds
//! it; a `base_url` carries no user name, password, query or fragment.
//!
//! Not here: reading a key (`credentials`), speaking to a provider (`providers`).

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

/// One `[providers.NAME]` entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProviderEntry {
    /// Its name in the catalog.
    pub name: Arc<str>,
    /// Which wire it speaks.
    pub kind: ProviderKind,
    /// Where its key comes from; `None` when it needs none.
    pub key: Option<KeySource>,
    /// Where it is; `None` means the vendor's own address, or inside the process for a loopback.
    pub base_url: Option<Arc<str>>,
    /// The most connections to it at once; `None` leaves that to the HTTP pool.
    pub max_connections: Option<u64>,
}

/// Which wire a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProviderKind {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's chat completions, as OpenAI and many others speak them.
    OpenaiCompatible,
    /// Amazon Bedrock's Converse.
    Bedrock,
    /// Ollama's own.
    Ollama,
    /// The model server of this crate.
    Loopback,
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// An environment variable of this name.
    Env(Arc<str>),
    /// A file; a relative path counts from the catalog's folder.
    File(PathBuf),
}

impl ProviderKind {
    /// All kinds that a catalog may name, compiled in or not.
    pub const ALL: [Self; 5] =
        [Self::Anthropic, Self::OpenaiCompatible, Self::Bedrock, Self::Ollama, Self::Loopback];

    /// The word used in catalogs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiCompatible => "openai-compatible",
            Self::Bedrock => "bedrock",
            Self::Ollama => "ollama",
            Self::Loopback => "loopback",
        }
    }

    /// Whether this build can speak it.
    #[must_use]
    pub const fn is_compiled(self) -> bool {
        match self {
            Self::Anthropic => cfg!(feature = "anthropic"),
            Self::OpenaiCompatible => cfg!(feature = "openai"),
            Self::Loopback => cfg!(feature = "loopback"),
            Self::Bedrock | Self::Ollama => false,
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
        }
    }
}
