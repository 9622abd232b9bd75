//! Schemas and the values generated for them, for many seeds each.

use serde_json::json;

use super::*;

fn each(schema: &Value, holds: impl Fn(&Value) -> bool) {
    for seed in 0..200 {
        let value = satisfy(schema, &mut Prose::about("the quick brown fox", seed));
        assert!(holds(&value), "seed {seed}: {value} for {schema}");
        let again = satisfy(schema, &mut Prose::about("the quick brown fox", seed));
        assert_eq!(value, again);
    }
}

#[test]
fn scalars_keep_their_bounds() {
    let between = |low: i64, high: i64| {
        move |value: &Value| value.as_i64().is_some_and(|number| (low..=high).contains(&number))
    };
    each(&json!({"type": "integer", "minimum": 3, "maximum": 5}), between(3, 5));
    each(&json!({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}), between(4, 4));
    each(&json!({"type": "integer", "maximum": -3}), between(-103, -3));
    each(&json!({"type": "integer", "minimum": -2.5, "maximum": -1.5}), between(-2, -2));
    each(&json!({"type": "integer", "minimum": 1, "maximum": 20, "multipleOf": 7}), |value| {
        matches!(value.as_i64(), Some(7 | 14))
    });
    each(
        &json!({"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255}),
        between(0, 255),
    );
    each(&json!({"type": "number", "minimum": 0.25, "maximum": 0.75}), |value| {
        value.as_f64() == Some(0.5)
    });
    each(&json!({"type": "string", "minLength": 30, "maxLength": 33}), |value| {
        value.as_str().is_some_and(|text| (30..=33).contains(&text.len()))
    });
    each(&json!({"type": "string", "maxLength": 2}), |value| value.as_str().unwrap().len() <= 2);
    each(&json!({"enum": ["a", 7, null]}), |value| {
        [json!("a"), json!(7), Value::Null].contains(value)
    });
    each(&json!({"const": {"a": 1}}), |value| *value == json!({"a": 1}));
    each(&json!({"type": ["null", "boolean"]}), Value::is_boolean);
}

#[test]
fn objects_hold_what_they_require() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2, "uniqueItems": true},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "pair": {"type": "array", "prefixItems": [{"type": "boolean"}, {"const": 1}], "maxItems": 2},
        },
        "required": ["id", "tags", "pair", "untold"],
    });
    each(&schema, |value| {
        let tags = value["tags"].as_array().unwrap();
        value["id"].as_i64() >= Some(1)
            && tags.len() == 2
            && tags[0] != tags[1]
            && value["pair"][0].is_boolean()
            && value["pair"][1] == 1
            && value.get("untold").is_some()
            && value.get("note").is_none_or(|note| note.is_string() || note.is_null())
    });
}

#[test]
fn references_are_followed_and_recursion_ends() {
    let tree = json!({
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
            },
            "required": ["name", "children", "next"],
        }},
    });
    each(&tree, |value| value["name"].is_string() && value["children"].is_array());
    let merged = json!({"allOf": [{"$ref": "#/$defs/A"}, {"type": "object", "properties": {"b": {"const": 2}}, "required": ["b"]}],
        "$defs": {"A": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}}});
    each(&merged, |value| *value == json!({"a": 1, "b": 2}));
    let endless = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
    each(&endless, Value::is_object);
}
