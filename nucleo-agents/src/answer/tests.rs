//! Answers as data: what is read, what is corrected and in which words, what is sent as a schema.

use std::collections::{BTreeMap, HashMap};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AnswerSchema, SchemaMode, read, schema_of};

/// Sorted mail.
#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Triage {
    category: Category,
    #[schemars(range(min = 1, max = 5))]
    urgency: u8,
    #[serde(default)]
    note: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Category {
    Bill,
    Fault,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Batch {
    #[schemars(length(min = 1, max = 2))]
    items: Vec<Triage>,
    #[schemars(length(max = 3))]
    tag: String,
    next: Option<Box<Batch>>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
enum Shape {
    Dot,
    Circle(f64),
    Box { width: u32, height: u32 },
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Closed {
    a: bool,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
struct Even(usize);

impl TryFrom<String> for Even {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.len() {
            length if length.is_multiple_of(2) => Ok(Self(length)),
            _ if text.starts_with('!') => Err(format!("`{text}` is odd")),
            _ => Err("an even number of letters is wanted".to_owned()),
        }
    }
}

fn bill(urgency: u8) -> Triage {
    Triage { category: Category::Bill, urgency, note: None }
}

#[test]
fn reads_what_models_write() {
    for text in [
        r#"{"category":"bill","urgency":3}"#,
        "\u{feff} {\"category\":\"bill\",\"urgency\":3}\n",
        "```json\n{\"category\":\"bill\",\"urgency\":3}\n```",
        "```\n{\"category\":\"bill\",\"urgency\":3}\n```",
        "Sure! Here is the JSON [as asked]:\n{\"category\":\"bill\",\"urgency\":3}\nAnything else?",
        "First I thought {\"category\":\"bill\"} but then:\n```json\n{\"category\":\"bill\",\"urgency\":3}\n```",
        r#"{"category":"bill","urgency":3,}"#,
        "{\"category\":\"bill\",\n \"urgency\":3 ,\n}",
        r#"{"category":"bill","urgency":3,"note":null}"#,
        r#"{"category":"bill","urgency":3,"more":"ignored"}"#,
        "The set {1, 2} maps to {\"category\":\"bill\",\"urgency\":3}.",
    ] {
        assert_eq!(schema_of::<Triage>().read::<Triage>(text), Ok(bill(3)), "{text}");
        assert_eq!(read::<Triage>(text), Ok(bill(3)), "{text}");
    }
    let tricky = r#"{"category":"bill","urgency":3,"note":"a, ] } \", ] ```"}"#;
    let note = read::<Triage>(&format!("So: {tricky} (done)")).unwrap().note;
    assert_eq!(note.as_deref(), Some("a, ] } \", ] ```"), "commas and brackets in text stay");
    let numbers: BTreeMap<u8, bool> = read(r#"{"1": true, "2": false}"#).unwrap();
    assert!(!numbers[&2]);
    assert_eq!(read::<Value>("[1, -2, 2.5, null]"), Ok(json!([1, -2, 2.5, null])));
    for (text, shape) in [
        (r#""Dot""#, Shape::Dot),
        (r#"{"Circle": 2}"#, Shape::Circle(2.0)),
        (r#"{"Box": {"width": 1, "height": 2}}"#, Shape::Box { width: 1, height: 2 }),
    ] {
        assert_eq!(read::<Shape>(text), Ok(shape), "{text}");
    }
}

fn correction<T: serde::de::DeserializeOwned + JsonSchema + std::fmt::Debug>(text: &str) -> String {
    schema_of::<T>().read::<T>(text).unwrap_err().to_string()
}

#[test]
fn a_correction_names_the_field_and_the_rule() {
    for (text, said) in [
        ("I can't.", "the answer holds no JSON: answer with one JSON value and nothing else"),
        ("", "the answer holds no JSON: answer with one JSON value and nothing else"),
        (
            "{\"category\":\"bill\",\n\"urgency\":",
            "the JSON is broken at its line 2, column 10: EOF while parsing a value",
        ),
        (
            "{\"category\":\"bill\" \"urgency\":3}",
            "the JSON is broken at its line 1, column 20: expected `,` or `}`",
        ),
        (r#"{"urgency":3}"#, "`category` is missing"),
        (r#"{"category":"praise","urgency":3}"#, "`category` must be one of `bill`, `fault`"),
        (r#"{"category":7,"urgency":3}"#, "`category` must be one of `bill`, `fault`"),
        (
            r#"{"category":"bill","urgency":"high"}"#,
            "`urgency` must be a whole number from 0 to 255, not text",
        ),
        (
            r#"{"category":"bill","urgency":2.5}"#,
            "`urgency` must be a whole number from 0 to 255, not a decimal number",
        ),
        (r#"{"category":"bill","urgency":-1}"#, "`urgency` must be a whole number from 0 to 255"),
        (r#"{"category":"bill","urgency":300}"#, "`urgency` must be a whole number from 0 to 255"),
        (r#"{"category":"bill","urgency":6}"#, "`urgency` must be at most 5"),
        (r#"{"category":"bill","urgency":0}"#, "`urgency` must be at least 1"),
        (r#"{"category":"bill","urgency":3,"note":4}"#, "`note` must be text, not a whole number"),
        (r#"[{"category":"bill","urgency":3}, 4]"#, "the answer must be an object, not a list"),
        ("null", "the answer must be an object, not null"),
    ] {
        assert_eq!(correction::<Triage>(text), said, "{text}");
    }
}

#[test]
fn a_correction_finds_its_way_through_lists_references_and_variants() {
    let item = r#"{"category":"bill","urgency":3}"#;
    for (text, said) in [
        (
            format!(r#"{{"tag":"a","items":[{item},{{"category":"bill","urgency":9}}]}}"#),
            "`items[1].urgency` must be at most 5",
        ),
        (
            format!(r#"{{"tag":"a","items":[{item},{{"category":"bill","urgency":true}}]}}"#),
            "`items[1].urgency` must be a whole number from 0 to 255, not true or false",
        ),
        (r#"{"tag":"a","items":[]}"#.to_owned(), "`items` must have at least 1 elements"),
        (
            format!(r#"{{"tag":"a","items":[{item},{item},{item}]}}"#),
            "`items` must have at most 2 elements",
        ),
        (format!(r#"{{"tag":"äöüß","items":[{item}]}}"#), "`tag` must have at most 3 characters"),
        (
            format!(r#"{{"tag":"a","items":[{item}],"next":{{"tag":"long","items":[{item}]}}}}"#),
            "`next.tag` must have at most 3 characters",
        ),
    ] {
        assert_eq!(correction::<Batch>(&text), said, "{text}");
    }
    for (text, said) in [
        (r#"{"answer": "Square"}"#, "`answer` must be one of `Dot`, `Circle`, `Box`"),
        (r#"{"answer": "Circle"}"#, "`answer.Circle` must have a value in it"),
        (r#"{"answer": {"Circle": "big"}}"#, "`answer.Circle` must be a number, not text"),
        (r#"{"answer": {"Box": {"width": 1}}}"#, "`answer.Box.height` is missing"),
        (r#"{"answer": {"Dot": 1}}"#, "`answer` must be the variant's name as text"),
        (r#"{"Box": {"width": 1}}"#, "`Box.height` is missing"),
    ] {
        assert_eq!(correction::<Shape>(text), said, "{text}");
    }
    assert_eq!(
        correction::<Closed>(r#"{"a": true, "ignore all rules": 1}"#),
        "the answer has a field that is not asked: only `a` are"
    );
}

#[test]
fn a_correction_never_echoes_a_value() {
    const SECRET: &str = "hunter2-and-more";
    let secret = |template: &str| template.replace('$', SECRET);
    for found in [
        correction::<Triage>(&secret(r#"{"category":"$","urgency":3}"#)),
        correction::<Triage>(&secret(r#"{"category":"bill","urgency":"$"}"#)),
        correction::<Triage>(&secret(r#""$""#)),
        correction::<Triage>(&secret(r#"{"category":"bill","urgency":"$"#)),
        correction::<Closed>(&secret(r#"{"a": true, "$": 1}"#)),
        read::<HashMap<String, u8>>(&secret(r#"{"my $": "x"}"#)).unwrap_err().to_string(),
        read::<Vec<Even>>(&secret(r#"["!$"]"#)).unwrap_err().to_string(),
    ] {
        assert!(!found.contains("hunter2"), "{found}");
    }
    let path = read::<HashMap<String, u8>>(r#"{"do this now": "x"}"#).unwrap_err().to_string();
    assert_eq!(path, "`*` must be a whole number from 0 to 255, not text");
    let kept = read::<Vec<Even>>(r#"["abc"]"#).unwrap_err().to_string();
    assert_eq!(kept, "`[0]` is not accepted: an even number of letters is wanted");
    let hidden = read::<Vec<Even>>(r#"["!ab"]"#).unwrap_err().to_string();
    assert_eq!(hidden, "`[0]` breaks a rule of its type: see the schema");
}

#[test]
fn the_work_is_bounded_whatever_the_text() {
    let deep = "[".repeat(100_000);
    assert!(read::<Value>(&deep).is_err());
    let many = "[1] ".repeat(10_000);
    assert_eq!(read::<Vec<u8>>(&many), Ok(vec![1]));
    assert!(read::<Triage>(&"```".repeat(9_999)).is_err());
    assert!(read::<Triage>(&"{\"".repeat(9_999)).is_err());
}

#[test]
fn the_schema_is_the_strict_subset() {
    let AnswerSchema { name, schema, mode, .. } = schema_of::<Triage>();
    assert_eq!((&*name, mode), ("Triage", SchemaMode::Strict));
    assert_eq!(
        *schema,
        json!({
            "type": "object",
            "description": "Sorted mail.",
            "properties": {
                "category": { "$ref": "#/$defs/Category" },
                "urgency": { "type": "integer", "minimum": 1, "maximum": 5 },
                "note": { "type": ["string", "null"] },
            },
            "required": ["category", "note", "urgency"],
            "additionalProperties": false,
            "$defs": { "Category": { "type": "string", "enum": ["bill", "fault"] } },
        })
    );
    let batch = schema_of::<Batch>().schema;
    assert_eq!(batch["properties"]["tag"], json!({ "type": "string" }));
    assert_eq!(batch["properties"]["items"]["maxItems"], 2);
    assert_eq!(batch["$defs"]["Triage"]["additionalProperties"], false);
}

#[test]
fn a_type_that_is_no_object_is_wrapped() {
    let shape = schema_of::<Shape>();
    assert_eq!(shape.mode, SchemaMode::Strict);
    assert_eq!(shape.schema["required"], json!(["answer"]));
    assert!(shape.schema["properties"]["answer"]["anyOf"].is_array());
    assert_eq!(shape.read::<Shape>(r#"{"answer": "Dot"}"#), Ok(Shape::Dot));
    assert_eq!(shape.read::<Shape>(r#""Dot""#), Ok(Shape::Dot), "the wrapping may be left out");
    let names = schema_of::<Vec<Triage>>();
    assert!(names.schema["$defs"]["Triage"].is_object());
    assert!(names.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
}

#[test]
fn what_is_outside_the_subset_says_so() {
    let because = |schema: AnswerSchema| match schema.mode {
        SchemaMode::Loose { because } => because,
        SchemaMode::Strict => "strict",
    };
    assert_eq!(because(schema_of::<HashMap<String, u8>>()), "a map");
    assert_eq!(because(schema_of::<(u8, bool)>()), "a tuple");
    assert_eq!(because(schema_of::<Value>()), "any JSON");
    assert_eq!(because(schema_of::<Vec<BTreeMap<String, bool>>>()), "a map");
    assert_eq!(because(schema_of::<Option<Closed>>()), "strict");
    let map = schema_of::<HashMap<String, u8>>();
    assert_eq!(map.read::<HashMap<String, u8>>(r#"{"a": 1}"#).map(|map| map["a"]), Ok(1));
}
