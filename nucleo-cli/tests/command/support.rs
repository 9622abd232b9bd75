//! Starting the command in a folder of its own.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A fast model of the loopback provider, with quotas that don't bind.
pub(crate) const CATALOG: &str = r#"
[providers.house]
kind = "loopback"

[models.scribe]
provider = "house"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 1_000_000, tokens_per_minute = 1_000_000_000 }
price = { currency = "USD", input = 1, output = 10 }

[models.scribe.loopback]
first_token_ms = [1, 3]
per_token_us = 10
output_tokens = [20, 40]
"#;

/// A folder with a catalog, a prompt and an input.
pub(crate) struct Folder {
    folder: TempDir,
}

/// How a command ended, and what it said.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    /// With `lines` lines of input.
    pub(crate) fn new(lines: usize) -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap() };
        folder.write("models.toml", CATALOG);
        folder.write("prompt.txt", "What is said of parcel number {{parcel}}?\n");
        let input = (0..lines).map(|n| format!("{{\"parcel\": {n}}}\n")).collect::<String>();
        folder.write("input.jsonl", &input);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The objects of a file of JSON lines, by their index.
    pub(crate) fn results(&self, name: &str) -> Vec<Value> {
        let text = self.read(name);
        assert!(text.is_empty() || text.ends_with('\n'), "the last line is whole: {text}");
        json_lines(&text)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nucleo"));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command to its end.
    pub(crate) fn nucleo(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
        Ended::of(self.command().args(args))
    }

    /// `nucleo run` over the folder's own files, with further arguments in one string.
    pub(crate) fn run(&self, more: &str) -> Ended {
        self.nucleo(run_args(more))
    }
}

/// The arguments of `nucleo run` over a folder's own files.
pub(crate) fn run_args(more: &str) -> impl Iterator<Item = &str> {
    let usual = "run input.jsonl --prompt prompt.txt --catalog models.toml --output 500";
    usual.split(' ').chain(more.split_whitespace())
}

impl Ended {
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().expect("no signal ended it");
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Ends with this code, and standard error has each of these.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, parts: &[&str]) {
        for part in parts {
            assert!(self.err.contains(part), "`{part}` is not in: {}", self.err);
        }
        assert_eq!(self.code, code, "{} {}", self.out, self.err);
    }

    /// Ends with this code, and with one message on standard error alone that has each of these.
    #[track_caller]
    pub(crate) fn says_only(&self, code: i32, parts: &[&str]) {
        self.says(code, parts);
        assert!(self.err.starts_with("nucleo: "), "{}", self.err);
        assert_eq!(self.err.trim_end().lines().count(), 1, "one message: {}", self.err);
        assert_eq!(self.out, "");
    }

    /// The one JSON object on standard output.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}

pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The keys of an object, in alphabetical order.
pub(crate) fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// An amount of millionths of a dollar, from money as it is printed.
pub(crate) fn millionths(money: &Value) -> f64 {
    let text = money.as_str().unwrap();
    let (amount, currency) = text.split_once(' ').unwrap();
    assert_eq!(currency, "USD");
    amount.parse::<f64>().unwrap() * 1e6
}
