//! Corrections: what a model is told about an answer that could not be taken.
//!
//! Invariants: a correction names field and rule and never holds a value of the answer; a path
//! shows only keys that look like field names.
//!
//! Not here: finding out (`judge`, `bounds`).

/// Why an answer could not be taken, as a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Correction {
    /// No JSON anywhere in the text.
    #[error("the answer holds no JSON: answer with one JSON value and nothing else")]
    NoJson,
    /// JSON that does not parse, also after fences, prose and trailing commas were taken off.
    #[error("the JSON is broken at its line {line}, column {column}: {what}")]
    Broken {
        /// Line of the JSON, from 1.
        line: usize,
        /// Column of the line, from 1.
        column: usize,
        /// What the parser missed.
        what: String,
    },
    /// JSON of another form than the one asked.
    #[error("{} {rule}", Place(.path))]
    Misfit {
        /// The field, as in `items[2].urgency`; empty for the whole answer.
        path: String,
        /// The rule, as in `must be a whole number from 0 to 255, not text`.
        rule: String,
    },
}

impl Correction {
    /// The same of something that is no answer: of `the input`.
    pub(crate) fn about(&self, whole: &str) -> String {
        match self {
            Self::Misfit { path, rule } if path.is_empty() => format!("{whole} {rule}"),
            other => other.to_string(),
        }
    }
}

struct Place<'a>(&'a str);

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            "" => f.write_str("the answer"),
            path => write!(f, "`{path}`"),
        }
    }
}

/// The path of a key inside `path`. Keys of a map are the model's own words: what does not look
/// like a field's name is shown as `*`.
pub(super) fn key_path(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let shown = if (1..=64).contains(&key.len()) && key.chars().all(plain) { key } else { "*" };
    if path.is_empty() { shown.to_owned() } else { format!("{path}.{shown}") }
}

/// The path `inner` seen from the parent whose step is `outer`.
pub(super) fn inside(outer: &str, inner: &str) -> String {
    match inner.chars().next() {
        None => outer.to_owned(),
        Some('[') => format!("{outer}{inner}"),
        Some(_) if outer.is_empty() => inner.to_owned(),
        Some(_) => format!("{outer}.{inner}"),
    }
}
