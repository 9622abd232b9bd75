//! The `nucleo` command as a process: what it prints, what it leaves, how it ends.
//!
//! Each test starts the binary with files of its own and reads what a user or a script would. Nothing
//! waits for a time: what has to happen first is seen on a pipe or at a server of the test's own.
//!
//! Where to look: `support` starts it; `run`, `resume`, `cap`, `servers`, `output`, `interrupts` are
//! about `nucleo run`; `others` about the other commands, `loopback` about the server.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cap;
#[cfg(unix)]
mod interrupts;
mod loopback;
mod others;
#[cfg(target_os = "linux")]
mod output;
mod resume;
mod run;
mod server;
mod servers;
mod support;
