//! What does not fit: serde's errors in words for a model.
//!
//! Invariants: a value never enters the words; what a type's own `Deserialize` says (a `try_from`)
//! is passed on unless it repeats a part of the answer; types are named as JSON names them.
//!
//! Not here: walking the value (`judge`).

use std::fmt;

use serde::de::{self, Expected, Unexpected};
use serde_json::Value;

use super::Correction;
use super::correction::inside;

/// What does not fit, and where.
#[derive(Debug)]
pub(super) struct Misfit {
    path: String,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// Put together here.
    Ours(String),
    /// Said by a type.
    Theirs(String),
}

impl Misfit {
    pub(super) fn ours(rule: String) -> Self {
        Self { path: String::new(), rule: Rule::Ours(rule) }
    }

    /// What the model is told; `value` is the whole answer, of which nothing is repeated.
    pub(super) fn correction(self, value: &Value) -> Correction {
        let rule = match self.rule {
            Rule::Ours(rule) => rule,
            Rule::Theirs(said) if repeats(&said, value) => {
                "breaks a rule of its type: see the schema".to_owned()
            }
            Rule::Theirs(said) => format!("is not accepted: {said}"),
        };
        Correction::Misfit { path: self.path, rule }
    }

    /// The same, seen from the parent whose step is `step`.
    pub(super) fn under(self, step: &str) -> Self {
        Self { path: inside(step, &self.path), ..self }
    }
}

impl std::error::Error for Misfit {}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Rule::Ours(rule) | Rule::Theirs(rule) => f.write_str(rule),
        }
    }
}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(said: T) -> Self {
        Self { path: String::new(), rule: Rule::Theirs(said.to_string()) }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::ours(format!("must be {}, not {}", wanted(expected), kind(&found)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::ours(format!("must be {}", wanted(expected)))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::ours(format!("must be {}, not of length {length}", wanted(expected)))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::ours(format!("must be one of {}", list(expected)))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::ours(format!("has a field that is not asked: only {} are", list(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::ours("is missing".to_owned()).under(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::ours("stands there twice".to_owned()).under(field)
    }
}

pub(super) fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// What a visitor expects, in words that need no Rust.
fn wanted(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    let whole = |min: i128, max: u128| format!("a whole number from {min} to {max}");
    match said.as_str() {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => whole(0, u64::MAX.into()),
        "i8" => whole(i8::MIN.into(), 127),
        "i16" => whole(i16::MIN.into(), 32_767),
        "i32" => whole(i32::MIN.into(), 2_147_483_647),
        "i64" | "isize" => whole(i64::MIN.into(), 9_223_372_036_854_775_807),
        "u128" | "i128" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" | "a borrowed string" | "string" => "text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "unit" => "null".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        _ if said.starts_with("struct ") => "an object".to_owned(),
        _ if said.starts_with("enum ") => "one of the variants in the schema".to_owned(),
        _ if said.starts_with("tuple struct ") => "a list".to_owned(),
        _ => said,
    }
}

fn kind(found: &Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a decimal number",
        Unexpected::Char(_) | Unexpected::Str(_) => "text",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        _ => "something else",
    }
}

/// Whether a type's own message repeats a part of the answer.
fn repeats(said: &str, value: &Value) -> bool {
    let holds = |part: &str| match part.trim() {
        "" => false,
        // A digit or a letter stands in many a sentence: only as a word of its own does it count.
        short if short.len() < 3 => {
            said.split(|c: char| !c.is_alphanumeric()).any(|word| word == short)
        }
        long => {
            let start: String = long.chars().take(8).collect();
            said.contains(start.as_str())
        }
    };
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => holds(&number.to_string()),
        Value::String(text) => holds(text),
        Value::Array(values) => values.iter().any(|value| repeats(said, value)),
        Value::Object(map) => map.values().any(|value| repeats(said, value)),
    }
}
