//! The head that every file starts with, and the walls for files and functions.
//!
//! Code lines are lines with something other than comment and white space; tests in the same file
//! count. The walls keep a file readable in one sitting; the goals (150 lines a file, 30 a
//! function) are the reviewer's business.

use crate::Finding;
use crate::source::{Source, closing_line};

const HEAD_LINES_MIN: usize = 3;
const CODE_LINES_MAX: usize = 400;
const LINES_MAX: usize = 900;
const COLLECTING_FILE_CODE_LINES_MAX: usize = 80;
const FUNCTION_CODE_LINES_MAX: usize = 70;

/// A function that may stay longer than the wall, up to what it has today.
#[derive(Debug)]
pub(crate) struct LongFunction {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
    pub(crate) code_lines_max: usize,
    pub(crate) reason: &'static str,
}

/// The ratchet: entries only ever shrink or go. A new one needs a reason a reviewer accepts.
pub(crate) const LONG_FUNCTIONS: &[LongFunction] = &[];

pub(crate) fn check_head(source: &Source, findings: &mut Vec<Finding>) {
    let head = source.lines.iter().take_while(|l| !l.is_code && l.comment.starts_with("//!"));
    let told = head.filter(|line| line.comment.trim() != "//!").count();
    let wanted = if source.is_test_file() { 1 } else { HEAD_LINES_MIN };
    if told < wanted {
        findings.push(Finding::new(
            source,
            0,
            format!("the head has {told} lines of text, at least {wanted} are needed"),
            "open the file with `//!`: purpose, invariants, what it does not do, where to look next",
        ));
    }
}

pub(crate) fn check_file(source: &Source, findings: &mut Vec<Finding>) {
    let collects = matches!(source.file_name(), "lib.rs" | "mod.rs");
    let code = source.code_lines();
    if collects && code > COLLECTING_FILE_CODE_LINES_MAX {
        findings.push(Finding::new(
            source,
            0,
            format!("{code} code lines where names are collected, at most {COLLECTING_FILE_CODE_LINES_MAX}"),
            "keep docs and re-exports here, move the logic to a named file",
        ));
    }
    if code > CODE_LINES_MAX {
        findings.push(Finding::new(
            source,
            0,
            format!("{code} code lines, at most {CODE_LINES_MAX}"),
            "split the file by idea, or move its tests to a sibling `tests.rs`",
        ));
    }
    if source.lines.len() > LINES_MAX {
        findings.push(Finding::new(
            source,
            0,
            format!("{} lines in all, at most {LINES_MAX}", source.lines.len()),
            "split the file by idea; long docs belong in docs/",
        ));
    }
}

pub(crate) fn check_functions(
    source: &Source,
    ratchet: &[LongFunction],
    findings: &mut Vec<Finding>,
) {
    for function in functions(source) {
        let entry = ratchet.iter().find(|e| e.path == source.path && e.name == function.name);
        let wall = entry.map_or(FUNCTION_CODE_LINES_MAX, |entry| entry.code_lines_max);
        if function.code_lines > wall {
            findings.push(Finding::new(
                source,
                function.line,
                format!(
                    "`{}` has {} code lines, at most {wall}",
                    function.name, function.code_lines
                ),
                "keep the branching here and move the leaves to functions of their own",
            ));
        }
    }
}

/// An entry of the ratchet that nothing needs any longer, or that gives no reason.
pub(crate) fn check_ratchet(
    sources: &[Source],
    ratchet: &[LongFunction],
    findings: &mut Vec<Finding>,
) {
    for entry in ratchet {
        let file = sources.iter().find(|source| source.path == entry.path);
        let longest = file.and_then(|source| {
            let named = functions(source).into_iter().filter(|f| f.name == entry.name);
            named.map(|function| function.code_lines).max()
        });
        let is_needed = longest.is_some_and(|lines| lines > FUNCTION_CODE_LINES_MAX);
        let is_tight = longest == Some(entry.code_lines_max);
        if !is_needed || !is_tight || entry.reason.is_empty() {
            findings.push(Finding {
                path: entry.path.to_owned(),
                line: 1,
                what: format!(
                    "the ratchet allows `{}` {} code lines, it has {longest:?}",
                    entry.name, entry.code_lines_max
                ),
                remedy: "set the entry to the function's size with a reason, or remove it",
            });
        }
    }
}

struct Function {
    name: String,
    line: usize,
    code_lines: usize,
}

fn functions(source: &Source) -> Vec<Function> {
    let mut found = Vec::new();
    for (number, line) in source.lines.iter().enumerate() {
        let characters: Vec<char> = line.code.chars().collect();
        for column in 0..characters.len() {
            let Some(name) = function_name(&characters, column) else {
                continue;
            };
            let Some(end) = closing_line(&source.lines, number, column) else {
                continue;
            };
            let code_lines = source.lines[number..=end].iter().filter(|l| l.is_code).count();
            found.push(Function { name, line: number, code_lines });
        }
    }
    found
}

/// The name behind `fn ` at `column`; `fn(u32)` is a type and has none.
fn function_name(characters: &[char], column: usize) -> Option<String> {
    let is_word = |character: &char| character.is_alphanumeric() || *character == '_';
    let starts_word = column == 0 || !is_word(&characters[column - 1]);
    let rest = characters.get(column..)?;
    if !starts_word || !rest.starts_with(&['f', 'n', ' ']) {
        return None;
    }
    let name: String = rest[3..].iter().take_while(|c| is_word(c)).collect();
    (!name.is_empty()).then_some(name)
}
