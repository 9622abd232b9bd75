//! What every test over bytes shares: how many cases, the fuzzer's seeds, and near-valid documents.
//!
//! Used by path in the other crates' tests too, so that there is one notion of near-valid.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::Index;

/// So many cases, unless `PROPTEST_CASES` asks for another number.
pub(crate) fn cases(unless_told: u32) -> ProptestConfig {
    let told = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig { cases: told.unwrap_or(unless_told), ..ProptestConfig::default() }
}

/// The fuzzer's seeds for a target: by name, in order.
pub(crate) fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{} can't be listed: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it is listed").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no seeds", folder.display());
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a seed can be read");
        (path, bytes)
    };
    files.into_iter().map(read).collect()
}

/// Checks every seed of a target; a failure names the file.
pub(crate) fn replay(target: &str, check: impl Fn(&[u8])) {
    for (path, bytes) in seeds(target) {
        let checked = std::panic::AssertUnwindSafe(|| check(&bytes));
        assert!(std::panic::catch_unwind(checked).is_ok(), "{}", path.display());
    }
}

/// Any bytes: mostly noise, some of it readable.
pub(crate) fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "[ -~\n\r\t]{0,300}".prop_map(String::into_bytes),
        "\\PC{0,120}".prop_map(String::into_bytes),
        "[\\[\\]{}\",:0-9a-e.+ \n-]{0,200}".prop_map(String::into_bytes),
    ]
}

/// A seed of the target with a few changes: a token dropped, doubled, moved or replaced by one that
/// is apt to be forgotten, a line dropped or doubled, bytes altered, the end cut off.
pub(crate) fn near(target: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let documents: Vec<Vec<u8>> = seeds(target).into_iter().map(|(_, bytes)| bytes).collect();
    let change = (0_u8..10, any::<Index>(), any::<Index>(), any::<u8>());
    (prop::sample::select(documents), prop::collection::vec(change, 0..5)).prop_map(
        |(mut document, changes)| {
            for (what, here, there, byte) in changes {
                change_once(&mut document, what, (here, there), byte);
            }
            document
        },
    )
}

/// What readers forget: extremes, other types, other notations, what ends things early.
const FORGOTTEN: &[&str] = &[
    "0",
    "1",
    "-1",
    "-0",
    "0.0",
    "0.5",
    "1.",
    ".5",
    "1e3",
    "1e308",
    "1e-308",
    "1e999",
    "-1e999",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "170141183460469231731687303715884105727",
    "1_000",
    "0x10",
    "007",
    "1000000000000000",
    "1000000000000001",
    "999999999999999999999999",
    "6.3e12",
    "nan",
    "inf",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[[]]",
    "{\"a\":1}",
    "\"\"",
    "\"x\"",
    "\" \"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"ä🦀\"",
    "''",
    "2020-01-01",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ",",
    ":",
    "=",
    "\n",
    "\r\n",
    "\u{feff}",
    "# ",
    "\u{0}",
];

fn change_once(document: &mut Vec<u8>, what: u8, (here, there): (Index, Index), byte: u8) {
    if document.is_empty() {
        return;
    }
    let tokens = tokens(document);
    let token = tokens[here.index(tokens.len())].clone();
    let other = document[tokens[there.index(tokens.len())].clone()].to_vec();
    let lines: Vec<Vec<u8>> =
        document.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let line = here.index(lines.len());
    let at = here.index(document.len());
    match what {
        0..=3 => {
            let word = FORGOTTEN[there.index(FORGOTTEN.len())];
            document.splice(token, word.bytes());
        }
        4 => drop(document.splice(token, [])),
        5 => drop(document.splice(token.end..token.end, other)),
        6 => drop(document.splice(token, other)),
        7 => document[at] = byte,
        8 if byte < 64 => document.truncate(at),
        8 => {
            let kept = lines.iter().enumerate().filter(|(n, _)| *n != line);
            *document = kept.flat_map(|(_, line)| line.clone()).collect();
        }
        _ => {
            let twice = lines.iter().enumerate().flat_map(|(n, line_here)| {
                std::iter::repeat_n(line_here, 1 + usize::from(n == line))
            });
            *document = twice.flatten().copied().collect();
        }
    }
}

/// Runs of one kind: words and numbers, blanks, and each other byte for itself.
fn tokens(document: &[u8]) -> Vec<std::ops::Range<usize>> {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' | b'-' | b'+' | 128.. => 1,
        b' ' | b'\t' => 2,
        _ => 0,
    };
    let mut tokens: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, byte) in document.iter().enumerate() {
        match tokens.last_mut() {
            Some(last) if kind(*byte) != 0 && kind(*byte) == kind(document[at - 1]) => {
                last.end += 1
            }
            _ => tokens.push(at..at + 1),
        }
    }
    tokens
}
