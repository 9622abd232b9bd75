//! Finds the JSON in what a model wrote.
//!
//! Invariants: a text that is JSON is taken as it is; only then are fences looked into, then
//! brackets in prose; trailing commas are taken off only where the text does not parse with them;
//! the work is bounded, whatever the text.
//!
//! Not here: whether the JSON has the asked form (`judge`).

use serde_json::Value;

use super::Correction;

/// Bracketed pieces that are tried at most: prose with more holds no answer.
const PIECES_MAX: usize = 64;

/// Every JSON value that the text may mean, the likeliest first.
pub(super) fn find(text: &str) -> Result<Vec<Value>, Correction> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = parse(text) {
        return Ok(vec![value]);
    }
    let pieces: Vec<&str> = fenced(text).chain(bracketed(text)).collect();
    let mut values: Vec<Value> = pieces.iter().filter_map(|piece| parse(piece).ok()).collect();
    if !values.is_empty() {
        values.dedup();
        return Ok(values);
    }
    // What starts like JSON and ends nowhere was cut or is broken: say where.
    let start = text.find(['{', '[']).ok_or(Correction::NoJson)?;
    let piece = pieces.first().copied().unwrap_or(&text[start..]);
    Err(broken(&parse(piece).expect_err("no piece parses, and the rest does not end")))
}

fn broken(error: &serde_json::Error) -> Correction {
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_owned();
    Correction::Broken { line: error.line(), column: error.column(), what }
}

fn parse(piece: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(piece).or_else(|error| {
        let repaired = without_trailing_commas(piece);
        if repaired.len() == piece.len() {
            return Err(error);
        }
        serde_json::from_str(&repaired)
    })
}

/// What stands between fences, without the word after the opening one.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let inside = text.split("```").skip(1).step_by(2).take(PIECES_MAX);
    inside.map(|piece| {
        let word = piece.len() - piece.trim_start_matches(|c: char| c.is_alphanumeric()).len();
        piece[word..].trim()
    })
}

/// Pieces of the text from an opening bracket to the one that closes it.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    // A bracket that nothing closes counts as a piece too, so that the search ends.
    std::iter::from_fn(move || {
        let start = at + text[at..].find(['{', '['])?;
        let end = closing(&text[start..]);
        at = start + end.unwrap_or(1);
        Some(end.map(|_| &text[start..at]))
    })
    .take(PIECES_MAX)
    .flatten()
}

/// The byte after the bracket that closes the first one; brackets in strings don't count.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut outside = Strings::default();
    for (at, byte) in text.bytes().enumerate() {
        if !outside.next(byte) {
            continue;
        }
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The text without commas that stand before a closing bracket.
fn without_trailing_commas(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut outside = Strings::default();
    for (at, c) in text.char_indices() {
        let code = !c.is_ascii() || outside.next(c as u8);
        let trailing = code && c == ',' && text[at + 1..].trim_start().starts_with(['}', ']']);
        if !trailing {
            kept.push(c);
        }
    }
    kept
}

/// Tells the inside of JSON strings from the outside.
#[derive(Default)]
struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Takes the next byte; says whether it stands outside of strings.
    fn next(&mut self, byte: u8) -> bool {
        if !self.inside {
            self.inside = byte == b'"';
            return !self.inside;
        }
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.inside = false,
            _ => {}
        }
        false
    }
}
