//! A trace: a CSV file with one row a call.
//!
//! Invariants: columns are found by name and may stand in any order; others are ignored; a broken
//! row is an error that names it.
//!
//! Not here: what a row becomes (`replay`).

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Counted from 1, without the heading.
    pub(super) number: usize,
    pub(super) t_ns: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) model: Option<Box<str>>,
}

#[derive(Debug, Deserialize)]
struct RowCsv {
    t_ms: f64,
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    model: Option<Box<str>>,
}

/// The latest instant that a trace may name, in milliseconds: a year.
const T_MS_MAX: f64 = 3.2e10;

/// Reads at most so many rows.
pub(super) fn read(path: &Path, rows: Option<usize>) -> anyhow::Result<Vec<Row>> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("can't read the trace {name}"))?;
    read_from(file, &name, rows)
}

/// The same from anywhere; `name` is what errors call it.
pub(super) fn read_from(
    file: impl Read,
    name: &str,
    rows: Option<usize>,
) -> anyhow::Result<Vec<Row>> {
    let mut reader = csv::Reader::from_reader(file);
    let mut read = Vec::new();
    for (index, row) in reader.deserialize::<RowCsv>().take(rows.unwrap_or(usize::MAX)).enumerate()
    {
        let row = row.with_context(|| {
            format!("{name}: row {}: it needs numbers t_ms,input_tokens,output_tokens", index + 1)
        })?;
        if !(0.0..=T_MS_MAX).contains(&row.t_ms) {
            bail!("{name}: row {}: t_ms {} is no instant within a year", index + 1, row.t_ms);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        let t_ns = (row.t_ms * 1e6) as u64;
        let (input_tokens, output_tokens) = (row.input_tokens, row.output_tokens);
        let model = row.model.filter(|model| !model.is_empty());
        read.push(Row { number: index + 1, t_ns, input_tokens, output_tokens, model });
    }
    if read.is_empty() {
        bail!("the trace {name} has no rows");
    }
    Ok(read)
}
