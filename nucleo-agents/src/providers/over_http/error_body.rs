//! The typed body of an error, in the forms that servers use.
//!
//! Read are `{"error": {"message", "type", "code"}}`, `{"error": "words"}`, the same fields at the
//! top (with `"object": "error"`), and `{"detail": "words"}`. A code may be a number, which inside a
//! successful answer stands for the status that was meant.
//!
//! Invariants: only `type` and `code` are judged; words are kept for a person, bounded, without keys.
//!
//! Not here: the judgement (`wire::ErrorAnswer`).

use nucleo_core::Usage;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{CallFailure, ErrorAnswer, HeadFacts, ServerSaid, StreamedAfter, word};

/// What a body says about an error.
#[derive(Debug, Default)]
pub(crate) struct ErrorBody {
    kind: Option<Box<str>>,
    code: Option<Box<str>>,
    /// A numeric code that is an HTTP status of an error.
    status: Option<u16>,
    words: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Top {
    error: Value,
    detail: Value,
    message: Value,
    r#type: Value,
    code: Value,
}

impl ErrorBody {
    /// What the body of an error answer says; a body without JSON is all words.
    pub(crate) fn read(body: &[u8]) -> Self {
        Self::typed(body).unwrap_or_else(|| {
            let words = String::from_utf8_lossy(&body[..body.len().min(WORDS_BYTES_MAX)]);
            Self { words: Some(words.into_owned()), ..Self::default() }
        })
    }

    /// What a body in JSON says; `None` when it is none, or not all of it.
    pub(crate) fn typed(body: &[u8]) -> Option<Self> {
        let top: Top = serde_json::from_slice(body).ok()?;
        if !top.error.is_null() {
            return Some(Self::of(&top.error));
        }
        let fields = Self::fields(&top.message, &top.r#type, &top.code);
        Some(Self { words: fields.words.or_else(|| words(&top.detail)), ..fields })
    }

    /// What the value of an `error` field says.
    pub(crate) fn of(error: &Value) -> Self {
        match error {
            Value::Object(map) => {
                let field = |name| map.get(name).unwrap_or(&Value::Null);
                Self::fields(field("message"), field("type"), field("code"))
            }
            other => Self { words: words(other), ..Self::default() },
        }
    }

    fn fields(message: &Value, kind: &Value, code: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::String(word) => Some(word.as_str().into()),
            Value::Number(number) => Some(number.to_string().into()),
            _ => None,
        };
        let number = code.as_u64().or_else(|| code.as_str()?.parse().ok());
        Self {
            kind: text(kind),
            code: text(code),
            status: number.and_then(|n| u16::try_from(n).ok()).filter(|n| (400..600).contains(n)),
            words: words(message),
        }
    }

    /// The error of an answer with an error status.
    pub(crate) fn answered(self, head: &HeadFacts, key: &str) -> ErrorAnswer {
        ErrorAnswer { status: head.status, retry_after: head.retry_after, ..self.inside(key) }
    }

    /// The error inside an answer that began as a success.
    pub(crate) fn inside(self, key: &str) -> ErrorAnswer {
        ErrorAnswer {
            status: self.status.unwrap_or(0),
            retry_after: None,
            kind: self.kind.map(|kind| word(&kind, key, CODE_CHARS_MAX).into()),
            code: self.code.map(|code| word(&code, key, CODE_CHARS_MAX).into()),
            said: self.words.filter(|w| !w.trim().is_empty()).map(|w| ServerSaid::without(&w, key)),
        }
    }
}

/// The failure that an error inside a successful answer stands for.
pub(crate) fn streamed_error(
    inside: ErrorAnswer,
    after: StreamedAfter,
    usage: Option<Usage>,
) -> CallFailure {
    let class = inside.class();
    let ErrorAnswer { kind, code, said, .. } = inside;
    CallFailure::StreamedError { class, code: code.or(kind), after, usage, said }
}

const WORDS_BYTES_MAX: usize = 4_096;
const CODE_CHARS_MAX: usize = 64;

fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(words) => Some(words.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        for (body, kind, code, status, said) in [
            (r#"{"error":{"message":"m","type":"t","code":"c","param":null}}"#, "t", "c", 0, "m"),
            (r#"{"error":{"message":"m","code":429}}"#, "", "429", 429, "m"),
            (r#"{"error":{"message":"m","code":"503"}}"#, "", "503", 503, "m"),
            (r#"{"error":"m"}"#, "", "", 0, "m"),
            (r#"{"object":"error","message":"m","type":"t","code":40303}"#, "t", "40303", 0, "m"),
            (r#"{"detail":"m"}"#, "", "", 0, "m"),
            ("no json", "", "", 0, "no json"),
            ("", "", "", 0, ""),
        ] {
            let answer = ErrorBody::read(body.as_bytes()).inside("");
            let word = |word: &Option<Box<str>>| word.as_deref().unwrap_or("").to_owned();
            assert_eq!(
                (word(&answer.kind), word(&answer.code)),
                (kind.into(), code.into()),
                "{body}"
            );
            assert_eq!(answer.status, status, "{body}");
            assert_eq!(answer.said.as_ref().map_or("", ServerSaid::as_str), said, "{body}");
        }
    }
}
