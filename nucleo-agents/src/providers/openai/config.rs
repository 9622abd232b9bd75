//! Where an OpenAI-compatible server is, and how it likes to be spoken to.
//!
//! Invariants: the key is a secret from the moment it is handed in; no error shows it, nor any part
//! of a base url that might hold one.
//!
//! Not here: where keys come from (the catalog's credentials).

use std::sync::Arc;

use crate::wire::WallClock;
use http::{HeaderValue, Uri};
use secrecy::{ExposeSecret as _, SecretString};

/// Which of two spellings a server wants where the wire has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI's and Azure's: the output limit is `max_completion_tokens`.
    OpenAi,
    /// Everyone else's: the output limit is `max_tokens`.
    Compatible,
}

/// An OpenAI-compatible server.
///
/// The base url is what the server's own manual calls so. One without a path gets `/v1`; any other
/// path stays as it is (`https://host/openai/v1`); a trailing slash or `/chat/completions` is cut;
/// a query (`?api-version=…`) is kept.
///
/// ```
/// use nucleo_agents::providers::openai::OpenAiConfig;
/// for base_url in ["http://127.0.0.1:8099", "http://127.0.0.1:8099/v1/"] {
///     let config = OpenAiConfig::new(base_url).unwrap();
///     assert_eq!(config.endpoint(), "http://127.0.0.1:8099/v1/chat/completions");
/// }
/// ```
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    endpoint: Uri,
    /// How this server knows its own reasoning again.
    server: Arc<str>,
    dialect: Dialect,
    key: Option<SecretString>,
    authorization: Option<HeaderValue>,
    answer_bytes_max: usize,
    wall_clock: WallClock,
}

/// Why a server can't be configured so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No address.
    #[error("base_url is no address: write it as in `https://api.example.com/v1`")]
    Address,
    /// No scheme we speak.
    #[error("base_url must start with `http://` or `https://`")]
    Scheme,
    /// A user and password in the address.
    #[error("base_url holds credentials: take them out, and give the key by environment or file")]
    Credentials,
    /// A key that can't be sent.
    #[error("the API key can't be sent in a header: it is empty or holds control characters")]
    Key,
}

impl OpenAiConfig {
    /// A server at `base_url`, without a key.
    ///
    /// # Errors
    /// [`ConfigError`] when it is no `http` or `https` address, or holds credentials.
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        let base: Uri = base_url.trim().parse().map_err(|_| ConfigError::Address)?;
        let (Some(scheme), Some(authority)) = (base.scheme_str(), base.authority()) else {
            return Err(if base.host().is_some() {
                ConfigError::Scheme
            } else {
                ConfigError::Address
            });
        };
        if !matches!(scheme, "http" | "https") {
            return Err(ConfigError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(ConfigError::Credentials);
        }
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        let path = if path.is_empty() { "/v1" } else { path };
        let query = base.query().map_or_else(String::new, |query| format!("?{query}"));
        let endpoint = Uri::builder()
            .scheme(scheme)
            .authority(authority.as_str())
            .path_and_query(format!("{path}/chat/completions{query}"))
            .build()
            .map_err(|_| ConfigError::Address)?;
        Ok(Self {
            dialect: dialect_of(authority.host()),
            server: format!("openai-compatible {authority}").into(),
            endpoint,
            key: None,
            authorization: None,
            answer_bytes_max: 64 << 20,
            wall_clock: nucleo_harness::runtime::system_wall,
        })
    }

    /// With this key, sent as a bearer token. White space around it is cut, for keys from files.
    ///
    /// # Errors
    /// [`ConfigError::Key`] when it can't be sent in a header.
    pub fn api_key(mut self, key: SecretString) -> Result<Self, ConfigError> {
        let trimmed = key.expose_secret().trim();
        if trimmed.is_empty() {
            return Err(ConfigError::Key);
        }
        let mut header =
            HeaderValue::from_str(&format!("Bearer {trimmed}")).map_err(|_| ConfigError::Key)?;
        header.set_sensitive(true);
        self.authorization = Some(header);
        self.key = Some(trimmed.into());
        Ok(self)
    }

    /// With this dialect; unless set, OpenAI's for the hosts of OpenAI and Azure, else the other.
    #[must_use]
    pub const fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// With this bound on the size of an answer, in bytes. 64 MiB unless set.
    #[must_use]
    pub const fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    /// With this wall clock. It is read only for a `Retry-After` that is a date, when the answer
    /// does not say what time the server has. The system's unless set.
    #[must_use]
    pub const fn wall_clock(mut self, clock: WallClock) -> Self {
        self.wall_clock = clock;
        self
    }

    /// Where requests go.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.endpoint.to_string()
    }

    pub(super) const fn uri(&self) -> &Uri {
        &self.endpoint
    }

    pub(super) const fn server(&self) -> &Arc<str> {
        &self.server
    }

    pub(super) const fn spoken(&self) -> Dialect {
        self.dialect
    }

    pub(super) const fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }

    /// The key itself, to blot it out of what servers say.
    pub(super) fn key_text(&self) -> &str {
        self.key.as_ref().map_or("", |key| key.expose_secret())
    }

    pub(super) const fn bytes_max(&self) -> usize {
        self.answer_bytes_max
    }

    pub(super) const fn wall_clock_fn(&self) -> WallClock {
        self.wall_clock
    }
}

fn dialect_of(host: &str) -> Dialect {
    let of = |domain: &str| {
        host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    if of("openai.com") || of("openai.azure.com") || of("services.ai.azure.com") {
        return Dialect::OpenAi;
    }
    Dialect::Compatible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        for (base_url, endpoint) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com", "https://api.openai.com/v1/chat/completions"),
            ("http://h:1/openai/v1/", "http://h:1/openai/v1/chat/completions"),
            ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
            ("http://[::1]:9/v1", "http://[::1]:9/v1/chat/completions"),
            ("https://h/openai?api-version=1", "https://h/openai/chat/completions?api-version=1"),
        ] {
            assert_eq!(OpenAiConfig::new(base_url).unwrap().endpoint(), endpoint);
        }
    }

    #[test]
    fn what_is_no_base_url() {
        for (base_url, error) in [
            ("", ConfigError::Address),
            ("not an address", ConfigError::Address),
            ("/v1", ConfigError::Address),
            ("localhost:8080", ConfigError::Scheme),
            ("ftp://h/v1", ConfigError::Scheme),
            ("https://user:secret@h/v1", ConfigError::Credentials),
        ] {
            assert_eq!(OpenAiConfig::new(base_url).unwrap_err(), error, "{base_url}");
        }
    }

    #[test]
    fn dialects_follow_the_host() {
        for (base_url, dialect) in [
            ("https://api.openai.com/v1", Dialect::OpenAi),
            ("https://mine.openai.azure.com/openai/v1", Dialect::OpenAi),
            ("https://notopenai.com/v1", Dialect::Compatible),
            ("http://127.0.0.1:8000/v1", Dialect::Compatible),
        ] {
            assert_eq!(OpenAiConfig::new(base_url).unwrap().spoken(), dialect, "{base_url}");
        }
    }

    #[test]
    fn keys_are_trimmed_checked_and_never_shown() {
        let config = OpenAiConfig::new("http://h").unwrap();
        let keyed = config.clone().api_key(" sk-very-secret\n".into()).unwrap();
        assert_eq!(keyed.key_text(), "sk-very-secret");
        assert!(!format!("{keyed:?}").contains("very-secret"), "{keyed:?}");
        for bad in ["", "  ", "sk-\u{7}secret"] {
            let error = config.clone().api_key(bad.into()).unwrap_err();
            assert_eq!(error, ConfigError::Key);
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
