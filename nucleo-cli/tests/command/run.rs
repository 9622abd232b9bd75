//! `nucleo run`: results, the report, and input that is wrong.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Ended, Folder, json_lines, keys};

#[test]
fn every_line_is_answered_and_told() {
    let folder = Folder::new(20);
    let ended = folder.run("--cap 1USD --out results.jsonl");
    assert_eq!(ended.code, 2, "a cap without a space is no money: {}", ended.err);
    let ended = folder.nucleo(
        "run input.jsonl --prompt prompt.txt --catalog models.toml --out results.jsonl"
            .split(' ')
            .chain(["--cap", "1 USD"]),
    );
    ended.says(0, &[]);
    assert!(ended.out.starts_with("20 answered, 0 failed, 0 refused, 0 never submitted; 0.0"));
    let results = folder.results("results.jsonl");
    let indexes: BTreeSet<u64> = results.iter().map(|r| r["index"].as_u64().unwrap()).collect();
    assert_eq!(indexes, (0..20).collect());
    for result in &results {
        let fields = [
            "answer",
            "attempts",
            "cost",
            "index",
            "model",
            "status",
            "usage",
            "wait_ms",
            "waited_on",
        ];
        assert_eq!(keys(result), fields);
        let usage = ["cache_read", "cache_write", "input", "output", "reasoning"];
        assert_eq!(keys(&result["usage"]), usage);
        assert_eq!((&result["status"], &result["model"]), (&json!("answered"), &json!("scribe")));
        assert_eq!(result["attempts"], 1);
        let (input, output) = (&result["usage"]["input"], &result["usage"]["output"]);
        let cost = input.as_u64().unwrap() + 10 * output.as_u64().unwrap();
        assert_eq!(result["cost"], format!("{} USD", decimal(cost)), "{result}");
    }
}

/// Millionths as the money type prints them.
fn decimal(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let cut = text.trim_end_matches('0');
    let places = cut.len() - cut.find('.').unwrap() - 1;
    format!("{cut}{}", "0".repeat(2_usize.saturating_sub(places)))
}

#[test]
fn the_report_as_json_stands_alone_on_standard_output() {
    let folder = Folder::new(5);
    let ended = folder.run("--out results.jsonl --json");
    ended.says(0, &[]);
    let report = ended.json();
    let fields = [
        "answered",
        "cap",
        "estimated",
        "failed",
        "failures",
        "not_submitted",
        "refusals",
        "refused",
        "spent",
        "waits",
        "wall_s",
        "workflow",
    ];
    assert_eq!(keys(&report), fields);
    assert_eq!((&report["answered"], &report["cap"]), (&json!(5), &json!(null)));
    assert_eq!((&report["refusals"], &report["waits"]), (&json!([]), &json!({})));
    assert!(report["spent"].as_str().unwrap().ends_with(" USD"));
}

#[test]
fn results_without_a_file_are_standard_output_alone() {
    let ended = Folder::new(3).run("");
    ended.says(0, &["3 answered, 0 failed"]);
    assert_eq!(json_lines(&ended.out).len(), 3);
}

#[test]
fn a_broken_line_is_its_items_failure() {
    let folder = Folder::new(0);
    let messages = r#"{"messages": [{"role": "user", "content": "Hello"}]}"#;
    let lines = [
        r#"{"parcel": 1}"#,
        r#"{"parcel": "#,
        "",
        r#"{"other": 1}"#,
        "[1]",
        messages,
        r#"{"messages": []}"#,
        r#"{"messages": [{"role": "user"}]}"#,
        "\u{fffd}",
    ];
    folder.write("input.jsonl", &lines.join("\n"));
    let ended = folder.run("--out results.jsonl");
    ended.says(1, &[]);
    assert!(ended.out.starts_with("2 answered, 6 failed, 0 refused, 0 never submitted"));
    let results = folder.results("results.jsonl");
    let expected = [
        (
            1,
            "line 2: no JSON: EOF while parsing a value in column 10: write one JSON object a line",
        ),
        (3, "line 4: the line has no field `parcel`, which the prompt asks for"),
        (4, "line 5: no object: write one object a line"),
        (6, "line 7: messages is empty: it needs one message at least"),
        (7, "line 8: messages: "),
        (8, "line 9: no JSON: "),
    ];
    for (index, message) in expected {
        let result = results.iter().find(|result| result["index"] == index).unwrap();
        assert_eq!(result["status"], "failed");
        assert_eq!(result["error"]["kind"], "bad_input");
        let said = result["error"]["message"].as_str().unwrap();
        assert!(said.starts_with(message), "{said}");
        assert_eq!((&result["attempts"], &result["cost"]), (&json!(0), &json!(null)));
    }
}

#[test]
fn lines_without_messages_need_a_prompt() {
    let folder = Folder::new(1);
    let ended = folder.nucleo("run input.jsonl --catalog models.toml".split(' '));
    ended.says(1, &[]);
    let message = json_lines(&ended.out)[0]["error"]["message"].clone();
    assert_eq!(message, "line 1: it has no `messages`: add them, or give --prompt FILE");
}

#[test]
fn what_can_not_start_says_why_and_touches_nothing() {
    let folder = Folder::new(3);
    folder.write("results.jsonl", "precious\n");
    let run = |args: &str| folder.nucleo(args.split(' '));
    let overwrite = "--out results.jsonl --overwrite";
    run(&format!("run nope.jsonl --prompt prompt.txt {overwrite}"))
        .says_only(2, &["can't read the input nope.jsonl", "one JSON object a line"]);
    run(&format!("run . --prompt prompt.txt {overwrite}"))
        .says_only(2, &["the input . is a folder", "name a file"]);
    run(&format!("run input.jsonl --prompt nope.txt {overwrite}"))
        .says_only(2, &["can't read the prompt nope.txt"]);
    folder.write("typo.txt", "Say\n{{two words}}\n");
    run(&format!("run input.jsonl --prompt typo.txt {overwrite}"))
        .says_only(2, &["typo.txt: line 2: `two words`", "letters, digits"]);
    folder.write("open.txt", "Say {{parcel");
    run(&format!("run input.jsonl --prompt open.txt {overwrite}"))
        .says_only(2, &["open.txt: line 1", "{{field}}"]);
    folder.write("bad.toml", &crate::support::CATALOG.replace("max_output", "max_outptu"));
    let bad = run(&format!("run input.jsonl --prompt prompt.txt --catalog bad.toml {overwrite}"));
    bad.says(2, &["bad.toml:", "max_outptu: unknown key, did you mean `max_output`?"]);
    folder.write(
        "cert.toml",
        &crate::support::CATALOG
            .replace("\"loopback\"", "\"openai-compatible\"\nbase_url = \"no url\""),
    );
    run(&format!("run input.jsonl --prompt prompt.txt --catalog cert.toml {overwrite}"))
        .says(2, &["base_url"]);
    assert_eq!(folder.read("results.jsonl"), "precious\n");
}

#[test]
fn an_existing_results_file_is_not_replaced_by_accident() {
    let folder = Folder::new(2);
    folder.write("results.jsonl", "precious\n");
    folder
        .run("--out results.jsonl")
        .says_only(2, &["results.jsonl exists", "--resume", "--overwrite"]);
    assert_eq!(folder.read("results.jsonl"), "precious\n");
    folder.run("--out results.jsonl --overwrite").says(0, &[]);
    assert_eq!(folder.results("results.jsonl").len(), 2);

    let input = folder.read("input.jsonl");
    folder.run("--out input.jsonl --overwrite").says_only(2, &["is the input itself"]);
    folder.run("--out ./input.jsonl --resume").says_only(2, &["is the input itself"]);
    assert_eq!(folder.read("input.jsonl"), input);
    folder.run("--out . --overwrite").says_only(2, &["is a folder"]);
    folder.run("--resume").says(2, &["--out"]);
}

#[test]
fn a_demand_larger_than_its_account_fails_by_name() {
    let folder = Folder::new(1);
    let small = crate::support::CATALOG.replace("1_000_000_000", "5_000");
    folder.write("models.toml", &small);
    folder.write("prompt.txt", &format!("{} {{{{parcel}}}}", "word ".repeat(6_000)));
    let ended = folder.run("");
    ended.says(1, &["0 answered, 1 failed"]);
    let error = json_lines(&ended.out)[0]["error"].clone();
    assert_eq!(error["kind"], "larger_than_limit");
    let message = error["message"].as_str().unwrap();
    for part in ["scribe.tokens", "never holds more than", "ask for less or raise the limit"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_no_window_holds_names_model_and_window() {
    let folder = Folder::new(1);
    folder.write("prompt.txt", &format!("{} {{{{parcel}}}}", "word ".repeat(40_000)));
    let ended = folder.run("");
    ended.says(1, &[]);
    let error = json_lines(&ended.out)[0]["error"].clone();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("scribe") && message.contains("32000"), "{message}");
}

#[test]
fn the_first_command_of_the_readme() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    let (_, command) = readme.split_once("cargo run -- run ").unwrap();
    let command = command.split("```").next().unwrap().replace("\\\n", " ");
    assert!(command.contains(r#"--cap "0.20 USD" --out results.jsonl --overwrite"#));
    let folder = Folder::new(0);
    let out = folder.path("results.jsonl");
    let ended = Ended::of(
        folder
            .command()
            .current_dir(root)
            .args(
                "run examples/data/documents.jsonl --prompt examples/data/summarise.txt".split(' '),
            )
            .args(["--cap", "0.20 USD", "--out", out.to_str().unwrap(), "--overwrite"]),
    );
    ended.says(0, &[]);
    let results = folder.results("results.jsonl").len();
    let input = std::fs::read_to_string(format!("{root}/examples/data/documents.jsonl")).unwrap();
    assert_eq!(results, input.lines().count());
    let told = format!("{results} answered, 0 failed, 0 refused, 0 never submitted");
    assert!(ended.out.starts_with(&told) && readme.contains(&told), "{}", ended.out);
}
