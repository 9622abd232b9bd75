//! Where an OpenAI-compatible server is, and how it likes to be spoken to.
//!
//! Not here: addresses and keys in general (`over_http::site`), where keys come from (the catalog's
//! credentials).

use std::sync::Arc;

use http::header;
use secrecy::SecretString;

use crate::providers::ConfigError;
use crate::providers::over_http::Site;
use crate::wire::WallClock;

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
    site: Site,
    /// How this server knows its own reasoning again.
    server: Arc<str>,
    dialect: Dialect,
}

impl OpenAiConfig {
    /// A server at `base_url`, without a key.
    ///
    /// # Errors
    /// [`ConfigError`] when it is no `http` or `https` address, or holds credentials.
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        let site = Site::new(base_url, path)?;
        let server = format!("openai-compatible {}", site.authority()).into();
        Ok(Self { dialect: dialect_of(site.uri().host().unwrap_or_default()), server, site })
    }

    /// With this key, sent as a bearer token. White space around it is cut, for keys from files.
    ///
    /// # Errors
    /// [`ConfigError::Key`] when it can't be sent in a header.
    pub fn api_key(mut self, key: SecretString) -> Result<Self, ConfigError> {
        self.site = self.site.key(header::AUTHORIZATION, "Bearer ", &key)?;
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
    pub fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.site = self.site.answer_bytes_max(bytes);
        self
    }

    /// With this wall clock. It is read only for a `Retry-After` that is a date, when the answer
    /// does not say what time the server has. The system's unless set.
    #[must_use]
    pub fn wall_clock(mut self, clock: WallClock) -> Self {
        self.site = self.site.wall_clock(clock);
        self
    }

    /// Where requests go.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.site.uri().to_string()
    }

    pub(super) const fn site(&self) -> &Site {
        &self.site
    }

    pub(super) const fn server(&self) -> &Arc<str> {
        &self.server
    }

    pub(super) const fn spoken(&self) -> Dialect {
        self.dialect
    }
}

fn path(base: &str) -> String {
    let base = base.strip_suffix(METHOD).unwrap_or(base);
    format!("{}{METHOD}", if base.is_empty() { "/v1" } else { base })
}

const METHOD: &str = "/chat/completions";

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
}
