//! Ctrl-C: once stops submitting and finishes, twice cancels, a third time doesn't wait.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::server::{ANSWER, Server};
use crate::support::{Folder, run_args};

/// A run of three lines, one at a time, whose first call waits for its answer.
struct Going {
    folder: Folder,
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Going {
    fn start(server: &Server) -> Self {
        let folder = Folder::new(3);
        folder.write("models.toml", &server.catalog());
        let mut command = folder.command();
        let command = command.args(run_args("--in-flight 1 --out results.jsonl"));
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { folder, child, stderr }
    }

    fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    }

    /// Presses Ctrl-C, and waits until the command says this.
    fn press(&mut self, until: &str) {
        self.interrupt();
        loop {
            let mut line = String::new();
            assert!(self.stderr.read_line(&mut line).unwrap() > 0, "`{until}` was never said");
            if line.contains(until) {
                return;
            }
        }
    }

    fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn once_stops_submitting_and_finishes() {
    let server = Server::by_hand();
    let mut going = Going::start(&server);
    let asked = server.next();
    going.press("stopping: what runs ends normally");
    asked.answer("200 OK", "application/json", ANSWER);
    assert_eq!(going.code(), Some(1), "two lines were not submitted");
    let results = going.folder.results("results.jsonl");
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["status"], "answered");
    assert_eq!(server.count(), 0, "nothing further was asked");
}

#[test]
fn twice_cancels_and_books_what_ran() {
    let server = Server::by_hand();
    let mut going = Going::start(&server);
    let _never_answered = server.next();
    going.press("stopping");
    going.press("cancelling");
    assert_eq!(going.code(), Some(130));
    let results = going.folder.results("results.jsonl");
    assert_eq!(results.len(), 1, "the file is valid");
    assert_eq!(
        (&results[0]["status"], &results[0]["error"]["kind"]),
        (&"failed".into(), &"cancelled".into())
    );
    assert_eq!(
        results[0]["cost"], "0.005017 USD",
        "what was sent may be owed: a resumed run counts its reservation"
    );
}
