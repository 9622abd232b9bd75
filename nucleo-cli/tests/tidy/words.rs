//! Words that must not stand in the tree, links that lead nowhere, and manifests without lints.
//!
//! A note of work to do names an issue or is not on main; a path of somebody's machine helps no
//! reader; a relative link in a Markdown page points at a file that exists.

use std::path::Path;

use crate::source::Source;
use crate::{Finding, Text};

/// Taken apart so that this file does not contain them.
const MACHINE_PATHS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("sha", "red/"), concat!("/tmp/", "wt"), concat!("/ro", "ot/")];

const NOTES_OF_WORK: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

pub(crate) fn check_notes_of_work(source: &Source, findings: &mut Vec<Finding>) {
    for (number, line) in source.lines.iter().enumerate() {
        let mut words = line.comment.split(|c: char| !c.is_alphanumeric());
        let names_work = words.any(|word| NOTES_OF_WORK.contains(&word));
        if names_work && !names_issue(&line.comment) {
            findings.push(Finding::new(
                source,
                number,
                "a note of work to do without an issue".to_owned(),
                "do it now, or write the issue's number beside it: #123",
            ));
        }
        if ["todo!", "unimplemented!"].iter().any(|stub| line.code.contains(stub)) {
            findings.push(Finding::new(
                source,
                number,
                "a stub".to_owned(),
                "build the part that stays, or leave the item out",
            ));
        }
    }
}

fn names_issue(comment: &str) -> bool {
    comment.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

pub(crate) fn check_machine_paths(text: &Text, findings: &mut Vec<Finding>) {
    for (number, line) in text.text.lines().enumerate() {
        if let Some(word) = MACHINE_PATHS.iter().find(|word| line.contains(**word)) {
            findings.push(Finding {
                path: text.path.clone(),
                line: number + 1,
                what: format!("`{word}` means nothing outside one machine"),
                remedy: "name the file by its path in the repository, or leave it out",
            });
        }
    }
}

/// `exists` answers for a path relative to the root of the workspace.
pub(crate) fn check_links(
    text: &Text,
    exists: &dyn Fn(&Path) -> bool,
    findings: &mut Vec<Finding>,
) {
    if !text.path.ends_with(".md") {
        return;
    }
    let folder = Path::new(&text.path).parent().unwrap_or(Path::new(""));
    for (number, line) in text.text.lines().enumerate() {
        for target in link_targets(line) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            if !exists(&folder.join(file)) {
                findings.push(Finding {
                    path: text.path.clone(),
                    line: number + 1,
                    what: format!("the link to `{file}` leads nowhere"),
                    remedy: "point it at a file of the repository, relative to this page",
                });
            }
        }
    }
}

/// A file that is taken in by its path has to be there, also where no step of CI compiles it.
pub(crate) fn check_taken_files(
    text: &Text,
    exists: &dyn Fn(&Path) -> bool,
    findings: &mut Vec<Finding>,
) {
    if !text.path.ends_with(".rs") {
        return;
    }
    let folder = Path::new(&text.path).parent().unwrap_or(Path::new(""));
    for (number, line) in text.text.lines().enumerate() {
        let taken = line.trim_start().strip_prefix("#[path = \"");
        let Some(file) = taken.and_then(|rest| rest.split('"').next()) else { continue };
        if !exists(&folder.join(file)) {
            findings.push(Finding {
                path: text.path.clone(),
                line: number + 1,
                what: format!("the file `{file}` that it takes is not there"),
                remedy: "name the file where it stands now",
            });
        }
    }
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The one crate that may say `unsafe`, so that it denies where the workspace forbids.
const UNSAFE_CRATE: &str = "nucleo-alloc/Cargo.toml";

/// A crate that does not take the workspace's lints escapes `missing_docs` and its like.
pub(crate) fn check_manifest(text: &Text, findings: &mut Vec<Finding>) {
    let is_crate = text.path.ends_with("/Cargo.toml") && text.text.contains("[package]");
    if is_crate && text.path != UNSAFE_CRATE && !text.text.contains("[lints]\nworkspace = true") {
        findings.push(Finding {
            path: text.path.clone(),
            line: 1,
            what: "the crate does not take the workspace's lints".to_owned(),
            remedy: "add `[lints]` with `workspace = true`",
        });
    }
}
