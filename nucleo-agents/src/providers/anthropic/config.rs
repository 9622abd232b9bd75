//! Where an Anthropic server is, and how it is asked for answers of a form.
//!
//! Not here: addresses and keys in general (`over_http::site`), where keys come from (the catalog's
//! credentials).

use http::HeaderName;
use secrecy::SecretString;

use crate::providers::ConfigError;
use crate::providers::over_http::Site;
use crate::wire::WallClock;

/// How an answer that must have a form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerForm {
    /// As a format of the output, which the server keeps the model to. A schema outside of what it
    /// takes (a map, a type that contains itself, more than 16 optional fields) goes the other way.
    #[default]
    Format,
    /// As the input of a tool that the model must call: for models and servers without formats.
    Tool,
}

/// An Anthropic server.
///
/// The base url is what the server's own manual calls so, with or without the `/v1` at its end; a
/// trailing slash or `/messages` is cut; a query is kept.
///
/// ```
/// use nucleo_agents::providers::anthropic::AnthropicConfig;
/// for base_url in ["https://api.anthropic.com", "https://api.anthropic.com/v1/"] {
///     let config = AnthropicConfig::new(base_url).unwrap();
///     assert_eq!(config.endpoint(), "https://api.anthropic.com/v1/messages");
/// }
/// ```
#[derive(Clone, Debug)]
pub struct AnthropicConfig {
    site: Site,
    answer_form: AnswerForm,
}

impl AnthropicConfig {
    /// Where Anthropic itself is.
    pub const BASE_URL: &str = "https://api.anthropic.com";

    /// A server at `base_url`, without a key.
    ///
    /// # Errors
    /// [`ConfigError`] when it is no `http` or `https` address, or holds credentials.
    pub fn new(base_url: &str) -> Result<Self, ConfigError> {
        Ok(Self { site: Site::new(base_url, path)?, answer_form: AnswerForm::default() })
    }

    /// With this key, sent as `x-api-key`. White space around it is cut, for keys from files.
    ///
    /// # Errors
    /// [`ConfigError::Key`] when it can't be sent in a header.
    pub fn api_key(mut self, key: SecretString) -> Result<Self, ConfigError> {
        self.site = self.site.key(HeaderName::from_static("x-api-key"), "", &key)?;
        Ok(self)
    }

    /// With answers of a form asked for so; [`AnswerForm::Format`] unless set.
    #[must_use]
    pub const fn answer_form(mut self, form: AnswerForm) -> Self {
        self.answer_form = form;
        self
    }

    /// With this bound on the size of an answer, in bytes. 64 MiB unless set.
    #[must_use]
    pub fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.site = self.site.answer_bytes_max(bytes);
        self
    }

    /// With this wall clock. It is read only for dates in headers, when the answer does not say what
    /// time the server has. The system's unless set.
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

    pub(super) const fn asked_as(&self) -> AnswerForm {
        self.answer_form
    }
}

fn path(base: &str) -> String {
    let base = base.strip_suffix(METHOD).unwrap_or(base);
    let version = if base.ends_with(VERSION) { "" } else { VERSION };
    format!("{base}{version}{METHOD}")
}

const VERSION: &str = "/v1";
const METHOD: &str = "/messages";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        for (base_url, endpoint) in [
            (AnthropicConfig::BASE_URL, "https://api.anthropic.com/v1/messages"),
            ("http://127.0.0.1:8099/v1", "http://127.0.0.1:8099/v1/messages"),
            ("http://127.0.0.1:8099/v1/messages", "http://127.0.0.1:8099/v1/messages"),
            ("https://h/anthropic/", "https://h/anthropic/v1/messages"),
            ("https://h/proxy?team=1", "https://h/proxy/v1/messages?team=1"),
            ("http://[::1]:9", "http://[::1]:9/v1/messages"),
        ] {
            assert_eq!(AnthropicConfig::new(base_url).unwrap().endpoint(), endpoint);
        }
    }

    #[test]
    fn a_key_goes_into_its_own_header() {
        let config = AnthropicConfig::new("http://h").unwrap().api_key("sk-x".into()).unwrap();
        let (name, value) = config.site().key_header().unwrap();
        assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-api-key", "sk-x"));
        assert!(value.is_sensitive());
    }
}
