//! What the command line says.
//!
//! Invariants: every flag is documented here, and `--help` is its page.
//!
//! Not here: what the commands do with it (`commands`).

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Runs LLM agents inside provider quotas, memory and a money cap.
#[derive(Debug, Parser)]
#[command(name = "nucleo", version, about, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan a scenario in virtual time: when every job would go; nothing is sent.
    Plan(Plan),
}

/// Arguments of `nucleo plan`.
#[derive(Debug, clap::Args)]
pub(crate) struct Plan {
    /// The scenario, a JSON file; `-` reads standard input.
    pub(crate) scenario: PathBuf,
    /// One JSON line a job, in file order, then the summary.
    #[arg(long)]
    pub(crate) json: bool,
}
