//! Problems as they are found: a key's path in, its line out.
//!
//! Invariants: whoever opens a table marks where its keys stand; a problem on a key that is not
//! there (a missing one) gets the line of the table it is missing from.
//!
//! Not here: what the problems say (`error`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{Problem, Rule};

/// All problems found so far, and where each key stands.
pub(super) struct Problems<'t> {
    file: Arc<str>,
    text: &'t str,
    /// Byte offsets by path.
    marks: BTreeMap<String, usize>,
    list: Vec<Problem>,
}

impl<'t> Problems<'t> {
    pub(super) fn of(file: &str, text: &'t str) -> Self {
        Self { file: file.into(), text, marks: BTreeMap::new(), list: Vec::new() }
    }

    /// Notes that the key `path` stands at the byte `at`.
    pub(super) fn mark(&mut self, path: String, at: usize) {
        self.marks.insert(path, at);
    }

    /// Notes a problem with the key `path`.
    pub(super) fn push(&mut self, path: &str, rule: Rule) {
        let line = self.line(self.place(path));
        self.list.push(Problem { file: Arc::clone(&self.file), line, key: path.to_owned(), rule });
    }

    /// Notes what is wrong with the syntax; says whether more than duplicate keys is.
    pub(super) fn syntax(&mut self, errors: &[toml::de::Error]) -> bool {
        let mut broken = false;
        for error in errors {
            let at = error.span().map_or(0, |span| span.start);
            let (key, rule) = if error.message() == "duplicate key" {
                (self.key_at(at), Rule::Duplicate)
            } else {
                broken = true;
                (String::new(), Rule::Syntax(error.message().to_owned()))
            };
            let line = self.line(at);
            self.list.push(Problem { file: Arc::clone(&self.file), line, key, rule });
        }
        broken
    }

    /// Whether nothing was found so far with `path` or inside it.
    pub(super) fn is_clean(&self, path: &str) -> bool {
        let inside = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        !self.list.iter().any(|problem| problem.key.strip_prefix(path).is_some_and(inside))
    }

    /// All problems, by line.
    pub(super) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|problem| problem.line);
        self.list
    }

    /// Where `path` stands, or else the nearest table around it.
    fn place(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(at) = self.marks.get(path) {
                return *at;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return 0,
            }
        }
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    /// The path of a key that the parser left out: the header above it and the key as written.
    fn key_at(&self, at: usize) -> String {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or_default().trim();
        let header = |line: &str| {
            let inner = line.trim().strip_prefix('[')?.split(']').next()?;
            Some(inner.trim_matches('[').to_owned())
        };
        if let Some(path) = header(line) {
            return path;
        }
        let key: String = self.text[at..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || "-_\"'".contains(*c))
            .collect();
        match self.text[..start].lines().rev().find_map(header) {
            Some(path) => format!("{path}.{key}"),
            None => key,
        }
    }
}
