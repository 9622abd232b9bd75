//! The second phase: what must hold between entries.
//!
//! Invariants: only entries that the first phase could build are judged, so nothing is told twice.
//!
//! Not here: what a table may say by itself (the files named after the tables).

use std::collections::BTreeSet;

use super::Draft;
use super::problems::Problems;
use super::section::join;
use crate::catalog::{AccountSpec, Dimension, ModelEntry, Rule};

pub(super) fn check(problems: &mut Problems<'_>, draft: &Draft) {
    pins(problems, draft);
    quota_names(problems, draft);
    bursts(problems, draft);
}

/// A grade is a floor, so a pin must reach it.
fn pins(problems: &mut Problems<'_>, draft: &Draft) {
    for (grade, pinned) in &draft.pins {
        for (index, id) in pinned.iter().enumerate() {
            let Some(model) = draft.models.iter().find(|model| model.id == *id) else {
                continue;
            };
            if model.grade < *grade {
                let (model, has, needs) = (id.to_string(), model.grade, *grade);
                let rule = Rule::PinBelowGrade { model, has, needs };
                problems.push(&format!("pins.{grade}[{index}]"), rule);
            }
        }
    }
}

/// Account names start with either, so the two must not share one.
fn quota_names(problems: &mut Problems<'_>, draft: &Draft) {
    for quota in &draft.quotas {
        if draft.models.iter().any(|model| model.id == quota.name) {
            problems.push(&join("quotas", &quota.name), Rule::QuotaNamedLikeModel);
        }
    }
}

/// A request that states no output must fit every account of its entry.
fn bursts(problems: &mut Problems<'_>, draft: &Draft) {
    let mut told = BTreeSet::new();
    for model in &draft.models {
        let quota = draft.quotas.iter().find(|quota| Some(&quota.name) == model.quota.as_ref());
        let (path, specs) = match (&model.limits, quota) {
            (Some(limits), _) => {
                (join(&join("models", &model.id), "limits"), limits.accounts(&model.id))
            }
            (None, Some(quota)) => {
                (join("quotas", &quota.name), quota.limits.accounts(&quota.name))
            }
            (None, None) => continue,
        };
        for spec in specs {
            let reservation = reservation(model, &spec);
            let most = spec.capacity.most();
            // One entry that a quota can't serve is enough to send its author there.
            if most < reservation && told.insert(spec.name.clone()) {
                let (account, model) = (spec.name, model.id.clone());
                let rule = Rule::BurstBelowReservation { account, most, reservation, model };
                problems.push(&join(&path, spec.limit), rule);
            }
        }
    }
}

/// What a request that states no output takes from an account at least.
fn reservation(model: &ModelEntry, spec: &AccountSpec) -> u64 {
    match spec.dimension {
        Dimension::Requests | Dimension::Concurrent | Dimension::InputTokens => 1,
        Dimension::OutputTokens | Dimension::Tokens => model.output_default(),
    }
}
