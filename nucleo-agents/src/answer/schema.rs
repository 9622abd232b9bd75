//! The JSON schema of an answer's type, narrowed to what strict modes take.
//!
//! The subset: objects with every property required and no other allowed; no `oneOf` (written as
//! `anyOf`), no defaults, titles or number formats; a root that is an object (another type is
//! wrapped in `{"answer": …}` and unwrapped when it is read). Lengths of text are left out of what
//! is sent and checked when the answer is read.
//!
//! Invariants: an optional field stays optional by its type (`null`), not by being left out; a type
//! outside the subset (a map, a tuple, any JSON) is sent as it is, and [`SchemaMode::Loose`] says why.
//!
//! Not here: the wire's form around it (`providers`), reading an answer (`read`).

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::wire::ResponseSchema;

/// The schema of a type, made once and shared by every request of a fan-out.
///
/// ```
/// use nucleo_agents::answer::{SchemaMode, schema_of};
/// let schema = schema_of::<Vec<bool>>();
/// assert_eq!(schema.mode, SchemaMode::Strict);
/// assert_eq!(schema.schema["properties"]["answer"]["type"], "array");
/// assert_eq!(schema.read::<Vec<bool>>(r#"{"answer": [true]}"#), Ok(vec![true]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AnswerSchema {
    /// The type's name, as wires take it: letters, digits, `_` and `-`, at most 64.
    pub name: Arc<str>,
    /// The schema that is sent.
    pub schema: Arc<Value>,
    /// Whether a strict mode takes it.
    pub mode: SchemaMode,
    /// The type's own schema, whose ranges and lengths are checked when an answer is read.
    pub(super) full: Arc<Value>,
    pub(super) root: Root,
    /// The property that holds a value which is no object.
    pub(super) wrapped: &'static str,
}

/// Whether a provider's strict mode takes a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaMode {
    /// It does: the provider keeps the model to it.
    Strict,
    /// It doesn't, for the reason given: the schema is a hint, and the reading alone judges.
    Loose {
        /// What is outside the subset.
        because: &'static str,
    },
}

/// Whether the type stands at the root or inside an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    Plain,
    Wrapped,
    /// There is no value: an object without properties stands for it.
    Nothing,
}

/// The property that holds an answer which is no object.
const WRAPPED: &str = "answer";
/// The same of an input.
const WRAPPED_INPUT: &str = "input";

/// The schema of `T`.
#[must_use]
pub fn schema_of<T: JsonSchema + ?Sized>() -> AnswerSchema {
    of::<T>(WRAPPED)
}

/// The schema of `T` as the input of a tool: always an object.
pub(crate) fn input_schema_of<T: JsonSchema + ?Sized>() -> AnswerSchema {
    let schema = of::<T>(WRAPPED_INPUT);
    if schema.full.get("type") != Some(&json!("null")) {
        return schema;
    }
    let nothing = json!({
        "type": "object", "properties": {}, "required": [], "additionalProperties": false,
    });
    AnswerSchema { schema: nothing.into(), root: Root::Nothing, ..schema }
}

fn of<T: JsonSchema + ?Sized>(wrapped_in: &'static str) -> AnswerSchema {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let full = generator.into_root_schema_for::<T>().to_value();
    let mut schema = full.clone();
    let mut narrowing = Narrowing { outside: None };
    narrowing.narrow(&mut schema);
    let plain = schema.get("type") == Some(&json!("object")) && schema.get("anyOf").is_none();
    let root = if plain { Root::Plain } else { Root::Wrapped };
    if root == Root::Wrapped {
        schema = wrapped(schema, wrapped_in);
    }
    let mode = match narrowing.outside {
        None => SchemaMode::Strict,
        Some(because) => SchemaMode::Loose { because },
    };
    AnswerSchema {
        name: name_of::<T>().into(),
        schema: Arc::new(schema),
        mode,
        full: Arc::new(full),
        root,
        wrapped: wrapped_in,
    }
}

/// What a request carries of it.
impl From<&AnswerSchema> for ResponseSchema {
    fn from(answer: &AnswerSchema) -> Self {
        Self { name: Arc::clone(&answer.name), schema: Arc::clone(&answer.schema) }
    }
}

fn name_of<T: JsonSchema + ?Sized>() -> String {
    let allowed = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
    };
    let name: String = T::schema_name().chars().map(allowed).take(64).collect();
    if name.is_empty() { WRAPPED.to_owned() } else { name }
}

/// `{"answer": schema}`, with the definitions at the root, where references look for them.
fn wrapped(mut schema: Value, name: &str) -> Value {
    let definitions = schema.as_object_mut().and_then(|object| object.remove("$defs"));
    re_root(&mut schema, name);
    let mut root = json!({
        "type": "object",
        "properties": { name: schema },
        "required": [name],
        "additionalProperties": false,
    });
    if let Some(mut definitions) = definitions {
        re_root(&mut definitions, name);
        root["$defs"] = definitions;
    }
    root
}

/// References to the root now mean the wrapped property.
fn re_root(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(object) => {
            if object.get("$ref") == Some(&json!("#")) {
                object.insert("$ref".to_owned(), json!(format!("#/properties/{name}")));
            }
            object.values_mut().for_each(|schema| re_root(schema, name));
        }
        Value::Array(values) => values.iter_mut().for_each(|schema| re_root(schema, name)),
        _ => {}
    }
}

/// Keywords that say nothing to a model, or that are checked when the answer is read.
const LEFT_OUT: &[&str] = &[
    "$schema",
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "uniqueItems",
    "minLength",
    "maxLength",
];
/// Formats that strict modes know; schemars has more (`uint8`, `double`).
const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Keywords outside the subset, and what to call them.
const OUTSIDE: &[(&str, &str)] = &[
    ("prefixItems", "a tuple"),
    ("patternProperties", "a map"),
    ("propertyNames", "a map"),
    ("minProperties", "a map"),
    ("maxProperties", "a map"),
    ("unevaluatedProperties", "a flattened enum"),
    ("allOf", "a combined type"),
    ("not", "a negated type"),
    ("if", "a conditional type"),
    ("contains", "a list with a required element"),
];

struct Narrowing {
    /// The first thing outside the subset.
    outside: Option<&'static str>,
}

impl Narrowing {
    fn narrow(&mut self, schema: &mut Value) {
        let Value::Object(object) = schema else {
            self.leave("any JSON");
            return;
        };
        for keyword in LEFT_OUT {
            object.remove(*keyword);
        }
        let unknown = |format: &Value| format.as_str().is_none_or(|word| !FORMATS.contains(&word));
        if object.get("format").is_some_and(unknown) {
            object.remove("format");
        }
        if let Some(variants) = object.remove("oneOf") {
            object.insert("anyOf".to_owned(), variants);
        }
        if object.contains_key("$ref") {
            // A strict mode takes a reference by itself only.
            object.retain(|keyword, _| keyword == "$ref" || keyword == "$defs");
        } else if object.keys().all(|keyword| keyword == "description") {
            self.leave("any JSON");
        }
        for (keyword, name) in OUTSIDE {
            if object.contains_key(*keyword) {
                self.leave(name);
            }
        }
        if is_object(object) {
            self.close(object);
        }
        self.descend(object);
    }

    /// Every property required, no other allowed.
    fn close(&mut self, object: &mut Map<String, Value>) {
        let open = object.get("additionalProperties").is_some_and(|more| *more != json!(false));
        if open {
            self.leave("a map");
            return;
        }
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        let names: Vec<_> = properties.as_object().into_iter().flatten().collect();
        let names: Vec<Value> = names.into_iter().map(|(name, _)| json!(name)).collect();
        object.insert("required".to_owned(), Value::Array(names));
        object.insert("additionalProperties".to_owned(), json!(false));
    }

    fn descend(&mut self, object: &mut Map<String, Value>) {
        for keyword in ["properties", "$defs"] {
            let inner = object.get_mut(keyword).and_then(Value::as_object_mut);
            for schema in inner.into_iter().flat_map(Map::values_mut) {
                self.narrow(schema);
            }
        }
        if let Some(schema) = object.get_mut("items") {
            self.narrow(schema);
        }
        let variants = object.get_mut("anyOf").and_then(Value::as_array_mut);
        for schema in variants.into_iter().flatten() {
            self.narrow(schema);
        }
    }

    fn leave(&mut self, what: &'static str) {
        self.outside.get_or_insert(what);
    }
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(word)) => word == "object",
        Some(Value::Array(words)) => words.contains(&json!("object")),
        _ => schema.contains_key("properties"),
    }
}
