//! `nucleo run --resume`: nothing answered is asked again, and what was paid counts.

use std::collections::BTreeSet;

use crate::support::{Folder, millionths};

#[test]
fn answered_lines_are_skipped() {
    let folder = Folder::new(10);
    folder.run("--out results.jsonl").says(0, &[]);
    let all = folder.read("results.jsonl");
    // A kill in the middle of the fifth line.
    let four: String = all.lines().take(4).map(|line| format!("{line}\n")).collect();
    let half = &all.lines().nth(4).unwrap()[..30];
    folder.write("results.jsonl", &format!("{four}{half}"));

    let ended = folder.run("--out results.jsonl --resume --json");
    ended.says(0, &[]);
    assert_eq!(ended.json()["answered"], 6);
    let text = folder.read("results.jsonl");
    assert!(text.starts_with(&four), "what was whole is kept as it was");
    let results = folder.results("results.jsonl");
    let indexes: BTreeSet<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    assert_eq!((results.len(), indexes.len()), (10, 10), "each line once");

    let ended = folder.run("--out results.jsonl --resume --json");
    ended.says(0, &[]);
    assert_eq!(ended.json()["answered"], 0);
    assert_eq!(folder.read("results.jsonl"), text);
}

#[test]
fn the_cost_of_every_line_counts_against_the_cap() {
    let folder = Folder::new(3);
    let line = |index: usize, status: &str| {
        format!("{{\"index\":{index},\"status\":\"{status}\",\"cost\":\"0.03 USD\"}}\n")
    };
    // Of two lines with one index the later holds; all three are paid.
    let paid = [line(0, "answered"), line(1, "answered"), line(1, "failed")].concat();
    folder.write("results.jsonl", &paid);
    let args = |cap: &'static str| {
        crate::support::run_args("--out results.jsonl --resume --json --cap").chain([cap])
    };
    let ended = folder.nucleo(args("0.09 USD"));
    ended.says(3, &[]);
    let report = ended.json();
    assert_eq!((&report["spent"], &report["cap"]), (&"0.09 USD".into(), &"0.09 USD".into()));
    assert_eq!(report["answered"], 0);

    let ended = folder.nucleo(args("0.20 USD"));
    ended.says(0, &[]);
    let report = ended.json();
    assert_eq!(report["answered"], 2, "the lines 1 and 2");
    let costs = folder.results("results.jsonl");
    let costs: f64 =
        costs.iter().filter(|r| !r["cost"].is_null()).map(|r| millionths(&r["cost"])).sum();
    assert!((millionths(&report["spent"]) - costs).abs() < 0.5, "{report}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = Folder::new(1);
    folder.write("results.jsonl", "a note\n");
    folder
        .run("--out results.jsonl --resume")
        .says_only(2, &["results.jsonl:1 is no line of results", "--resume needs a results file"]);
    assert_eq!(folder.read("results.jsonl"), "a note\n");
}

#[test]
fn there_need_not_be_a_file_yet() {
    let folder = Folder::new(2);
    folder.run("--out results.jsonl --resume").says(0, &[]);
    assert_eq!(folder.results("results.jsonl").len(), 2);
}
