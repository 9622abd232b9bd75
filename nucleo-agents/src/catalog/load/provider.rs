//! Reads `[providers.NAME]`.
//!
//! Invariants: a key is only ever named, never present; a value that might be a key pasted by
//! mistake is not echoed.
//!
//! Not here: reading the key itself (`credentials`).

use std::path::Path;
use std::sync::Arc;

use super::NUMBER_MAX;
use super::problems::Problems;
use super::section::{Field, Section};
use crate::catalog::{KeySource, ProviderEntry, ProviderKind, Rule};

const KEYS: &[&str] = &["kind", "api_key_env", "api_key_file", "base_url", "max_connections"];

pub(super) fn read(
    problems: &mut Problems<'_>,
    name: &str,
    field: &Field<'_>,
    file: &str,
) -> Option<ProviderEntry> {
    let section = field.table(problems, KEYS)?;
    let kinds = ProviderKind::ALL.map(|kind| (kind.name(), kind));
    let kind = section.required(problems, "kind").and_then(|field| field.word(problems, &kinds));
    let key = key_source(problems, &section, &field.path, file);
    let base_url = section.optional("base_url").and_then(|field| base_url(problems, &field));
    let max_connections =
        section.optional("max_connections").and_then(|field| field.number(problems, 1, NUMBER_MAX));
    let kind = kind?;
    Some(ProviderEntry { name: name.into(), kind, key, base_url, max_connections })
}

fn key_source(
    problems: &mut Problems<'_>,
    section: &Section<'_>,
    path: &str,
    file: &str,
) -> Option<KeySource> {
    let variable = section.optional("api_key_env");
    let key_file = section.optional("api_key_file");
    if variable.is_some() && key_file.is_some() {
        problems.push(path, Rule::TwoKeySources);
    }
    let variable = variable.and_then(|field| {
        let name = field.text(problems)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.chars().all(allowed) || name.starts_with(|c: char| c.is_ascii_digit()) {
            problems.push(&field.path, Rule::BadVariable);
            return None;
        }
        Some(KeySource::Env(name.into()))
    });
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let key_file = key_file.and_then(|field| field.text(problems));
    variable.or_else(|| key_file.map(|path| KeySource::File(folder.join(path))))
}

/// An address without its last slash.
fn base_url(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Arc<str>> {
    let text = field.text(problems)?;
    let sound = text.parse::<http::Uri>().is_ok_and(|uri| {
        let web = matches!(uri.scheme_str(), Some("http" | "https"));
        let host = uri.host().is_some_and(|host| !host.is_empty());
        let user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        web && host && !user && uri.query().is_none() && !text.contains('#')
    });
    if !sound {
        problems.push(&field.path, Rule::BadUrl);
        return None;
    }
    Some(text.trim_end_matches('/').into())
}
