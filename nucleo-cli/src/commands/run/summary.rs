//! The report at the end of a run: as text, or as one JSON object.
//!
//! Invariants: the counts add up to the lines of the input that were not skipped.
//!
//! Not here: single results (`results`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_agents::Workflow;
use nucleo_agents::fan_out::Tally;
use nucleo_core::spend::SpendRefusal;
use nucleo_core::{Money, Span};
use serde::Serialize;

use crate::output::Output;

#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    workflow: String,
    answered: usize,
    failed: usize,
    refused: usize,
    not_submitted: usize,
    spent: Option<Money>,
    cap: Option<Money>,
    wall_s: f64,
    /// Failed lines by the kind of their error.
    failures: BTreeMap<String, usize>,
    /// Calls whose cost is an estimate: reservations, where no complete answer came.
    estimated: u64,
    refusals: Vec<SpendRefusal>,
    waits: BTreeMap<Arc<str>, WaitLine>,
}

#[derive(Debug, Serialize)]
struct WaitLine {
    jobs: u64,
    total_ms: u64,
    max_ms: u64,
}

/// How many refusals the text report prints.
const REFUSALS_SHOWN: usize = 5;

impl Summary {
    pub(crate) fn of(
        workflow: &Workflow,
        tally: &Tally,
        failures: BTreeMap<String, usize>,
        not_submitted: usize,
        wall: Span,
    ) -> Self {
        let line = |(account, waits): (&Arc<str>, &nucleo_agents::fan_out::Waits)| {
            let (total_ms, max_ms) = (waits.total.as_millis(), waits.longest.as_millis());
            (Arc::clone(account), WaitLine { jobs: waits.jobs, total_ms, max_ms })
        };
        Self {
            workflow: workflow.name().to_owned(),
            answered: tally.answered,
            failed: tally.failed,
            refused: tally.refused,
            not_submitted,
            spent: workflow.spent(),
            cap: workflow.cap(),
            wall_s: (wall.as_secs_f64() * 1e3).round() / 1e3,
            failures,
            estimated: workflow.totals().estimates,
            refusals: workflow.refusals(),
            waits: tally.waits.iter().map(line).collect(),
        }
    }

    /// Prints it: JSON on standard output; text there too, unless the results went there.
    pub(crate) fn print(&self, json: bool, results_in_file: bool) -> anyhow::Result<()> {
        if json {
            let mut out = Output::stdout();
            out.json(self)?;
            return out.finish();
        }
        let text = self.text();
        if !results_in_file {
            eprint!("{text}");
            return Ok(());
        }
        let mut out = Output::stdout();
        out.line(text.trim_end())?;
        out.finish()
    }

    fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        let mut line = |said: std::fmt::Arguments<'_>| {
            writeln!(text, "{said}").expect("writing to a string can't fail");
        };
        let Self { answered, failed, refused, not_submitted, wall_s, .. } = self;
        let money = match (self.spent, self.cap) {
            (Some(spent), Some(cap)) => format!("; {spent} of {cap}"),
            (Some(spent), None) => format!("; {spent}"),
            (None, Some(cap)) => format!("; nothing of {cap}"),
            (None, None) => String::new(),
        };
        line(format_args!(
            "{answered} answered, {failed} failed, {refused} refused, \
             {not_submitted} never submitted{money}; {wall_s:.1} s"
        ));
        if !self.failures.is_empty() {
            let kinds = self.failures.iter().map(|(kind, count)| format!("{count} {kind}"));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            line(format_args!("failed: {kinds}; each line's result says why"));
        }
        if self.estimated > 0 {
            line(format_args!(
                "{} calls had no complete answer: they are paid as reserved, an estimate",
                self.estimated
            ));
        }
        for (account, waits) in &self.waits {
            let mean = waits.total_ms / waits.jobs.max(1);
            line(format_args!(
                "waited on {account}: {} lines, {mean} ms on average, {} ms at most",
                waits.jobs, waits.max_ms
            ));
        }
        for refusal in self.refusals.iter().take(REFUSALS_SHOWN) {
            line(format_args!("refused: {refusal}"));
        }
        if self.refusals.len() > REFUSALS_SHOWN {
            let more = self.refusals.len() - REFUSALS_SHOWN;
            line(format_args!("… and {more} more refusals; --json tells all"));
        }
        text
    }
}
