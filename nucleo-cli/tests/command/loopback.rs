//! `nucleo loopback`: a server whose bill is the independent ledger.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::support::{Folder, millionths};

/// Ends with the test, whatever becomes of it.
struct Serving {
    child: Child,
    address: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Serving {
    fn start(folder: &Folder) -> Self {
        let args = "loopback --catalog models.toml --listen 127.0.0.1:0".split(' ');
        let mut child = folder.command().args(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening on http://").unwrap().trim().to_owned();
        Self { child, address }
    }

    fn ask(&self, method: &str, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        let close = "connection: close\r\ncontent-length: 0\r\n\r\n";
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{close}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    }
}

#[test]
fn its_bill_is_our_report() {
    let folder = Folder::new(40);
    let serving = Serving::start(&folder);
    let fresh = json!({
        "requests": 0, "answered": 0, "http_429": 0, "failed": 0,
        "input_tokens": 0, "output_tokens": 0, "billed": {},
    });
    assert_eq!(serving.ask("GET", "/ledger"), fresh);

    let port = serving.address.rsplit(':').next().unwrap().parse().unwrap();
    folder.write("client.toml", &crate::server::catalog(port));
    let args = "run input.jsonl --prompt prompt.txt --catalog client.toml --json --out r.jsonl";
    let ended = folder.nucleo(args.split(' ').chain(["--cap", "1 USD"]));
    ended.says(0, &[]);
    let (report, ledger) = (ended.json(), serving.ask("GET", "/ledger"));
    assert_eq!((&ledger["requests"], &ledger["answered"]), (&json!(40), &json!(40)));
    assert_eq!((&ledger["http_429"], &ledger["failed"]), (&json!(0), &json!(0)));
    let billed = json!(format!("{} USD", ledger["billed"]["USD"].as_str().unwrap()));
    assert!((millionths(&billed) - millionths(&report["spent"])).abs() < 1e-6, "{ledger} {report}");
    let sum = |kind: &str| -> u64 {
        let results = folder.results("r.jsonl");
        results.iter().map(|result| result["usage"][kind].as_u64().unwrap()).sum()
    };
    assert_eq!(ledger["input_tokens"], sum("input"));
    assert_eq!(ledger["output_tokens"], sum("output"));

    serving.ask("POST", "/reset");
    assert_eq!(serving.ask("GET", "/ledger"), fresh);
}

#[test]
fn an_address_in_use_is_named() {
    let folder = Folder::new(0);
    let serving = Serving::start(&folder);
    folder
        .nucleo(["loopback", "--listen", &serving.address])
        .says_only(2, &[&serving.address, "choose another address or port"]);
}
