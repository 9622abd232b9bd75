//! The commands, one file each.
//!
//! Not here: their arguments (`args`), how they end (`exit`).

mod plan;

use std::process::ExitCode;

use crate::args::Command;

/// Runs a command.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Plan(args) => plan::run(&args),
    }
}
