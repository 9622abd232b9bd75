//! The commands, one file or folder each.
//!
//! Invariants: a command returns its exit code, or an error that `exit` prints.
//!
//! Not here: their arguments (`args`), how they end (`exit`).

mod check;
mod loopback;
mod plan;
mod replay;
mod run;

use std::path::Path;
use std::process::ExitCode;

use nucleo_agents::catalog::Catalog;

use crate::args::Command;

/// Runs a command.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Loopback(args) => loopback::run(&args),
        Command::Check(args) => check::run(&args),
    }
}

/// The catalog of a file, or the embedded one.
fn catalog(path: Option<&Path>) -> anyhow::Result<Catalog> {
    Ok(match path {
        Some(path) => Catalog::load(path)?,
        None => Catalog::loopback(),
    })
}

/// Runs a future on a runtime of its own.
fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(future)
}
