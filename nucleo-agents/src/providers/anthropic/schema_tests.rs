//! What a format takes, what is made to fit, and what goes another way.

use schemars::JsonSchema;

use super::*;
use crate::answer::schema_of;

fn format(schema: &Value) -> Option<Value> {
    match Shown::of(schema, AnswerForm::Format) {
        Shown::Format(fit) => Some(fit.into_owned()),
        Shown::Tool(same) => {
            assert_eq!(same, schema);
            None
        }
    }
}

fn object(properties: Value) -> Value {
    let required: Vec<_> = properties.as_object().unwrap().keys().cloned().collect();
    json!({"type": "object", "properties": properties, "required": required,
        "additionalProperties": false})
}

#[test]
fn what_is_fit_is_sent_as_it_is() {
    let mut shared = object(json!({"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/A"}}));
    shared["$defs"] = json!({"A": object(json!({"x": {"type": ["string", "null"]}}))});
    for schema in [
        object(json!({})),
        object(json!({"a": {"type": "string", "description": "Words."}})),
        object(json!({"a": {"enum": ["x", "y"]}, "b": {"const": 1}, "c": {"type": "null"}})),
        object(json!({"a": {"type": "array", "items": {"type": "integer"}, "minItems": 1}})),
        object(json!({"a": {"type": "string", "format": "date"}})),
        shared,
    ] {
        let shown = Shown::of(&schema, AnswerForm::Format);
        assert!(matches!(shown, Shown::Format(Cow::Borrowed(_))), "{schema}: {shown:?}");
    }
}

#[test]
fn ranges_are_said_instead_and_objects_closed() {
    for (given, sent) in [
        (
            json!({"type": "integer", "minimum": 0, "maximum": 9, "description": "How many."}),
            json!({"type": "integer", "description": "How many. (maximum: 9, minimum: 0)"}),
        ),
        (
            json!({"type": "array", "items": {"type": "number"}, "minItems": 2}),
            json!({"type": "array", "items": {"type": "number"}, "description": "(minItems: 2)"}),
        ),
        (
            json!({"type": "string", "format": "color"}),
            json!({"type": "string", "description": "(format: \"color\")"}),
        ),
        (
            json!({"type": "object", "properties": {"b": {"type": "null"}}, "required": ["b"]}),
            object(json!({"b": {"type": "null"}})),
        ),
    ] {
        assert_eq!(format(&object(json!({"a": given}))), Some(object(json!({"a": sent}))));
    }
    let mut headed = object(json!({"a": {"type": "null", "default": null}}));
    headed["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    assert_eq!(format(&headed), Some(object(json!({"a": {"type": "null"}}))));
}

#[test]
fn what_no_format_takes_is_a_tools_input() {
    let many = |count: usize, field: &Value| {
        let fields = (0..count).map(|n| (format!("f{n}"), field.clone()));
        object(Value::Object(fields.collect()))
    };
    let nullable = json!({"type": ["string", "null"]});
    let mut absent = many(25, &json!({"type": "null"}));
    absent["required"] = json!([]);
    let mut recursive = object(json!({"next": {"$ref": "#/$defs/Node"}}));
    recursive["$defs"] = json!({"Node": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/Node"}]}});
    for schema in [
        json!({"type": "string"}),
        json!(true),
        object(json!({"a": {}})),
        object(json!({"a": true})),
        object(json!({"a": {"type": "object"}})),
        object(json!({"a": {"type": "object", "additionalProperties": {"type": "string"}}})),
        object(json!({"a": {"type": "array", "prefixItems": [{"type": "string"}]}})),
        object(json!({"a": {"enum": [["x"]]}})),
        object(json!({"a": {"not": {"type": "null"}}})),
        object(json!({"a": {"$ref": "#"}})),
        object(json!({"a": {"$ref": "#/$defs/Nowhere"}})),
        recursive,
        absent,
        many(17, &nullable),
    ] {
        assert_eq!(format(&schema), None, "{schema}");
    }
    assert!(format(&many(16, &nullable)).is_some());
}

#[test]
fn definitions_that_share_much_are_walked_once() {
    let mut schema = object(json!({"a": {"$ref": "#/$defs/D0"}}));
    let mut definitions = Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/$defs/D{}", n + 1)});
        definitions.insert(format!("D{n}"), object(json!({"a": next, "b": next})));
    }
    definitions.insert("D60".into(), json!({"type": "null"}));
    schema["$defs"] = Value::Object(definitions);
    assert_eq!(format(&schema).as_ref(), Some(&schema));
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Review {
    /// From 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    words: Option<String>,
    tags: Vec<Tag>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
enum Tag {
    Good,
    Other(String),
}

#[test]
fn types_of_answers_go_as_formats() {
    let schema = schema_of::<Review>();
    let fit = format(&schema.schema).expect("a plain type");
    let stars = &fit["properties"]["stars"];
    assert_eq!(stars["type"], "integer");
    assert!(stars.get("minimum").is_none(), "{stars}");
    let described = stars["description"].as_str().unwrap();
    assert!(described.contains("From 1 to 5.") && described.contains("maximum: 5"), "{described}");
    let map = schema_of::<std::collections::BTreeMap<String, u8>>();
    assert_eq!(format(&map.schema), None);
}
