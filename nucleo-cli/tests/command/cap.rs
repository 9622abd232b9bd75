//! `nucleo run --cap`: the money wall from outside.

use serde_json::Value;

use crate::support::{Folder, keys, millionths, run_args};

fn under_a_cap(folder: &Folder, more: &'static str) -> Value {
    let more = run_args(more).chain(["--out", "results.jsonl", "--json", "--cap", "0.101 USD"]);
    let ended = folder.nucleo(more);
    ended.says(3, &[]);
    let report = ended.json();
    let count = |name: &str| report[name].as_u64().unwrap();
    let sum = count("answered") + count("failed") + count("refused") + count("not_submitted");
    assert_eq!(sum, 500, "{report}");
    assert_eq!(count("failed"), 0, "{report}");
    assert!(millionths(&report["spent"]) <= millionths(&report["cap"]), "{report}");

    let refusals = report["refusals"].as_array().unwrap();
    assert!(!refusals.is_empty());
    for refusal in refusals {
        let fields = [
            "admitted_from_cap",
            "cap",
            "committed",
            "exceeds_by",
            "input_tokens",
            "model",
            "output_tokens",
            "reservation",
            "scope",
            "siblings",
            "spent",
            "waiting_helps",
        ];
        for field in fields {
            assert!(keys(refusal).contains(&field), "{field}: {refusal}");
        }
        let amount = |name: &str| millionths(&refusal[name]);
        let asked = amount("spent") + amount("committed") + amount("reservation");
        assert!((asked - amount("cap") - amount("exceeds_by")).abs() < 0.5, "{refusal}");
        assert!((asked - amount("admitted_from_cap")).abs() < 0.5, "{refusal}");
        assert_eq!((&refusal["model"], &refusal["output_tokens"]), (&"scribe".into(), &500.into()));
    }
    for result in folder.results("results.jsonl").iter().filter(|r| r["status"] == "refused") {
        assert_eq!(result["error"]["kind"], "refused");
        assert!(result["cost"].is_null(), "nothing was sent: {result}");
    }
    report
}

#[test]
fn refusing_at_once_stops_where_reservations_end() {
    let folder = Folder::new(500);
    // No answer comes before the wall is reached.
    let slow = crate::support::CATALOG.replace("[1, 3]", "[500, 600]");
    folder.write("models.toml", &slow);
    let report = under_a_cap(&folder, "--refuse-at-once");
    let answered = report["answered"].as_u64().unwrap();
    assert!((15..=20).contains(&answered), "20 reservations of half a cent: {report}");
}

#[test]
fn waiting_for_siblings_uses_the_cap() {
    let report = under_a_cap(&Folder::new(500), "");
    assert!(report["answered"].as_u64().unwrap() > 150, "answers are a tenth of it: {report}");
}

#[test]
fn a_raised_cap_goes_on_with_the_rest() {
    let folder = Folder::new(500);
    let first = under_a_cap(&folder, "")["answered"].as_u64().unwrap();
    let more = run_args("--out results.jsonl --resume --json --cap").chain(["9 USD"]);
    let ended = folder.nucleo(more);
    ended.says(0, &[]);
    assert_eq!(ended.json()["answered"].as_u64().unwrap(), 500 - first, "nothing is paid twice");
}

#[test]
fn the_text_tells_what_was_refused_and_what_would_pass() {
    let folder = Folder::new(10);
    let ended = folder.nucleo(run_args("--out results.jsonl --cap").chain(["0.001 USD"]));
    ended.says(3, &[]);
    assert!(ended.out.starts_with("0 answered, 0 failed, 1 refused, 9 never submitted"));
    assert!(ended.out.contains("refused: workflow input.jsonl"), "{}", ended.out);
}

#[test]
fn a_model_without_a_price_is_refused_under_a_cap() {
    let folder = Folder::new(2);
    let lines = crate::support::CATALOG.lines().filter(|line| !line.starts_with("price"));
    folder.write("models.toml", &lines.collect::<Vec<_>>().join("\n"));
    let ended = folder.nucleo(run_args("--out a.jsonl --cap").chain(["1 USD"]));
    ended.says(3, &[]);
    assert!(ended.out.contains("scribe has no price"), "{}", ended.out);
    folder.run("--out b.jsonl").says(0, &[]);
}
