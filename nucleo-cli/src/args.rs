//! What the command line says.
//!
//! Invariants: every flag is documented here, and `--help` is its page.
//!
//! Not here: what the commands do with it (`commands`).

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use nucleo_agents::catalog::Grade;
use nucleo_core::Money;

/// Runs LLM agents inside provider quotas, memory and a money cap.
#[derive(Debug, Parser)]
#[command(name = "nucleo", version, about, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a model about every line of a file, under a cap.
    Run(Run),
    /// Replay a workload through the runtime and real HTTP against the loopback provider.
    Replay(Replay),
    /// Plan a scenario in virtual time: when every job would go; nothing is sent.
    Plan(Plan),
    /// Serve the loopback provider: a model server on this machine.
    Loopback(Loopback),
    /// Load a catalog strictly, and say what is callable and why not.
    Check(Check),
}

/// Arguments of `nucleo run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// One JSON object a line: fields for the prompt's template, or a ready `messages` array.
    pub(crate) input: PathBuf,
    /// The prompt: a text in which `{{field}}` stands for a field of the line. Lines that bring their
    /// own `messages` need none.
    #[arg(long, value_name = "FILE")]
    pub(crate) prompt: Option<PathBuf>,
    /// The most to spend, as in "5 USD".
    #[arg(long)]
    pub(crate) cap: Option<Money>,
    /// Near the cap, refuse at once: don't wait for running calls to settle for less than they
    /// reserved.
    #[arg(long)]
    pub(crate) refuse_at_once: bool,
    /// The catalog; the embedded loopback models unless told.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// The least capable grade that will do.
    #[arg(long, default_value_t = Grade::Small)]
    pub(crate) grade: Grade,
    /// How large an answer may be, in tokens: reserved, paid for in advance, sent as the limit. 4096
    /// unless told, never more than the model can give.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) output: Option<u64>,
    /// How many lines are under way at once.
    #[arg(long, value_name = "LINES", default_value = "1000")]
    pub(crate) in_flight: NonZeroUsize,
    /// Where results go, one JSON line each, in order of completion; standard output unless told.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Go on with an existing results file: answered lines are skipped, what they cost counts.
    #[arg(long, requires = "out", conflicts_with = "overwrite")]
    pub(crate) resume: bool,
    /// Replace an existing results file.
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// The report as one JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `nucleo replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// The workload, a CSV file with the columns `t_ms,input_tokens,output_tokens[,model]`.
    pub(crate) trace: PathBuf,
    /// The catalog; its loopback models serve. The embedded one unless told.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Only so many rows.
    #[arg(long)]
    pub(crate) rows: Option<usize>,
    /// So many times as fast as recorded.
    #[arg(long, default_value_t = 1.0, conflicts_with = "at_once")]
    pub(crate) speed: f64,
    /// All rows at the start.
    #[arg(long)]
    pub(crate) at_once: bool,
    /// The output that is reserved for each row: a number of tokens, or `actual`, the row's own.
    #[arg(long, value_name = "TOKENS|actual", default_value = "actual")]
    pub(crate) declare: Declare,
    /// Where results go, one JSON line a row.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The summary as one JSON object on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The output that a replayed row reserves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Declare {
    Actual,
    Tokens(u64),
}

impl std::str::FromStr for Declare {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<u64>() {
            Ok(tokens) if tokens > 0 => Ok(Self::Tokens(tokens)),
            _ if text == "actual" => Ok(Self::Actual),
            _ => Err("write a number of tokens above zero, or `actual`".to_owned()),
        }
    }
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

/// Arguments of `nucleo loopback`.
#[derive(Debug, clap::Args)]
pub(crate) struct Loopback {
    /// The catalog whose loopback models are served; the embedded one unless told.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalog: Option<PathBuf>,
    /// Where to listen.
    #[arg(long, default_value = "127.0.0.1:8099")]
    pub(crate) listen: SocketAddr,
    /// The seed of answers, latencies and random faults.
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Arguments of `nucleo check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// The catalog.
    pub(crate) catalog: PathBuf,
    /// One JSON object instead of the table.
    #[arg(long)]
    pub(crate) json: bool,
}
