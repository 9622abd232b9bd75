//! Standard output: a lock, a buffer, and errors that say that output was lost.
//!
//! Invariants: a line is written whole or the command ends with the documented code.
//!
//! Not here: results files (`commands::run`).

use std::io::{BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::exit::OutputLost;

/// Standard output.
pub(crate) struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub(crate) fn stdout() -> Self {
        Self { out: BufWriter::new(std::io::stdout().lock()) }
    }

    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        writeln!(self.out, "{text}").map_err(lost)
    }

    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string(value)?;
        self.line(&text)
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.out.flush().map_err(lost)
    }
}

fn lost(cause: std::io::Error) -> anyhow::Error {
    OutputLost { place: "standard output".to_owned(), cause }.into()
}
