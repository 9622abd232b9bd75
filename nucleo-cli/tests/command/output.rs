//! Output that is lost: a full disk, a closed pipe.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{Ended, Folder, run_args};

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_results_file_on_a_full_disk() {
    let ended = Folder::new(3).run("--out /dev/full --overwrite");
    ended.says(74, &["can't write /dev/full", "free some space or choose another place"]);
    ended.says(74, &["No space left on device", "no further line is submitted"]);
}

#[test]
fn standard_output_on_a_full_disk() {
    let folder = Folder::new(3);
    let ends = |args: &str| {
        let mut child = folder.command();
        let child = child.args(args.split_whitespace()).stdout(full()).stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        Ended { code: output.status.code().unwrap(), out: String::new(), err }
    };
    let run: Vec<_> = run_args("").collect();
    let lost = ["can't write standard output", "No space left on device"];
    ends(&run.join(" ")).says(74, &lost);
    ends(&format!("{} --json --out a.jsonl", run.join(" "))).says(74, &lost);
    ends(&format!("{} --out b.jsonl", run.join(" "))).says(74, &lost);
    assert_eq!(folder.results("b.jsonl").len(), 3, "the results themselves are not lost");
    ends("check models.toml").says(74, &lost);
    ends("check models.toml --json").says(74, &lost);
    folder.write("plan.json", r#"{"accounts": {}, "jobs": []}"#);
    ends("plan plan.json --json").says(74, &lost);
    folder.write("trace.csv", "t_ms,input_tokens,output_tokens\n0,5,5\n");
    ends("replay trace.csv --json").says(74, &lost);
    let ended = folder.nucleo("replay trace.csv --out /dev/full".split(' '));
    ended.says(74, &["can't write /dev/full"]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let folder = Folder::new(2_000);
    let mut command = folder.command();
    let command = command.args(run_args("--in-flight 20"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    // As `| head -1`: one line is read, then the pipe is closed.
    BufReader::with_capacity(1, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("\"status\":\"answered\""), "{line}");
    let code = child.wait().unwrap().code();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((code, err.as_str()), (Some(74), ""));
}
