//! What a replay tells at its end.
//!
//! Invariants: `ratio` is the span over the bound; seconds have four decimals.
//!
//! Not here: the bound (`bound`).

use serde::Serialize;

use crate::output::Output;

/// The summary.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) rows: usize,
    pub(super) answered: usize,
    pub(super) failed: usize,
    pub(super) span_s: f64,
    pub(super) bound_s: f64,
    pub(super) ratio: f64,
    pub(super) http_429: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) rss_peak_bytes: Option<u64>,
}

impl Summary {
    pub(super) fn print(&self, json: bool) -> anyhow::Result<()> {
        let mut out = Output::stdout();
        if json {
            out.json(self)?;
            return out.finish();
        }
        out.line(&format!(
            "{} of {} rows answered, {} failed",
            self.answered, self.rows, self.failed
        ))?;
        out.line(&format!(
            "took {:.1} s, {:.3} of the quotas' bound of {:.1} s; {} answers with 429",
            self.span_s, self.ratio, self.bound_s, self.http_429
        ))?;
        if let Some(bytes) = self.rss_peak_bytes {
            out.line(&format!("peak resident memory {} MiB", bytes >> 20))?;
        }
        out.finish()
    }
}

pub(super) fn rounded(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}
