//! What a server said in words, kept for a person to read.
//!
//! Invariants: at most [`ServerSaid::CHARS_MAX`] characters on one line; control characters are
//! gone; anything that looks like a key is blotted out, as is the caller's own key wherever it is
//! known. Nothing is ever decided by this text.
//!
//! Not here: typed codes, which do decide (`failure`).

use std::fmt;

/// A server's message, shortened and without keys.
///
/// ```
/// use nucleo_agents::wire::ServerSaid;
/// let said = ServerSaid::new("Incorrect API key\nprovided: sk-abc123def.");
/// assert_eq!(said.as_str(), "Incorrect API key provided: [key]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServerSaid(Box<str>);

impl ServerSaid {
    /// How much is kept.
    pub const CHARS_MAX: usize = 300;

    /// What may be kept of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self::without(text, "")
    }

    /// What may be kept of `text`, with every occurrence of `key` blotted out as well.
    #[must_use]
    pub fn without(text: &str, key: &str) -> Self {
        // A page of megabytes is cut before anything else looks at it; and then once more, so that no
        // beginning of a key stands at the first cut.
        let key_chars = key.chars().count();
        let mut head = text.chars().take(Self::CHARS_MAX * 8 + key_chars).collect::<String>();
        if !key.is_empty() {
            head = head.replace(key, BLOT);
        }
        let head: String = head.chars().take(Self::CHARS_MAX * 8).collect();
        let mut kept = String::with_capacity(head.len().min(Self::CHARS_MAX + 8));
        let mut chars = 0;
        let mut after_bearer = false;
        for word in head.split(|c: char| c.is_whitespace() || c.is_control()) {
            if word.is_empty() {
                continue;
            }
            let word = if after_bearer || looks_like_key(word) { BLOT } else { word };
            after_bearer = word.eq_ignore_ascii_case("bearer");
            if chars > 0 {
                kept.push(' ');
                chars += 1;
            }
            let room = Self::CHARS_MAX.saturating_sub(chars);
            let length = word.chars().count();
            kept.extend(word.chars().take(room));
            if length >= room {
                kept.push('…');
                break;
            }
            chars += length;
        }
        Self(kept.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What may be kept of a word that a server chose: a code, an id, a media type. Blotted out before it
/// is cut, so that no part of a key is left.
#[cfg(feature = "client")]
pub(crate) fn word(text: &str, key: &str, chars_max: usize) -> String {
    ServerSaid::without(text, key).as_str().chars().take(chars_max).collect()
}

const BLOT: &str = "[key]";

/// Keys of the providers we know start so; a word with one in it is blotted out whole.
fn looks_like_key(word: &str) -> bool {
    ["sk-", "sk_", "gsk_", "xai-", "hf_", "AIza"].iter().any(|prefix| {
        word.match_indices(prefix).any(|(at, _)| {
            let before = word[..at].chars().next_back();
            let opens = before.is_none_or(|c| !c.is_alphanumeric());
            opens
                && word[at + prefix.len()..]
                    .chars()
                    .next()
                    .is_some_and(|c| c.is_alphanumeric() || c == '*')
        })
    })
}

impl fmt::Display for ServerSaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerSaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_blotted_out() {
        for (text, kept) in [
            ("bad key (sk-proj-abc) here", "bad key [key] here"),
            ("Authorization: Bearer abcdef", "Authorization: Bearer [key]"),
            ("ask-me task-7 is fine", "ask-me task-7 is fine"),
            ("my own is hunter2, yes", "my own is [key], yes"),
        ] {
            assert_eq!(ServerSaid::without(text, "hunter2").as_str(), kept);
        }
    }

    /// Wherever the cut falls, no part of the key is left of it.
    #[test]
    fn no_cut_leaves_the_beginning_of_a_key() {
        let key = "a-key-of-some-thirty-characters-";
        for blanks in ServerSaid::CHARS_MAX * 8 - 40..ServerSaid::CHARS_MAX * 8 + 8 {
            let said = ServerSaid::without(&format!("{}{key}", " ".repeat(blanks)), key);
            let shown = said.as_str();
            assert!(BLOT.starts_with(shown.trim_end_matches('…')), "{blanks}: {shown}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let said = ServerSaid::new(&"ä".repeat(10_000));
        assert_eq!(said.as_str().chars().count(), ServerSaid::CHARS_MAX + 1);
        assert!(said.as_str().ends_with('…'));
    }
}
