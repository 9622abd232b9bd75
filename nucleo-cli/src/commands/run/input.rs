//! The input: one JSON object a line, read as it is pulled.
//!
//! Invariants: a line's index counts from 0 and counts every line; blank lines are skipped; a broken
//! line is that item's failure, not the run's; of a line without end no more is kept than a line may
//! have.
//!
//! Not here: asking (`ask`), the template's form (`template`).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};
use nucleo_agents::wire::Message;
use serde::Deserialize as _;
use serde_json::Value;

use super::template::{MissingField, Template};

/// What some editors write in front of a file's first line.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// One input line: what is asked, or why it can't be.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) index: usize,
    pub(crate) question: Result<Arc<[Message]>, BadInput>,
}

/// A line that can't be asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("line {}: {why}", .index + 1)]
pub(crate) struct BadInput {
    pub(crate) index: usize,
    why: Arc<str>,
}

/// The most that a line may have: what is longer was not meant as one.
const LINE_BYTES_MAX: usize = 64 << 20;

/// The lines of a file that are still to be asked.
pub(crate) struct Lines<R = File> {
    reader: BufReader<R>,
    bytes_max: usize,
    template: Option<Arc<Template>>,
    skip: BTreeSet<usize>,
    next: usize,
    /// The file could not be read on: told when the run ends.
    broken: Arc<Mutex<Option<std::io::Error>>>,
}

/// Opens an input, before anything else is touched.
pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    let name = path.display();
    let file = File::open(path).with_context(|| {
        format!("can't read the input {name}: name a file with one JSON object a line")
    })?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        bail!("the input {name} is a folder: name a file with one JSON object a line");
    }
    Ok(file)
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(file: R, template: Option<Template>, skip: BTreeSet<usize>) -> Self {
        let (template, broken) = (template.map(Arc::new), Arc::default());
        let (reader, bytes_max) = (BufReader::new(file), LINE_BYTES_MAX);
        Self { reader, bytes_max, template, skip, next: 0, broken }
    }

    /// The same with another bound on a line.
    #[cfg(test)]
    pub(crate) fn bytes_max(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// Where a reading error is left.
    pub(crate) fn broken(&self) -> Arc<Mutex<Option<std::io::Error>>> {
        Arc::clone(&self.broken)
    }

    /// Reads the next line, its end included, and says how long it was; nothing is kept of one that
    /// is too long.
    fn read_line(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
        let mut read = 0;
        loop {
            let piece = match self.reader.fill_buf() {
                Ok(piece) => piece,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let taken = end.unwrap_or(piece.len());
            read += taken;
            if read <= self.bytes_max {
                bytes.extend_from_slice(&piece[..taken]);
            } else {
                *bytes = Vec::new();
            }
            self.reader.consume(taken);
            if end.is_some() || taken == 0 {
                return Ok(read);
            }
        }
    }

    fn question(&self, index: usize, bytes: &[u8]) -> Result<Arc<[Message]>, BadInput> {
        let bad = |why: String| BadInput { index, why: why.into() };
        let line: Value = serde_json::from_slice(bytes).map_err(|error| bad(no_json(&error)))?;
        if !line.is_object() {
            return Err(bad("no object: write one object a line".to_owned()));
        }
        if let Some(messages) = line.get("messages") {
            let messages = Vec::<Message>::deserialize(messages);
            let messages = messages.map_err(|error| bad(format!("messages: {error}")))?;
            if messages.is_empty() {
                return Err(bad("messages is empty: it needs one message at least".to_owned()));
            }
            return Ok(messages.into());
        }
        let Some(template) = &self.template else {
            return Err(bad("it has no `messages`: add them, or give --prompt FILE".to_owned()));
        };
        let prompt =
            template.fill(&line).map_err(|missing: MissingField| bad(missing.to_string()))?;
        Ok([Message::user(prompt)].into())
    }
}

/// What a parser said of one line: of its own line number, always 1, nothing.
fn no_json(error: &serde_json::Error) -> String {
    let (said, column) = (error.to_string(), error.column());
    let plain = said.split(" at line ").next().unwrap_or(&said);
    format!("no JSON: {plain} in column {column}: write one JSON object a line")
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = match self.read_line(&mut bytes) {
                Ok(0) => return None,
                Ok(read) => read,
                Err(error) => {
                    *self.broken.lock().expect("storing an error can't panic") = Some(error);
                    return None;
                }
            };
            let index = self.next;
            self.next += 1;
            if read > self.bytes_max && !self.skip.contains(&index) {
                let why = format!("longer than {} bytes: write one object a line", self.bytes_max);
                return Some(Line { index, question: Err(BadInput { index, why: why.into() }) });
            }
            if index == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            if !bytes.trim_ascii().is_empty() && !self.skip.contains(&index) {
                return Some(Line {
                    index,
                    question: self.question(index, bytes.trim_ascii_end()),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_in_front_of_the_first_line_is_no_part_of_it() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("input.jsonl");
        let text = "\u{feff}{\"text\": \"a\"}\r\n\r\n\u{feff}{\"text\": \"b\"}\r\n";
        std::fs::write(&path, text).expect("it can be written");
        let template = Template::parse("{{text}}").expect("a template");
        let file = File::open(&path).expect("it is there");
        let lines = Lines::new(file, Some(template), BTreeSet::new());
        let fine: Vec<_> = lines.map(|line| (line.index, line.question.is_ok())).collect();
        assert_eq!(fine, [(0, true), (2, false)]);
    }
}
