//! Writes the documents that the README's run works on: sections of this project's own pages and the
//! heads of its own modules, one JSON object a line.
//!
//! `cargo run --example 90_documents > examples/data/documents.jsonl`

use std::path::{Path, PathBuf};

use serde_json::json;

/// Shorter sections say too little to be summarised.
const BYTES_MIN: usize = 160;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
    let mut files = Vec::new();
    walk(&root, &mut files)?;
    files.sort();
    for file in files {
        let source = file.strip_prefix(&root)?.display().to_string();
        let text = std::fs::read_to_string(&file)?;
        let documents = if source.ends_with(".md") { sections(&text) } else { head(&text) };
        for (title, text) in documents {
            if text.len() >= BYTES_MIN {
                let title = if title.is_empty() { source.clone() } else { title };
                println!("{}", json!({ "source": source, "title": title, "text": text }));
            }
        }
    }
    Ok(())
}

/// Markdown pages and Rust sources, apart from what is built and what this writes.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || name == "target" || name == "data" {
            continue;
        }
        if path.is_dir() {
            walk(&path, files)?;
        } else if name.ends_with(".rs") || name.ends_with(".md") {
            files.push(path);
        }
    }
    Ok(())
}

/// A page, cut at its headings.
fn sections(page: &str) -> Vec<(String, String)> {
    let mut sections = vec![(String::new(), String::new())];
    let mut in_code = false;
    for line in page.lines() {
        in_code ^= line.starts_with("```");
        match line.trim_start_matches('#').strip_prefix(' ') {
            Some(title) if line.starts_with('#') && !in_code => {
                sections.push((title.to_owned(), String::new()));
            }
            _ => {
                let (_, text) = sections.last_mut().expect("there is always one");
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    sections.into_iter().map(|(title, text)| (title, text.trim().to_owned())).collect()
}

/// The head of a module.
fn head(source: &str) -> Vec<(String, String)> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let text: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    vec![(String::new(), text.join("\n"))]
}
