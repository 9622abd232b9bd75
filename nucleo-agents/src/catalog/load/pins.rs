//! Reads `[pins]`: for each grade, the models to try first.
//!
//! Invariants: a pin names a model of the catalog, and each once.
//!
//! Not here: a pin's grade (`relations`), trying them ([`crate::picker`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::model::Names;
use super::problems::Problems;
use super::section::Section;
use crate::catalog::{Grade, Rule};

pub(super) fn read(
    problems: &mut Problems<'_>,
    root: &Section<'_>,
    names: &Names,
) -> BTreeMap<Grade, Vec<Arc<str>>> {
    let mut pins = BTreeMap::new();
    let allowed = Grade::ALL.map(Grade::name);
    let Some(section) = root.optional("pins").and_then(|field| field.table(problems, &allowed))
    else {
        return pins;
    };
    for grade in Grade::ALL {
        let Some(field) = section.optional(grade.name()) else {
            continue;
        };
        let mut pinned: Vec<Arc<str>> = Vec::new();
        for field in field.list(problems).unwrap_or_default() {
            // Each place keeps its number, so that the second phase can name it.
            let id = names.model(problems, &field).unwrap_or_default();
            if !id.is_empty() && pinned.contains(&id) {
                problems.push(&field.path, Rule::PinTwice(id.to_string()));
            }
            pinned.push(id);
        }
        pins.insert(grade, pinned);
    }
    pins
}
