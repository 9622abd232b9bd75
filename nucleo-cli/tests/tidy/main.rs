//! The tidy test: house rules that no compiler checks, over every file of the workspace.
//!
//! It reports all findings at once, each as `file:line: what; remedy`. Each check is itself tested
//! on small snippets (`checks`), for a check that cannot fail proves nothing. Only std is used, and
//! files are read as text: nothing is compiled.
//!
//! Where to look: `source` takes a file apart, `paths` finds what it names, `sizes`, `imports` and
//! `words` hold the rules.

mod checks;
mod imports;
mod paths;
mod sizes;
mod source;
mod words;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

/// One broken rule.
#[derive(Debug)]
pub(crate) struct Finding {
    path: String,
    /// From 1, as editors count.
    line: usize,
    what: String,
    remedy: &'static str,
}

impl Finding {
    /// `line` counts from 0, as [`Source::lines`] does.
    fn new(source: &Source, line: usize, what: String, remedy: &'static str) -> Self {
        Self { path: source.path.clone(), line: line + 1, what, remedy }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.what, self.remedy)
    }
}

/// Any text file of the workspace.
#[derive(Debug)]
pub(crate) struct Text {
    path: String,
    text: String,
}

#[test]
fn the_tree_is_tidy() {
    let root = workspace_root();
    let texts = read_tree(&root);
    let mut findings = Vec::new();
    let sources: Vec<Source> = texts
        .iter()
        .filter(|text| text.path.ends_with(".rs"))
        .map(|text| Source::new(&text.path, &text.text))
        .collect();
    for source in &sources {
        sizes::check_head(source, &mut findings);
        sizes::check_file(source, &mut findings);
        sizes::check_functions(source, sizes::LONG_FUNCTIONS, &mut findings);
        imports::check(source, &mut findings);
        words::check_notes_of_work(source, &mut findings);
    }
    sizes::check_ratchet(&sources, sizes::LONG_FUNCTIONS, &mut findings);
    for text in &texts {
        words::check_machine_paths(text, &mut findings);
        words::check_links(text, &|path| root.join(path).exists(), &mut findings);
        words::check_taken_files(text, &|path| root.join(path).exists(), &mut findings);
        words::check_manifest(text, &mut findings);
    }
    let list: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    assert!(findings.is_empty(), "{} findings:\n{list}", findings.len());
}

/// A walk that finds nothing would make the tidy test pass for ever.
#[test]
fn the_walk_sees_every_kind_of_file() {
    let texts = read_tree(&workspace_root());
    for wanted in [
        "Cargo.toml",
        "ARCHITECTURE.md",
        ".ci/run",
        "docs/glossary.md",
        "nucleo-core/src/time.rs",
        "nucleo-harness/src/lib.rs",
        "nucleo-agents/src/lib.rs",
        "nucleo-cli/tests/tidy/main.rs",
        "examples/Cargo.toml",
        "fuzz/src/lib.rs",
    ] {
        assert!(texts.iter().any(|text| text.path == wanted), "the walk misses {wanted}");
    }
    assert!(texts.iter().all(|text| !text.path.starts_with("target/")));
}

fn workspace_root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.parent().expect("the crate stands in the workspace's folder").to_owned()
}

/// Every text file below `root` that people write, in the order of their paths.
fn read_tree(root: &Path) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("a folder of the workspace can be listed");
        for entry in entries {
            let path = entry.expect("an entry of a listed folder can be read").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() {
                let is_hidden = name.starts_with('.') && name != ".ci";
                if !is_hidden && name != "target" {
                    folders.push(path);
                }
            } else if is_written_by_people(&path) {
                let text = fs::read_to_string(&path).expect("a text file is UTF-8");
                texts.push(Text { path: relative(root, &path), text });
            }
        }
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    texts
}

fn is_written_by_people(path: &Path) -> bool {
    let in_ci = path.parent().is_some_and(|folder| folder.file_name() == Some(".ci".as_ref()));
    let extension = path.extension().and_then(|extension| extension.to_str());
    in_ci || matches!(extension, Some("rs" | "md" | "toml" | "json" | "sh" | "yml" | "yaml"))
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).expect("the walk stays below the root");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}
