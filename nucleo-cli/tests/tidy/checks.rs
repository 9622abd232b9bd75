//! The checks, checked: each rule on a snippet that keeps it and on one that breaks it.

use std::path::Path;

use crate::paths::named_in;
use crate::sizes::LongFunction;
use crate::source::Source;
use crate::{Finding, Text, imports, sizes, words};

type Check = fn(&Source, &mut Vec<Finding>);

/// The lines (from 1) at which `check` finds fault with `text` when it stands at `path`.
fn lines_found(check: Check, path: &str, text: &str) -> Vec<usize> {
    let mut findings = Vec::new();
    check(&Source::new(path, text), &mut findings);
    findings.iter().map(|finding| finding.line).collect()
}

fn functions_found(text: &str, ratchet: &[LongFunction]) -> usize {
    let mut findings = Vec::new();
    sizes::check_functions(&Source::new("a/src/b.rs", text), ratchet, &mut findings);
    findings.len()
}

fn paths_of(text: &str) -> Vec<String> {
    named_in(&Source::new("a.rs", text)).iter().map(|named| named.text()).collect()
}

/// A function of `lines` code lines, its first and last included.
fn function(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "    let _x = 1;\n\n    // a comment\n".repeat(lines - 2))
}

#[test]
fn the_lexer_tells_code_from_comment_and_string() {
    let text = concat!(
        "let a = \"// no { comment\"; // yes { comment\n",
        "/* block /* nested */ { still */ let b = '{';\n",
        "let c = r#\"raw \" { \"#; let d: &'static str = \"\\\"{\";\n",
        "let e = \"two\n",
        "lines {\"; let f = '\\''; let g = b'\\\\'; let h = br\"{\";\n",
        "\n",
        "    // only a comment\n",
    );
    let source = Source::new("a.rs", text);
    let code: String = source.lines.iter().map(|line| line.code.as_str()).collect();
    assert!(!code.contains('{'), "{code}");
    assert!(code.contains("&'static str"), "{code}");
    assert!(code.contains("let h = b\""), "{code}");
    assert_eq!(source.lines[0].comment, "// yes { comment");
    let is_code: Vec<bool> = source.lines.iter().map(|line| line.is_code).collect();
    assert_eq!(is_code, [true, true, true, true, true, false, false]);
}

#[test]
fn an_inline_test_module_is_marked_to_its_end() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
    let source = Source::new("a.rs", text);
    let is_test: Vec<bool> = source.lines.iter().map(|line| line.is_test).collect();
    assert_eq!(is_test, [false, true, true, true, true, false]);
}

#[test]
fn paths_are_spelled_out() {
    assert_eq!(paths_of("use a::b;"), ["a::b"]);
    assert_eq!(
        paths_of("use a::{self, b::{C, d as e}, f::*};"),
        ["a", "a::b::C", "a::b::d", "a::f::*"]
    );
    assert_eq!(paths_of("pub(crate) use a::b as c; x"), ["a::b"]);
    assert_eq!(paths_of("use {\n    a::b,\n    ::c::d,\n};"), ["a::b", "c::d"]);
    assert_eq!(paths_of("let x = a::b::<T>::c(d); e"), ["a::b"]);
    assert_eq!(paths_of("fn f() -> impl Fn() + use<'_> { a::b() }"), ["a::b"]);
    assert_eq!(paths_of("// use a::b;\n/// a::b\nlet s = \"a::b\";"), [""; 0]);
    let named = named_in(&Source::new("a.rs", "use x::{\n    y,\n    z,\n};\n"));
    assert_eq!(named.iter().map(|n| n.line).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_head_is_demanded() {
    let three = "//! One.\n//!\n//! Two.\n//! Three.\n\nfn a() {}\n";
    let two = "//! One.\n//!\n//!\n//! Two.\n\nfn a() {}\n";
    let late = "use a::b;\n//! One.\n//! Two.\n//! Three.\n";
    assert_eq!(lines_found(sizes::check_head, "a/src/b.rs", three), [0; 0]);
    assert_eq!(lines_found(sizes::check_head, "a/src/b.rs", two), [1]);
    assert_eq!(lines_found(sizes::check_head, "a/src/b.rs", late), [1]);
    for test_file in
        ["a/tests/b.rs", "a/src/b/tests.rs", "a/benches/b.rs", "examples/examples/1.rs"]
    {
        assert_eq!(lines_found(sizes::check_head, test_file, "//! One.\n"), [0; 0]);
        assert_eq!(lines_found(sizes::check_head, test_file, "fn a() {}\n"), [1]);
    }
}

#[test]
fn files_have_walls() {
    let code = |lines: usize| "use a::b;\n\n// why\n".repeat(lines);
    assert_eq!(lines_found(sizes::check_file, "a/src/b.rs", &"use a::b;\n".repeat(400)), [0; 0]);
    assert_eq!(lines_found(sizes::check_file, "a/src/b.rs", &"use a::b;\n".repeat(401)), [1]);
    assert_eq!(lines_found(sizes::check_file, "a/src/b.rs", &code(300)), [0; 0]);
    assert_eq!(lines_found(sizes::check_file, "a/src/b.rs", &code(301)), [1]);
    for collecting in ["a/src/lib.rs", "a/src/c/mod.rs"] {
        assert_eq!(lines_found(sizes::check_file, collecting, &code(80)), [0; 0]);
        assert_eq!(lines_found(sizes::check_file, collecting, &code(81)), [1]);
    }
}

#[test]
fn functions_have_a_wall() {
    assert_eq!(functions_found(&function("short", 70), &[]), 0);
    assert_eq!(functions_found(&function("long", 71), &[]), 1);
    let method = format!("impl A {{\n    pub async {}}}\n", function("long", 71));
    assert_eq!(functions_found(&method, &[]), 1);
    let declared = format!("trait A {{ fn a(&self, b: [u8; 4]); }}\n{}", "use a::b;\n".repeat(80));
    assert_eq!(functions_found(&declared, &[]), 0);
    let pointer = format!("type A = fn(u8);\nconst B: [u8; 1] = [\n{}];\n", "1,\n".repeat(80));
    assert_eq!(functions_found(&pointer, &[]), 0);
}

#[test]
fn the_ratchet_lets_a_long_function_shrink_only() {
    let entry = |code_lines_max, reason| LongFunction {
        path: "a/src/b.rs",
        name: "long",
        code_lines_max,
        reason,
    };
    let faults = |lines: usize, entry: LongFunction| {
        let source = Source::new("a/src/b.rs", &function("long", lines));
        let (ratchet, mut findings) = ([entry], Vec::new());
        sizes::check_functions(&source, &ratchet, &mut findings);
        sizes::check_ratchet(&[source], &ratchet, &mut findings);
        findings.len()
    };
    assert_eq!(faults(75, entry(75, "one table")), 0);
    assert_eq!(faults(75, entry(75, "")), 1, "a reason is needed");
    assert_eq!(faults(74, entry(75, "one table")), 1, "the entry is loose");
    assert_eq!(faults(76, entry(75, "one table")), 2, "it grew");
    assert_eq!(faults(60, entry(75, "one table")), 1, "nothing needs it");
    let mut findings = Vec::new();
    sizes::check_ratchet(&[], &[entry(75, "one table")], &mut findings);
    assert_eq!(findings.len(), 1, "its file is gone");
}

/// Each row is `ok` or `no`, where the snippet stands, and the snippet (`~` ends a line of it).
fn check_imports(rows: &str) {
    for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let mut columns = row.splitn(3, ' ');
        let mut column = || columns.next().expect("a row has three columns");
        let (verdict, path, text) = (column(), column(), column().replace('~', "\n"));
        let expected = match verdict {
            "ok" => 0,
            "no" => 1,
            other => panic!("a row starts with `ok` or `no`, not `{other}`"),
        };
        assert_eq!(lines_found(imports::check, path, &text).len(), expected, "{row}");
    }
}

#[test]
fn imports_keep_their_direction() {
    check_imports(
        "
        no nucleo-core/src/demand.rs use nucleo_harness::Clock;
        ok nucleo-core/src/demand.rs use serde::Serialize;
        ok nucleo-harness/src/a.rs use nucleo_core::Time;
        no nucleo-harness/src/a.rs let a = nucleo_agents::run();
        no nucleo-agents/src/a.rs use {nucleo_core::Time, nucleo_cli::Args};
        ok nucleo-cli/src/a.rs use nucleo_agents::prelude::*;
        no examples/src/lib.rs use nucleo_cli::Args;
        no nucleo-core/src/limits/permits.rs use crate::admission::Line;
        no nucleo-core/src/limits/permits.rs use super::super::admission::Line;
        no nucleo-core/src/limits/permits.rs use crate::{account::Fit, admission};
        no nucleo-core/src/memory/latch.rs crate::admission::turn();
        no nucleo-core/src/spend/ledger.rs use crate::limits::Permits;
        ok nucleo-core/src/spend/ledger.rs use crate::money::Money;
        ok nucleo-core/src/admission/line.rs use crate::limits::Permits;
        no nucleo-core/src/admission/line.rs use crate::plan::Scenario;
        ok nucleo-core/src/plan.rs use crate::admission::Line;
        ",
    );
}

#[test]
fn tokio_and_clocks_stay_where_things_run() {
    check_imports(
        "
        no nucleo-core/src/a.rs use tokio::sync::Notify;
        no nucleo-core/src/a/tests.rs tokio::spawn(a);
        no nucleo-core/src/a.rs use tokio_util::sync::CancellationToken;
        no nucleo-harness/src/admit.rs use tokio::sync::Notify;
        ok nucleo-harness/src/admit.rs use tokio_util::sync::CancellationToken;
        no nucleo-harness/src/admit.rs use tokio_util::time::DelayQueue;
        ok nucleo-harness/src/admit.rs #[cfg(test)]~mod tests {~ use tokio::spawn;~}
        ok nucleo-harness/src/runtime/clock.rs use tokio::time::sleep_until;
        ok nucleo-harness/src/attempt/task.rs tokio::select! {}
        ok nucleo-harness/tests/smoke.rs use tokio::spawn;
        no nucleo-agents/src/catalog/mod.rs use tokio::fs;
        ok nucleo-agents/src/fan_out.rs use tokio::task;
        ok nucleo-agents/src/providers/openai/mod.rs use tokio::time;
        ok nucleo-cli/src/main.rs #[tokio::main]~fn main() {}
        ok nucleo-core/src/time.rs use std::time::Duration;
        no nucleo-core/src/time.rs use std::time::{Duration, Instant};
        no nucleo-cli/src/run.rs let a = std::time::SystemTime::now();
        no nucleo-cli/src/run.rs use std::time;
        no nucleo-cli/src/run.rs use std::time::*;
        ok nucleo-harness/src/runtime/clock.rs use std::time::Instant;
        ok nucleo-agents/src/wire/retry_after.rs use std::time::SystemTime;
        ",
    );
}

#[test]
fn the_core_is_pure() {
    check_imports(
        "
        no nucleo-core/src/a.rs use std::collections::HashMap;
        no nucleo-core/src/a.rs use std::collections::{BTreeMap, HashSet};
        ok nucleo-core/src/a.rs use std::collections::BTreeMap;
        ok nucleo-core/src/a.rs /// ```~/// use std::collections::HashMap;~/// ```
        ok nucleo-harness/src/a.rs use std::collections::HashMap;
        no nucleo-core/src/a.rs use std::fs::File;
        no nucleo-core/src/a.rs std::thread::spawn(a);
        ok nucleo-core/src/a/tests.rs std::thread::spawn(a);
        no nucleo-core/src/a.rs let a = fastrand::u64(..);
        ok nucleo-core/tests/a.rs let a = fastrand::Rng::with_seed(7);
        no nucleo-core/src/a.rs async fn a() {}
        ok nucleo-core/src/a.rs // nothing here is async~fn asynchronous() {}
        ",
    );
}

#[test]
fn work_to_do_names_its_issue() {
    for (text, expected) in [
        ("// TODO: later", 1),
        ("/// FIXME", 1),
        ("// TODO(#12): later", 0),
        ("// see #x TODO", 1),
        ("let a = \"TODO\";", 0),
        ("// the todos of a user, TODOS", 0),
        ("fn a() { todo!() }", 1),
    ] {
        let found = lines_found(words::check_notes_of_work, "a/src/b.rs", text).len();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn pages_name_no_machine_and_no_dead_link() {
    let found = |path: &str, line: &str| {
        let text = Text { path: path.to_owned(), text: line.to_owned() };
        let mut findings = Vec::new();
        words::check_machine_paths(&text, &mut findings);
        let exists = |path: &Path| path == Path::new("docs/glossary.md");
        words::check_links(&text, &exists, &mut findings);
        words::check_manifest(&text, &mut findings);
        findings.len()
    };
    assert_eq!(found("README.md", concat!("see /wo", "rk/notes")), 1);
    assert_eq!(found("a/src/b.rs", concat!("// sha", "red/design")), 1);
    assert_eq!(found("README.md", "the work is shared"), 0);
    assert_eq!(found("README.md", "[words](docs/glossary.md) and [one](docs/glossary.md#head)"), 0);
    assert_eq!(found("docs/testing.md", "[words](glossary.md), [site](https://example.org)"), 0);
    assert_eq!(found("docs/testing.md", "[words](docs/glossary.md)"), 1);
    assert_eq!(found("a/Cargo.toml", "[package]\nname = \"a\"\n"), 1);
    assert_eq!(found("a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"), 0);
    assert_eq!(found("Cargo.toml", "[workspace]\n"), 0);
}
