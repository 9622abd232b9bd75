//! Ranges and lengths: the rules of a schema that serde does not know.
//!
//! Checked are `minimum`, `maximum` and their exclusive forms, `minLength`, `maxLength`,
//! `minItems`, `maxItems`, through properties, list elements, references and optional values.
//!
//! Invariants: only what serde has already taken as the type is looked at, so types are not judged
//! again; of a choice of several types (`anyOf`) only the optional one is entered, since which
//! variant serde took is not known here.
//!
//! Not here: patterns and formats (the provider's strict mode, or the type's own `try_from`).

use serde_json::Value;

use super::Correction;
use super::correction::key_path;

/// The first rule of `schema` that `value` breaks.
pub(super) fn check(root: &Value, value: &Value) -> Result<(), Correction> {
    Bounds { root }.check(root, value, "")
}

struct Bounds<'s> {
    root: &'s Value,
}

impl<'s> Bounds<'s> {
    fn check(&self, schema: &'s Value, value: &Value, path: &str) -> Result<(), Correction> {
        let schema = self.resolved(schema);
        if let Some(rule) = broken(schema, value) {
            return Err(Correction::Misfit { path: path.to_owned(), rule });
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if let Some(inner) = schema["properties"].get(key) {
                        self.check(inner, value, &key_path(path, key))?;
                    }
                }
            }
            Value::Array(values) => {
                for (index, value) in values.iter().enumerate() {
                    self.check(&schema["items"], value, &format!("{path}[{index}]"))?;
                }
            }
            _ => {}
        }
        match schema["anyOf"].as_array().map(Vec::as_slice) {
            Some([inner, null] | [null, inner]) if null["type"] == "null" && !value.is_null() => {
                self.check(inner, value, path)
            }
            _ => Ok(()),
        }
    }

    fn resolved(&self, schema: &'s Value) -> &'s Value {
        let Some(reference) = schema["$ref"].as_str() else {
            return schema;
        };
        let pointer = reference.strip_prefix('#').unwrap_or_default();
        self.root.pointer(pointer).unwrap_or(&Value::Null)
    }
}

fn broken(schema: &Value, value: &Value) -> Option<String> {
    if let Some(number) = value.as_f64() {
        return RANGES.iter().find_map(|(keyword, words, holds)| {
            let bound = schema.get(keyword)?;
            (!holds(&number, &bound.as_f64()?)).then(|| format!("must be {words} {bound}"))
        });
    }
    let (length, unit, min, max) = match value {
        Value::String(text) => (text.chars().count(), "characters", "minLength", "maxLength"),
        Value::Array(values) => (values.len(), "elements", "minItems", "maxItems"),
        _ => return None,
    };
    let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
    match (bound(min), bound(max)) {
        (Some(min), _) if (length as u64) < min => Some(format!("must have at least {min} {unit}")),
        (_, Some(max)) if length as u64 > max => Some(format!("must have at most {max} {unit}")),
        _ => None,
    }
}

/// Whether a number keeps to a bound.
type Holds = fn(&f64, &f64) -> bool;

/// Keywords that bound a number, in words and in deed.
const RANGES: [(&str, &str, Holds); 4] = [
    ("minimum", "at least", f64::ge),
    ("maximum", "at most", f64::le),
    ("exclusiveMinimum", "more than", f64::gt),
    ("exclusiveMaximum", "less than", f64::lt),
];
