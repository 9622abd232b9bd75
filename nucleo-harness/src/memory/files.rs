//! Reading numbers out of the system's files.
//!
//! Invariants: a number that is not there is an error that names the file and what was looked for.
//!
//! Not here: what the numbers mean (`cgroup`, `process`).

use std::fs;
use std::path::Path;

use super::ProbeError;

/// The text of a file.
pub(super) fn text(path: &Path) -> Result<String, ProbeError> {
    fs::read_to_string(path).map_err(|source| ProbeError::Io { path: path.to_owned(), source })
}

/// The number that is the whole file.
pub(super) fn number(path: &Path) -> Result<u64, ProbeError> {
    let number = text(path)?.trim().parse().ok();
    number.ok_or_else(|| ProbeError::Format { path: path.to_owned(), what: "a count of bytes" })
}

/// The number behind a word at the start of a line.
pub(super) fn field(path: &Path, word: &'static str) -> Result<u64, ProbeError> {
    let text = text(path)?;
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let found = lines.find_map(|mut words| (words.next() == Some(word)).then(|| words.next()));
    let number = found.flatten().and_then(|number| number.parse().ok());
    number.ok_or_else(|| ProbeError::Format { path: path.to_owned(), what: word })
}
