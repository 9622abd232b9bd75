//! Reads `[models.ID]`.
//!
//! Invariants: references to providers and quotas are judged against the names that stand in the
//! file, so that a mistake inside a provider is not told again at each of its models.
//!
//! Not here: limits, price and loopback tables (files of their own), relations (`relations`).

use std::sync::Arc;

use super::near::nearest;
use super::problems::Problems;
use super::section::{Field, Section};
use super::{NUMBER_MAX, limits, loopback, price};
use crate::catalog::{
    Grade, Limits, ModelEntry, ProviderEntry, ProviderKind, Reserve, Rule, Settle, Status,
};
use crate::counting::Family;

const KEYS: &[&str] = &[
    "provider",
    "wire_id",
    "identity",
    "grade",
    "context",
    "max_output",
    "limits",
    "quota",
    "settle",
    "reserve",
    "price",
    "status",
    "counter",
    "loopback",
];

/// The names that stand in the file.
pub(super) struct Names {
    providers: Vec<String>,
    /// Kinds of the providers that could be read.
    kinds: Vec<(Arc<str>, ProviderKind)>,
    quotas: Vec<String>,
    models: Vec<String>,
}

impl Names {
    pub(super) fn of(root: &Section<'_>, providers: &[ProviderEntry]) -> Self {
        let kind = |provider: &ProviderEntry| (Arc::clone(&provider.name), provider.kind);
        Self {
            providers: root.names("providers"),
            kinds: providers.iter().map(kind).collect(),
            quotas: root.names("quotas"),
            models: root.names("models"),
        }
    }

    /// The model that `field` names.
    pub(super) fn model(&self, problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Arc<str>> {
        reference(problems, field, "model", &self.models)
    }

    fn kind(&self, provider: &str) -> Option<ProviderKind> {
        self.kinds.iter().find(|(name, _)| &**name == provider).map(|(_, kind)| *kind)
    }
}

fn reference(
    problems: &mut Problems<'_>,
    field: &Field<'_>,
    kind: &'static str,
    known: &[String],
) -> Option<Arc<str>> {
    let name = field.text(problems)?;
    if known.iter().any(|other| other == name) {
        return Some(name.into());
    }
    let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
    let (name, known) = (name.to_owned(), known.to_vec());
    problems.push(&field.path, Rule::UnknownReference { kind, name, near, known });
    None
}

pub(super) fn read(
    problems: &mut Problems<'_>,
    id: &str,
    field: &Field<'_>,
    names: &Names,
) -> Option<ModelEntry> {
    let section = field.table(problems, KEYS)?;
    let provider = section
        .required(problems, "provider")
        .and_then(|field| reference(problems, &field, "provider", &names.providers));
    let wire_id = section.required(problems, "wire_id").and_then(|field| field.text(problems));
    let identity = section.optional("identity").and_then(|field| field.text(problems));
    let grades = Grade::ALL.map(|grade| (grade.name(), grade));
    let grade = section.required(problems, "grade").and_then(|field| field.word(problems, &grades));
    let (context, max_output) = window(problems, &section, &field.path);
    let (limits, quota) = limits_or_quota(problems, &section, &field.path, names);
    let price = section.optional("price").and_then(|field| price::read(problems, &field));
    let kind = provider.as_deref().and_then(|provider| names.kind(provider));
    let loopback = section.optional("loopback").and_then(|field| {
        if kind.is_some_and(|kind| kind != ProviderKind::Loopback) {
            problems.push(&field.path, Rule::NotLoopback);
        }
        loopback::read(problems, &field)
    });
    let mut entry = ModelEntry {
        id: id.into(),
        identity: identity.unwrap_or(id).into(),
        limits,
        quota,
        settle: Settle::default(),
        reserve: Reserve::default(),
        price,
        status: Status::default(),
        counter: family_of(kind),
        loopback,
        accounts: Vec::new(),
        provider: provider.unwrap_or_default(),
        wire_id: wire_id.unwrap_or_default().into(),
        grade: grade.unwrap_or(Grade::Micro),
        context: context.unwrap_or_default(),
        max_output: max_output.unwrap_or_default(),
    };
    choices(problems, &section, &mut entry);
    // What stands in for a missing or broken key never leaves: the problem is noted already.
    problems.is_clean(&field.path).then_some(entry)
}

/// The keys that choose among a few words.
fn choices(problems: &mut Problems<'_>, section: &Section<'_>, entry: &mut ModelEntry) {
    if let Some(field) = section.optional("settle") {
        let words = [("actual", Settle::Actual), ("keep", Settle::Keep)];
        entry.settle = field.word(problems, &words).unwrap_or_default();
    }
    if let Some(field) = section.optional("reserve") {
        let words = [("declared", Reserve::Declared), ("learned", Reserve::Learned)];
        entry.reserve = field.word(problems, &words).unwrap_or_default();
    }
    if let Some(field) = section.optional("counter") {
        let words = Family::ALL.map(|family| (family.name(), family));
        entry.counter = field.word(problems, &words).unwrap_or(entry.counter);
    }
    if let Some(field) = section.optional("status") {
        entry.status = status(problems, &field).unwrap_or_default();
    }
}

fn status(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Status> {
    if field.is_table() {
        let section = field.table(problems, &["closed"])?;
        let reason = section.required(problems, "closed")?.text(problems)?;
        return Some(Status::Closed(reason.into()));
    }
    // A closed entry tells its users why.
    if !field.word(problems, &[("open", true), ("closed", false)])? {
        problems.push(&field.path, Rule::ClosedWithoutReason);
        return None;
    }
    Some(Status::Open)
}

fn window(
    problems: &mut Problems<'_>,
    section: &Section<'_>,
    path: &str,
) -> (Option<u64>, Option<u64>) {
    let mut number = |key| {
        let field = section.required(problems, key)?;
        field.number(problems, 1, NUMBER_MAX)
    };
    let (context, max_output) = (number("context"), number("max_output"));
    if let (Some(context), Some(max_output)) = (context, max_output)
        && max_output > context
    {
        let rule = Rule::OutputOverContext { max_output, context };
        problems.push(&format!("{path}.max_output"), rule);
    }
    (context, max_output)
}

fn limits_or_quota(
    problems: &mut Problems<'_>,
    section: &Section<'_>,
    path: &str,
    names: &Names,
) -> (Option<Limits>, Option<Arc<str>>) {
    let (limits, quota) = (section.optional("limits"), section.optional("quota"));
    if limits.is_some() && quota.is_some() {
        problems.push(path, Rule::LimitsAndQuota);
    }
    let limits = limits.and_then(|field| limits::read(problems, &field));
    let quota = quota.and_then(|field| reference(problems, &field, "quota", &names.quotas));
    (limits, quota)
}

/// How the models of a kind of provider count, unless their `counter` says otherwise.
fn family_of(kind: Option<ProviderKind>) -> Family {
    match kind {
        Some(ProviderKind::Loopback) => Family::Loopback,
        Some(ProviderKind::OpenaiCompatible) => Family::Openai,
        Some(ProviderKind::Anthropic | ProviderKind::Bedrock) => Family::Anthropic,
        Some(ProviderKind::Ollama) | None => Family::Other,
    }
}
