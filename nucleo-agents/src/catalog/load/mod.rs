//! Reads a catalog: TOML text in, a whole [`Catalog`] or every problem out.
//!
//! Two phases. The first reads each table by itself against the keys it may have; the second looks
//! at relations (pins and grades, bursts and reservations, names) among the entries that the first
//! could build. So one mistake is told once, and all mistakes are told together.
//!
//! Invariants: nothing is guessed and nothing ignored; a table's keys are listed once, where it is
//! read; numbers are read from their text.
//!
//! Where to look next: `section` (tables and fields), `problems` (lines and keys), `near` (did you
//! mean), one file per table of the catalog, `relations` (the second phase).

mod limits;
mod loopback;
mod model;
mod near;
mod pins;
mod price;
mod problems;
mod provider;
mod relations;
mod section;

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::de::DeTable;

use self::problems::Problems;
use self::section::Section;
use super::{Catalog, Grade, ModelEntry, Problem, ProviderEntry, Quota};

/// The greatest number that a catalog may state.
const NUMBER_MAX: u64 = 1_000_000_000_000_000;

/// What the first phase could build.
#[derive(Default)]
struct Draft {
    providers: Vec<ProviderEntry>,
    models: Vec<ModelEntry>,
    quotas: Vec<Quota>,
    pins: BTreeMap<Grade, Vec<Arc<str>>>,
}

/// Reads the catalog `text`; `file` is the name that problems carry.
pub(super) fn parse(file: &str, text: &str) -> Result<Catalog, Vec<Problem>> {
    let mut problems = Problems::of(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    // What comes after broken syntax is guesswork, so it is not judged.
    if problems.syntax(&errors) {
        return Err(problems.into_list());
    }
    let allowed = &["providers", "models", "quotas", "pins"];
    let root = Section::root(&mut problems, document.get_ref(), allowed);
    let mut draft = Draft::default();
    for (name, field) in root.named(&mut problems, "providers") {
        draft.providers.extend(provider::read(&mut problems, &name, &field, file));
    }
    for (name, field) in root.named(&mut problems, "quotas") {
        let limits = limits::read(&mut problems, &field);
        draft.quotas.extend(limits.map(|limits| Quota { name: name.into(), limits }));
    }
    let names = model::Names::of(&root, &draft.providers);
    for (id, field) in root.named(&mut problems, "models") {
        draft.models.extend(model::read(&mut problems, &id, &field, &names));
    }
    draft.pins = pins::read(&mut problems, &root, &names);
    relations::check(&mut problems, &draft);
    let list = problems.into_list();
    if !list.is_empty() {
        return Err(list);
    }
    Ok(Catalog::of(file, draft.providers, draft.models, draft.quotas, draft.pins))
}
