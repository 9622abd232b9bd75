//! Typed answers out of any text: a value that keeps its schema, or a correction that repeats none.

use std::collections::BTreeMap;

use nucleo_agents::answer::{Correction, read, schema_of};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A value that seeds hold: it must not come back in a correction.
const VALUE: &str = "hunter2valuefortest";

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Triage {
    category: Category,
    #[schemars(range(min = 1, max = 5))]
    urgency: u8,
    #[schemars(length(max = 3))]
    tags: Vec<String>,
    note: Option<String>,
    confidence: f64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Category {
    Bill,
    Complaint { about: String },
    Other(i64),
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Tree {
    name: String,
    children: Vec<Tree>,
}

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(triage) = check_as::<Triage>(&text) {
        assert!((1..=5).contains(&triage.urgency) && triage.tags.len() <= 3, "{triage:?}");
    }
    check_as::<Tree>(&text);
    check_as::<Vec<u8>>(&text);
    check_as::<Option<String>>(&text);
    // A map's keys are shown where they look like a field's name, so this one must be no key.
    if !text.contains(VALUE) {
        check_as::<BTreeMap<String, i128>>(&text);
    }
}

fn check_as<T>(text: &str) -> Option<T>
where
    T: Serialize + DeserializeOwned + JsonSchema + PartialEq + std::fmt::Debug,
{
    let schema = schema_of::<T>();
    if let Err(correction) = read::<T>(text) {
        check_correction(&correction);
    }
    match schema.read::<T>(text) {
        Ok(value) => {
            let written = serde_json::to_string(&value).expect("an answer can be written");
            assert_eq!(schema.read::<T>(&written).as_ref(), Ok(&value), "{written}");
            Some(value)
        }
        Err(correction) => {
            check_correction(&correction);
            None
        }
    }
}

fn check_correction(correction: &Correction) {
    let said = correction.to_string();
    assert!(!said.is_empty() && !said.contains(VALUE), "{said}");
}
