//! `nucleo check`, `plan` and `replay`: what they print, and files that are wrong.

use crate::support::{Folder, json_lines, keys};

#[test]
fn check_says_what_is_callable() {
    let folder = Folder::new(0);
    let ended = folder.nucleo(["check", "models.toml"]);
    ended.says(0, &[]);
    assert!(ended.out.contains("scribe") && ended.out.contains("1 of 1 models can be called"));
    let ended = folder.nucleo(["check", "models.toml", "--json"]);
    ended.says(0, &[]);
    assert!(ended.json().to_string().contains("scribe"));

    let keyless = crate::server::catalog(1)
        .replace("[models.scribe]", "api_key_env = \"NUCLEO_TEST_NO_SUCH_KEY\"\n[models.scribe]");
    folder.write("keyless.toml", &keyless);
    let ended = folder.nucleo(["check", "keyless.toml"]);
    ended.says(0, &[]);
    assert!(ended.out.contains("0 of 1 models can be called"), "{}", ended.out);
    assert!(ended.out.contains("NUCLEO_TEST_NO_SUCH_KEY"), "it says why not: {}", ended.out);
    let ended =
        folder.nucleo("run input.jsonl --prompt prompt.txt --catalog keyless.toml".split(' '));
    ended.says(2, &["scribe", "NUCLEO_TEST_NO_SUCH_KEY"]);
    assert_eq!(ended.out, "", "no line was asked");
}

#[test]
fn check_names_file_line_and_key() {
    let folder = Folder::new(0);
    let bad = crate::support::CATALOG
        .replace("wire_id", "wireid")
        .replace("tokens_per_minute", "tokens_a_minute");
    folder.write("bad.toml", &bad);
    let ended = folder.nucleo(["check", "bad.toml"]);
    ended.says(2, &["bad.toml:7: models.scribe.wireid: unknown key, did you mean `wire_id`?"]);
    ended.says(2, &["tokens_a_minute"]);
    folder.write("broken.toml", "[models\n");
    folder.nucleo(["check", "broken.toml"]).says(2, &["broken.toml:1"]);
    folder.nucleo(["check", "nope.toml"]).says_only(2, &["nope.toml", "can't be read"]);
}

/// Two jobs for one place, and a bucket that binds the third.
const SCENARIO: &str = r#"{
  "accounts": {"http": {"permits": 1}, "m.tokens": {"per_minute": 60000, "burst": 1000}},
  "jobs": [
    {"id": "a", "arrive_ms": 0, "demand": {"http": 1, "m.tokens": 1000}, "hold_ms": 10},
    {"id": "b", "arrive_ms": 0, "demand": {"http": 1}, "hold_ms": 5, "cost": "0.01 USD"},
    {"id": "c", "arrive_ms": 0, "demand": {"m.tokens": 500}, "hold_ms": 5},
    {"id": "d", "arrive_ms": 0, "demand": {"m.tokens": 1001}, "hold_ms": 5}
  ]}"#;

#[test]
fn plan_tells_each_job_and_the_whole() {
    let folder = Folder::new(0);
    folder.write("plan.json", SCENARIO);
    let ended = folder.nucleo(["plan", "plan.json", "--json"]);
    ended.says(0, &[]);
    let lines = json_lines(&ended.out);
    let told: Vec<_> = lines[..4]
        .iter()
        .map(|job| {
            (
                job["id"].as_str().unwrap(),
                job["outcome"].as_str().unwrap(),
                job["at_ms"].as_f64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("a", "granted", 0.0),
        ("b", "granted", 10.0),
        ("c", "granted", 500.0),
        ("d", "refused", 0.0),
    ];
    assert_eq!(told, expected);
    assert_eq!(keys(&lines[4]), ["summary"]);
    let ended = folder.nucleo(["plan", "plan.json"]);
    ended.says(0, &[]);
    assert!(ended.out.contains("3 granted, 1 refused"), "{}", ended.out);
}

#[test]
fn plan_names_what_is_wrong_in_a_scenario() {
    let folder = Folder::new(0);
    let says = |text: &str, parts: &[&str]| {
        folder.write("plan.json", text);
        let ended = folder.nucleo(["plan", "plan.json"]);
        ended.says_only(2, &["plan.json"]);
        ended.says_only(2, parts);
    };
    let job = |more: &str| {
        format!(
            r#"{{"accounts": {{"http": {{"permits": 1}}}}, "jobs": [
            {{"id": "a", "arrive_ms": 0, "hold_ms": 1, {more}}}]}}"#
        )
    };
    says(&job(r#""demand": {"http": 1}, "holdms": 1"#), &["unknown field `holdms`"]);
    says(&job(r#""demand": {"htpt": 1}"#), &["job a", "`htpt`", "none of the scenario's accounts"]);
    says(&job(r#""demand": {"http": 1}, "after": "a""#), &["job a", "waits for itself"]);
    says(&job(r#""demand": {"http": 1}, "after": "z""#), &["job a", "`z`"]);
    says("{", &["is no scenario"]);
    folder.nucleo(["plan", "nope.json"]).says_only(2, &["can't read the scenario nope.json"]);
}

#[test]
fn replay_names_what_is_wrong_in_a_trace() {
    let folder = Folder::new(0);
    let says = |text: &str, parts: &[&str]| {
        folder.write("trace.csv", text);
        let ended = folder.nucleo(["replay", "trace.csv"]);
        ended.says_only(2, &["trace.csv"]);
        ended.says_only(2, parts);
    };
    const HEAD: &str = "t_ms,input_tokens,output_tokens,model\n";
    says("t_ms,input_tokens\n1,2\n", &["row 1", "missing field `output_tokens`"]);
    says(&format!("{HEAD}1,2,3,\n1,x,3,\n"), &["row 2", "line: 3", "invalid digit"]);
    says(&format!("{HEAD}-1,2,3,\n"), &["row 1", "t_ms -1 is no instant"]);
    says(&format!("{HEAD}1,2,3,nope\n"), &["row 1", "has no model `nope`"]);
    says(&format!("{HEAD}1,2,3000000,\n"), &["row 1", "3000000 output tokens", "max_output"]);
    says(&format!("{HEAD}1,{},3,\n", u64::MAX), &["row 1", "input tokens", "raise its context"]);
    says(HEAD, &["has no rows"]);
    folder.nucleo(["replay", "nope.csv"]).says_only(2, &["can't read the trace nope.csv"]);
    folder.write("mine.toml", &crate::server::catalog(1));
    folder.write("trace.csv", &format!("{HEAD}1,2,3,\n"));
    folder
        .nucleo("replay trace.csv --catalog mine.toml".split(' '))
        .says_only(2, &["mine.toml", "kind `loopback`"]);
    folder.nucleo("replay trace.csv --speed 0".split(' ')).says_only(2, &["--speed 0"]);
    folder.nucleo("replay trace.csv --declare 0".split(' ')).says(2, &["above zero"]);
}

/// Two seconds' work beyond the burst of a second.
#[test]
fn replay_at_once_keeps_to_the_bound_without_a_single_429() {
    let folder = Folder::new(0);
    let quotas = "requests_per_minute = 1_000_000, tokens_per_minute = 600_000, burst_s = 1";
    let quotas = crate::support::CATALOG
        .replace("requests_per_minute = 1_000_000, tokens_per_minute = 1_000_000_000", quotas);
    folder.write("models.toml", &quotas);
    let rows: String = (0..300).map(|n| format!("{n},{},{}\n", 60 + n % 40, 10 + n % 21)).collect();
    folder.write("trace.csv", &format!("t_ms,input_tokens,output_tokens\n{rows}"));
    let args = "replay trace.csv --catalog models.toml --at-once --json --out rows.jsonl";
    let ended = folder.nucleo(args.split(' '));
    ended.says(0, &[]);
    let summary = ended.json();
    for field in ["span_s", "bound_s", "http_429", "answered", "rss_peak_bytes"] {
        assert!(keys(&summary).contains(&field), "{field}: {summary}");
    }
    assert_eq!((&summary["answered"], &summary["failed"]), (&300.into(), &0.into()));
    assert_eq!(summary["http_429"], 0, "{summary}");
    let (span, bound) = (summary["span_s"].as_f64().unwrap(), summary["bound_s"].as_f64().unwrap());
    assert!(bound > 1.5 && span >= bound, "the quota binds: {summary}");
    // What is not the quota's here is the start of a debug build on a busy machine.
    assert!(span <= bound * 1.05 + 0.5, "{summary}");
    assert_eq!(folder.results("rows.jsonl").len(), 300);
}
