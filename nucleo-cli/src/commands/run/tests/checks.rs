//! What must hold of any input, template and results file, whatever their bytes: the fuzz targets'
//! checks too.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::earlier::Earlier;
use super::super::input::Lines;
use super::super::template::{Template, TemplateError};

/// An input's bytes: every line is accounted for, and a broken one says which it is.
pub(crate) fn input(bytes: &[u8]) {
    let template = || Template::parse("About {{text}}: {{a.b}}").expect("a template");
    let lines = |skip| Lines::new(bytes, Some(template()), skip).collect::<Vec<_>>();
    let all = lines(BTreeSet::new());
    let blank = |line: &[u8], index: usize| {
        let mark = "\u{feff}".as_bytes();
        let line = if index == 0 { line.strip_prefix(mark).unwrap_or(line) } else { line };
        line.trim_ascii().is_empty()
    };
    let split = bytes.split(|byte| *byte == b'\n').enumerate();
    let full: Vec<usize> = split.filter(|(n, line)| !blank(line, *n)).map(|(n, _)| n).collect();
    assert_eq!(all.iter().map(|line| line.index).collect::<Vec<_>>(), full);
    for line in &all {
        match &line.question {
            Ok(messages) => assert!(!messages.is_empty()),
            Err(error) => {
                let (said, number) = (error.to_string(), line.index + 1);
                assert!(said.starts_with(&format!("line {number}: ")), "{said}");
                assert!(!said.contains(" at line "), "the parser's own count: {said}");
            }
        }
    }
    // What is left out changes nothing else.
    let odd = |index: &usize| index % 2 == 1;
    let rest = lines(full.iter().copied().filter(odd).collect());
    let even: Vec<_> = all.iter().filter(|line| !odd(&line.index)).collect();
    assert_eq!(format!("{rest:?}"), format!("{even:?}"));
}

/// A template's text: an error that says its line, or a prompt in which fields stay fields.
pub(crate) fn template(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Template::parse(text) {
        Ok(template) => {
            let (fields, missing) = (json!({"text": "{{text}}", "a": {"b": [1, null]}}), json!({}));
            let filled = template.fill(&fields);
            if !text.contains("{{") {
                assert_eq!(filled.as_deref(), Ok(text));
                assert_eq!(template.fill(&missing).as_deref(), Ok(text));
            } else if let Err(missing) = template.fill(&missing) {
                assert!(missing.to_string().contains(&missing.0), "{missing}");
            }
            if let Ok(filled) = filled {
                let places = text.matches("{{").count();
                assert!(filled.len() <= text.len() + 14 * places, "{filled}");
            }
        }
        Err(error) => {
            let (TemplateError::Open { line } | TemplateError::Name { line, .. }) = &error;
            assert!((1..=text.split('\n').count()).contains(line), "{error}");
            assert!(error.to_string().chars().count() < 250, "{error}");
        }
    }
}

/// A results file's bytes: an error that names the line, or what counts; and the same when a kill has
/// cut it anywhere in its last line.
pub(crate) fn results(bytes: &[u8]) {
    let read = |bytes: &[u8]| Earlier::read(bytes, "results.jsonl");
    let whole = match read(bytes) {
        Ok(earlier) => earlier,
        Err(error) => {
            let said = format!("{error:#}");
            let number = said.strip_prefix("results.jsonl:").expect("it names the file");
            let number = number.split(|c: char| !c.is_ascii_digit()).next().expect("it is split");
            let lines = bytes.split(|byte| *byte == b'\n').count();
            assert!((1..=lines).contains(&number.parse().expect("and the line")), "{said}");
            return;
        }
    };
    assert!(whole.whole_bytes <= bytes.len() as u64);
    assert!(whole.cost.iter().all(|cost| cost.pico() >= 0));
    // What is kept says the same again, ended or not.
    let kept = &bytes[..usize::try_from(whole.whole_bytes).expect("it is in memory")];
    let again = read(kept).expect("what was read");
    let end: &[u8] = if whole.lacks_line_end { b"\n" } else { b"" };
    let ended = read(&[kept, end].concat()).expect("what was read, ended");
    for other in [&again, &ended] {
        assert_eq!((&other.answered, &other.cost), (&whole.answered, &whole.cost));
    }
    assert!(!ended.lacks_line_end);
    check_cuts(kept, &whole);
}

/// A kill in the middle of the last line: its item is asked again, all others stand.
fn check_cuts(kept: &[u8], whole: &Earlier) {
    let start =
        kept.trim_ascii_end().iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let ours = |line: &[u8]| line.starts_with(b"{\"index\":");
    if !ours(&kept[start..]) || kept.len() - start > 1_000 {
        return;
    }
    let before = Earlier::read(&kept[..start], "results.jsonl").expect("whole lines");
    for end in start..kept.len() {
        let cut = Earlier::read(&kept[..end], "results.jsonl").expect("a cut line is no error");
        let (told, expected) = match usize::try_from(cut.whole_bytes).expect("in memory") > start {
            // The line was whole but for what stands behind it.
            true => (&cut, whole),
            false => (&cut, &before),
        };
        assert_eq!((&told.answered, &told.cost), (&expected.answered, &expected.cost), "{end}");
    }
}
