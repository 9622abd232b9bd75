//! Tests of the results file: mending, resuming, and a line that could not be written whole.

use std::collections::BTreeSet;

use super::*;

fn line(index: usize, status: &str, cost: &str) -> ResultLine {
    let value = serde_json::json!({"index": index, "status": status, "cost": cost});
    serde_json::from_value(value).unwrap()
}

fn text(lines: &[ResultLine]) -> String {
    lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
}

#[test]
fn half_a_line_is_taken_away_and_the_file_goes_on_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let mut results = Results::create(&path, false).unwrap();
    results.write(&line(0, "answered", "0.01 USD")).unwrap();
    let Results::File { file, length, .. } = &mut results else { unreachable!("it is a file") };
    // What a full disk leaves: half of the line, and an error.
    file.write_all(b"{\"index\":1,\"stat").unwrap();
    cut_off(file, *length, &path);
    results.write(&line(2, "answered", "0.02 USD")).unwrap();
    let expected = text(&[line(0, "answered", "0.01 USD"), line(2, "answered", "0.02 USD")]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn resuming_counts_every_cost_and_lets_later_lines_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let lines = [
        line(0, "answered", "0.01 USD"),
        line(1, "failed", "0.02 USD"),
        line(2, "failed", "0.04 USD"),
        line(2, "answered", "0.08 USD"),
        line(3, "answered", "0.16 USD"),
        line(3, "failed", "0.32 USD"),
    ];
    std::fs::write(&path, text(&lines) + "{\"index\":4,\"status\":\"answ").unwrap();
    let (_, earlier) = Results::resume(&path).unwrap();
    assert_eq!(earlier.answered, BTreeSet::from([0, 2]));
    assert_eq!(earlier.cost, ["0.63 USD".parse().unwrap()]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text(&lines), "the half line is gone");
}

#[test]
fn a_whole_last_line_without_its_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let whole = text(&[line(0, "answered", "0.01 USD")]);
    std::fs::write(&path, whole.trim_end()).unwrap();
    let (mut results, earlier) = Results::resume(&path).unwrap();
    assert_eq!(earlier.answered, BTreeSet::from([0]));
    results.write(&line(1, "answered", "0.02 USD")).unwrap();
    let both = whole + &text(&[line(1, "answered", "0.02 USD")]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), both);
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in ["not results\n", "not results", "{\"a\": 1}", "{\"index\": 1, \"a\": 2}\n"] {
        std::fs::write(&path, text).unwrap();
        let error = Results::resume(&path).err().unwrap();
        assert!(format!("{error:#}").contains("notes.txt:1 is no line of results"), "{error:#}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_cost_that_no_run_can_have_is_told_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let most = "999999999999999999999999 USD";
    for (second, said) in [("-1 USD", "no run has earned money"), (most, "more than money can")] {
        let lines = [line(0, "answered", "2 USD"), line(1, "answered", second)];
        std::fs::write(&path, text(&lines)).unwrap();
        let error = format!("{:#}", Results::resume(&path).err().unwrap());
        assert!(error.contains("results.jsonl:2: a cost of") && error.contains(said), "{error}");
    }
}

#[test]
fn a_second_run_is_kept_out_of_a_file_under_way() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("results.jsonl");
    let before = "{\"index\":0,\"status\":\"answered\"}\n";
    std::fs::write(&path, before).expect("it can be written");
    let (first, earlier) = Results::resume(&path).expect("nobody else writes it");
    assert_eq!(earlier.answered, BTreeSet::from([0]));
    for second in [Results::resume(&path).map(drop), Results::create(&path, true).map(drop)] {
        let error = second.expect_err("the first is under way").to_string();
        assert!(error.contains("another run"), "{error}");
    }
    let after = std::fs::read_to_string(&path).expect("it is there");
    assert_eq!(after, before, "nothing was taken away");
    drop(first);
    Results::create(&path, true).expect("the first is over");
}
