//! `nucleo run` against servers that are wrong or gone: what a user sees, and when.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::Value;

use crate::server::{ANSWER, Server, catalog};
use crate::support::{Folder, json_lines, run_args};

#[track_caller]
fn only_failure(folder: &Folder, server: &Server) -> (String, String) {
    folder.write("models.toml", &server.catalog());
    let ended = folder.run("");
    ended.says(1, &["0 answered, 1 failed"]);
    let error: Value = json_lines(&ended.out)[0]["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap().to_owned();
    (text("kind"), text("message"))
}

#[test]
fn a_server_that_answers() {
    let folder = Folder::new(1);
    let server = Server::always("200 OK", "application/json", ANSWER);
    folder.write("models.toml", &server.catalog());
    let ended = folder.run("");
    ended.says(0, &[]);
    let result = &json_lines(&ended.out)[0];
    assert_eq!((&result["answer"], &result["cost"]), (&"fine".into(), &"0.00021 USD".into()));
    assert_eq!(server.count(), 1);
}

#[test]
fn what_no_retry_helps_is_asked_once_and_says_why() {
    let body = r#"{"error": {"message": "no such model", "type": "invalid_request_error"}}"#;
    let page = "<html>Not here</html>";
    let cases = [
        ("404 Not Found", "application/json", body, "check the model's wire_id and base_url"),
        ("401 Unauthorized", "application/json", body, "check the API key"),
        ("400 Bad Request", "application/json", body, "no such model"),
        ("404 Not Found", "text/html", page, "check base_url"),
        ("403 Forbidden", "text/html", page, "check base_url, and proxies on the way"),
    ];
    for (status, kind, body, remedy) in cases {
        let (folder, server) = (Folder::new(1), Server::always(status, kind, body));
        let (name, message) = only_failure(&folder, &server);
        assert_eq!(name, "permanent", "{message}");
        assert!(message.starts_with("failed after 1 attempt (permanent): "), "{message}");
        assert!(message.contains(remedy), "{message}");
        assert_eq!(server.count(), 1, "{status}");
    }
}

#[test]
fn out_of_credit_is_never_tried_again() {
    let body = r#"{"error": {"message": "pay", "type": "insufficient_quota", "code": "insufficient_quota"}}"#;
    let folder = Folder::new(1);
    let server = Server::always("429 Too Many Requests", "application/json", body);
    let (name, message) = only_failure(&folder, &server);
    assert_eq!(name, "out_of_credit");
    assert!(message.contains("top up the account at the provider"), "{message}");
    assert_eq!(server.count(), 1);
}

/// Trouble that is tried again is told at once, not when the last retry has failed.
#[track_caller]
fn told_at_once(catalog: &str, parts: &[&str]) {
    let folder = Folder::new(3);
    folder.write("models.toml", catalog);
    let mut command = folder.command();
    let command = command.args(run_args("--out results.jsonl"));
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    for part in parts {
        assert!(line.contains(part), "`{part}` is not in: {line}");
    }
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains(line.trim()), "told once: {rest}");
}

#[test]
fn a_server_that_is_down() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    told_at_once(&catalog(port), &["127.0.0.1:", "check base_url, and that the server is up"]);
}

#[test]
fn a_server_that_answers_with_a_web_page() {
    let server = Server::always("200 OK", "text/html", "<html>Welcome</html>");
    told_at_once(&server.catalog(), &["answers with a web page", "check base_url"]);
}

#[test]
fn a_server_that_fails() {
    let server = Server::always("502 Bad Gateway", "text/html", "<html>Oh no</html>");
    told_at_once(&server.catalog(), &["answers 502 Bad Gateway"]);
}
