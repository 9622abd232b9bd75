//! The `nucleo` command: run agents over a file, plan, replay, serve, check.
//!
//! Results and reports go to standard output, progress and messages to standard error; what ends the
//! command badly is one sentence that names the place and the remedy, and a documented exit code.
//!
//! Not here: what the commands do (`commands`), the runtime (`nucleo-agents`).
#![forbid(unsafe_code)]

mod args;
mod commands;
mod exit;
mod interrupt;
#[cfg(test)]
#[path = "../../nucleo-core/tests/bytes/kit.rs"]
mod kit;
mod output;
mod progress;
mod trouble;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match commands::run(args.command) {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}
