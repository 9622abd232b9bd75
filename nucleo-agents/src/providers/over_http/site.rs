//! Where a server is, its key, and the bounds of its answers.
//!
//! Invariants: the key is a secret from the moment it is handed in; no error shows it, nor any part
//! of a base url that might hold one.
//!
//! Not here: where keys come from (the catalog's credentials), which header carries one (each wire's
//! `config`).

use http::{HeaderName, HeaderValue, Uri};
use secrecy::{ExposeSecret as _, SecretString};

use crate::wire::WallClock;

/// A server as an exchange needs it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    endpoint: Uri,
    key: Option<Key>,
    answer_bytes_max: usize,
    wall_clock: WallClock,
}

#[derive(Clone, Debug)]
struct Key {
    text: SecretString,
    name: HeaderName,
    /// Marked as sensitive, so that `Debug` hides it.
    value: HeaderValue,
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

impl Site {
    /// The server at `base_url`, without a key; `path` makes the whole path of the base url's own,
    /// which comes without its last slash.
    pub(crate) fn new(base_url: &str, path: impl Fn(&str) -> String) -> Result<Self, ConfigError> {
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
        let query = base.query().map_or_else(String::new, |query| format!("?{query}"));
        let endpoint = Uri::builder()
            .scheme(scheme)
            .authority(authority.as_str())
            .path_and_query(format!("{}{query}", path(base.path().trim_end_matches('/'))))
            .build()
            .map_err(|_| ConfigError::Address)?;
        Ok(Self {
            endpoint,
            key: None,
            answer_bytes_max: 64 << 20,
            wall_clock: nucleo_harness::runtime::system_wall,
        })
    }

    /// With this key in the header `name`, after `prefix`. White space around it is cut, for keys
    /// from files.
    pub(crate) fn key(
        mut self,
        name: HeaderName,
        prefix: &str,
        key: &SecretString,
    ) -> Result<Self, ConfigError> {
        let trimmed = key.expose_secret().trim();
        if trimmed.is_empty() {
            return Err(ConfigError::Key);
        }
        let mut value =
            HeaderValue::from_str(&format!("{prefix}{trimmed}")).map_err(|_| ConfigError::Key)?;
        value.set_sensitive(true);
        self.key = Some(Key { text: trimmed.into(), name, value });
        Ok(self)
    }

    pub(crate) const fn answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    pub(crate) const fn wall_clock(mut self, clock: WallClock) -> Self {
        self.wall_clock = clock;
        self
    }

    pub(crate) const fn uri(&self) -> &Uri {
        &self.endpoint
    }

    /// The host, and the port where one is said.
    pub(crate) fn authority(&self) -> &str {
        self.endpoint.authority().map_or("", |authority| authority.as_str())
    }

    pub(crate) fn key_header(&self) -> Option<(&HeaderName, &HeaderValue)> {
        self.key.as_ref().map(|key| (&key.name, &key.value))
    }

    /// The key itself, to blot it out of what servers say.
    pub(crate) fn key_text(&self) -> &str {
        self.key.as_ref().map_or("", |key| key.text.expose_secret())
    }

    pub(crate) const fn bytes_max(&self) -> usize {
        self.answer_bytes_max
    }

    pub(crate) const fn wall_clock_fn(&self) -> WallClock {
        self.wall_clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Site::new(base_url, str::to_owned).unwrap_err(), error, "{base_url}");
        }
    }

    #[test]
    fn keys_are_trimmed_checked_and_never_shown() {
        let site = Site::new("http://h", str::to_owned).unwrap();
        let name = || HeaderName::from_static("x-any");
        let keyed = site.clone().key(name(), "Bearer ", &" sk-very-secret\n".into()).unwrap();
        assert_eq!(keyed.key_text(), "sk-very-secret");
        assert_eq!(keyed.key_header().unwrap().1, "Bearer sk-very-secret");
        assert!(!format!("{keyed:?}").contains("very-secret"), "{keyed:?}");
        for bad in ["", "  ", "sk-\u{7}secret"] {
            let error = site.clone().key(name(), "", &bad.into()).unwrap_err();
            assert_eq!(error, ConfigError::Key);
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
