//! Reads `[models.ID.loopback]`: how the loopback server plays a model.
//!
//! Keys, all optional: `first_token_ms = [80, 200]`, `per_token_us = 2_000`,
//! `output_tokens = [20, 120]`, `quota_permille = 500`, `enforced = "by_second"`,
//! `faults_permille = { overloaded = 5, reset = 1 }`.
//!
//! Invariants: ranges run from the smaller to the larger, faults add up to at most all requests.
//!
//! Not here: playing it (`providers::loopback`).

use super::problems::Problems;
use super::section::Field;
use crate::catalog::{Enforced, Faults, LoopbackEntry, Rule};

const KEYS: &[&str] = &[
    "first_token_ms",
    "per_token_us",
    "output_tokens",
    "quota_permille",
    "enforced",
    "faults_permille",
];
const FAULTS: &[&str] = &[
    "rate_limited",
    "overloaded",
    "server_error",
    "unavailable",
    "reset",
    "stall",
    "truncated",
    "no_usage",
    "malformed",
    "html",
    "out_of_credit",
    "silent",
    "keep_alive",
    "reset_at_end",
    "error_inside",
    "error_midway",
    "running_usage",
    "doubled_usage",
];
/// An hour: an answer that takes longer tests nothing.
const LATENCY_MS_MAX: u64 = 3_600_000;
const OUTPUT_TOKENS_MAX: u64 = 1_000_000;

pub(super) fn read(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<LoopbackEntry> {
    let section = field.table(problems, KEYS)?;
    let mut entry = LoopbackEntry::default();
    if let Some(field) = section.optional("first_token_ms") {
        entry.first_token_ms = range(problems, &field, 0, LATENCY_MS_MAX)?;
    }
    if let Some(field) = section.optional("per_token_us") {
        entry.per_token_us = field.number(problems, 0, LATENCY_MS_MAX)?;
    }
    if let Some(field) = section.optional("output_tokens") {
        entry.output_tokens = range(problems, &field, 1, OUTPUT_TOKENS_MAX)?;
    }
    if let Some(field) = section.optional("quota_permille") {
        entry.quota_permille = field.number(problems, 1, 1_000)?;
    }
    if let Some(field) = section.optional("enforced") {
        let words = [("as_stated", Enforced::AsStated), ("by_second", Enforced::BySecond)];
        entry.enforced = field.word(problems, &words)?;
    }
    if let Some(field) = section.optional("faults_permille") {
        entry.faults_permille = faults(problems, &field)?;
    }
    Some(entry)
}

fn range(problems: &mut Problems<'_>, field: &Field<'_>, min: u64, max: u64) -> Option<(u64, u64)> {
    let list = field.list(problems)?;
    let ends: Option<Vec<u64>> =
        list.iter().map(|field| field.number(problems, min, max)).collect();
    match ends?[..] {
        [low, high] if low <= high => Some((low, high)),
        _ => {
            problems.push(&field.path, Rule::BadRange);
            None
        }
    }
}

fn faults(problems: &mut Problems<'_>, field: &Field<'_>) -> Option<Faults> {
    let section = field.table(problems, FAULTS)?;
    let mut sum = 0;
    let mut fault = |key| {
        let share = section.optional(key).and_then(|field| field.number(problems, 0, 1_000));
        let share = share.unwrap_or(0);
        sum += share;
        share
    };
    let faults = Faults {
        rate_limited: fault("rate_limited"),
        overloaded: fault("overloaded"),
        server_error: fault("server_error"),
        unavailable: fault("unavailable"),
        reset: fault("reset"),
        stall: fault("stall"),
        truncated: fault("truncated"),
        no_usage: fault("no_usage"),
        malformed: fault("malformed"),
        html: fault("html"),
        out_of_credit: fault("out_of_credit"),
        silent: fault("silent"),
        keep_alive: fault("keep_alive"),
        reset_at_end: fault("reset_at_end"),
        error_inside: fault("error_inside"),
        error_midway: fault("error_midway"),
        running_usage: fault("running_usage"),
        doubled_usage: fault("doubled_usage"),
    };
    if sum > 1_000 {
        problems.push(&field.path, Rule::TooManyFaults { sum });
        return None;
    }
    Some(faults)
}
