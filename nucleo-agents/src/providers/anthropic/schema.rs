//! A schema as this wire takes it: as the format of the output, or as the input of a tool.
//!
//! The format takes a part of JSON Schema: closed objects, no ranges and lengths, nothing that
//! contains itself, at most [`UNIONS_MAX`] fields of more than one type and [`OPTIONAL_MAX`] that may
//! be absent. Objects are closed here, which narrows what may be answered to a part of what is
//! allowed. Ranges and lengths are taken out and said in the description instead: the answer is
//! judged by all of the schema when it is read. What is left (maps, tuples, recursion) goes as the
//! input of a tool, which may be any schema of an object and is not enforced.
//!
//! Invariants: what a format allows, the schema allows, but for ranges and lengths; a schema that is
//! fit already is sent as it is.
//!
//! Not here: narrowing a type's schema (`answer::schema`), judging an answer (`answer::judge`).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::AnswerForm;

/// In which way a schema is shown.
#[derive(Debug, PartialEq)]
pub(super) enum Shown<'a> {
    /// As the format of the output.
    Format(Cow<'a, Value>),
    /// As the input of a tool that must be called.
    Tool(&'a Value),
}

impl<'a> Shown<'a> {
    pub(super) fn of(schema: &'a Value, form: AnswerForm) -> Self {
        match form {
            AnswerForm::Format => fitted(schema).map_or(Self::Tool(schema), Self::Format),
            AnswerForm::Tool => Self::Tool(schema),
        }
    }
}

/// Fields of more than one type that a format may have in all.
const UNIONS_MAX: usize = 16;
/// Fields that may be absent, in all.
const OPTIONAL_MAX: usize = 24;

/// Keywords that a format takes, whatever their value.
const TAKEN: &[&str] = &["type", "enum", "const", "required", "description", "title", "$ref"];
/// Keywords whose values are schemas by name, or a list of schemas, or one schema.
const NAMED: &[&str] = &["properties", "$defs"];
const LISTED: &[&str] = &["anyOf", "allOf"];
const ONE: &[&str] = &["items"];
/// Keywords that only narrow: they may be left out, for the answer is judged by them later.
const NARROWING: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "uniqueItems",
    "format",
];
/// Keywords that say nothing of what is allowed.
const IDLE: &[&str] = &["$schema", "default", "examples", "deprecated", "readOnly", "writeOnly"];
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema as a format takes it; `None` when nothing makes it fit.
fn fitted(schema: &Value) -> Option<Cow<'_, Value>> {
    let mut fitting = Fitting { unions: 0, optional: 0, changed: false };
    if refers_to_itself(schema) {
        return None;
    }
    let fit = fitting.node(schema)?;
    let within = fitting.unions <= UNIONS_MAX && fitting.optional <= OPTIONAL_MAX;
    let object = fit.get("type") == Some(&json!("object"));
    if !within || !object {
        return None;
    }
    Some(if fitting.changed { Cow::Owned(fit) } else { Cow::Borrowed(schema) })
}

struct Fitting {
    unions: usize,
    optional: usize,
    changed: bool,
}

impl Fitting {
    fn node(&mut self, schema: &Value) -> Option<Value> {
        let object = schema.as_object()?;
        let (mut fit, mut told) = (Map::new(), Vec::new());
        for (keyword, value) in object {
            let word = keyword.as_str();
            let kept = match word {
                "enum" if value.as_array()?.iter().any(|v| v.is_array() || v.is_object()) => {
                    return None;
                }
                _ if TAKEN.contains(&word) => Some(value.clone()),
                _ if NAMED.contains(&word) => Some(self.named(value)?),
                _ if LISTED.contains(&word) => Some(self.listed(value)?),
                _ if ONE.contains(&word) => Some(self.node(value)?),
                "additionalProperties" if *value == Value::Bool(false) => Some(value.clone()),
                // An open object may be closed; one whose other properties have a type is a map.
                "additionalProperties" if *value == Value::Bool(true) => None,
                "format" if FORMATS.iter().any(|known| value == known) => Some(value.clone()),
                "minItems" if matches!(value.as_u64(), Some(0 | 1)) => Some(value.clone()),
                _ if NARROWING.contains(&word) => {
                    told.push(format!("{word}: {value}"));
                    None
                }
                _ if IDLE.contains(&word) => None,
                _ => return None,
            };
            self.changed |= kept.is_none();
            fit.extend(kept.map(|kept| (keyword.clone(), kept)));
        }
        self.close(&mut fit)?;
        tell(&mut fit, &told);
        Some(Value::Object(fit))
    }

    fn named(&mut self, schemas: &Value) -> Option<Value> {
        let schemas = schemas.as_object()?.iter();
        let fit = schemas.map(|(name, schema)| Some((name.clone(), self.node(schema)?)));
        Some(Value::Object(fit.collect::<Option<_>>()?))
    }

    fn listed(&mut self, schemas: &Value) -> Option<Value> {
        let schemas = schemas.as_array()?.iter();
        schemas.map(|schema| self.node(schema)).collect::<Option<Vec<_>>>().map(Value::Array)
    }

    /// Closes an object; `None` where closing it would allow nothing but `{}`.
    fn close(&mut self, fit: &mut Map<String, Value>) -> Option<()> {
        let several = fit.get("type").is_some_and(Value::is_array);
        self.unions += usize::from(several || fit.contains_key("anyOf"));
        let says_what = ["type", "enum", "const", "anyOf", "allOf", "$ref"];
        if !says_what.iter().any(|keyword| fit.contains_key(*keyword)) {
            // Any JSON.
            return None;
        }
        let is_object = match fit.get("type") {
            Some(Value::Array(types)) => types.contains(&json!("object")),
            word => word == Some(&json!("object")),
        };
        if !is_object {
            return Some(());
        }
        let closed = fit.insert("additionalProperties".to_owned(), json!(false)).is_some();
        let properties = fit.get("properties").and_then(Value::as_object);
        let count = properties.map_or(0, Map::len);
        if count == 0 && !closed {
            return None;
        }
        let required = fit.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        self.optional += count.saturating_sub(required);
        self.changed |= !closed;
        Some(())
    }
}

/// What was left out, in the description.
fn tell(fit: &mut Map<String, Value>, told: &[String]) {
    if told.is_empty() {
        return;
    }
    let told = format!("({})", told.join(", "));
    let described = fit.get("description").and_then(Value::as_str);
    let described = described.map_or(told.clone(), |words| format!("{words} {told}"));
    fit.insert("description".to_owned(), described.into());
}

/// Whether a definition leads back to itself, or a reference to the root or to nowhere.
fn refers_to_itself(schema: &Value) -> bool {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    Walk { definitions, on_the_way: Vec::new(), seen: Vec::new() }.leads_back(schema)
}

struct Walk<'s> {
    definitions: Option<&'s Map<String, Value>>,
    on_the_way: Vec<&'s str>,
    /// Definitions that lead nowhere back; each is walked once.
    seen: Vec<&'s str>,
}

impl<'s> Walk<'s> {
    fn leads_back(&mut self, schema: &'s Value) -> bool {
        match schema {
            Value::Array(values) => values.iter().any(|value| self.leads_back(value)),
            Value::Object(object) => {
                object.get("$ref").and_then(Value::as_str).is_some_and(|to| self.follows(to))
                    || object.values().any(|value| self.leads_back(value))
            }
            _ => false,
        }
    }

    fn follows(&mut self, to: &'s str) -> bool {
        let name = to.strip_prefix("#/$defs/").filter(|name| !self.on_the_way.contains(name));
        let Some(name) = name else { return true };
        if self.seen.contains(&name) {
            return false;
        }
        let definition = self.definitions.and_then(|definitions| definitions.get(name));
        let Some(definition) = definition else { return true };
        self.on_the_way.push(name);
        let back = self.leads_back(definition);
        self.on_the_way.pop();
        self.seen.push(name);
        back
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
