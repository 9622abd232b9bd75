//! Progress: a bar on a terminal, plain lines elsewhere, always on standard error.
//!
//! Invariants: at most one plain line every few seconds, so that a log stays readable; when nothing
//! ends for a while, those that stall are named, ever less often; nothing here delays a result.
//!
//! Not here: results and reports, which go to standard output.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nucleo_agents::Workflow;
use nucleo_core::{Span, Time};

/// Between two plain lines.
const PLAIN_EVERY: Span = Span::from_secs(10);
/// Between two looks at what waits, on a terminal, when nothing is done.
const BAR_EVERY: Span = Span::from_secs(1);

/// After so long without an end, those that stall are named.
const PATIENCE: Span = Span::from_secs(30);
/// How many of them.
const STALLS_NAMED: usize = 2;

/// A run's progress.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    done: u64,
    /// When it was shown last.
    shown: Time,
    begun: Time,
    /// When one ended last.
    ended: Time,
    /// After so long without an end, those that stall are named.
    patience: Span,
}

impl Progress {
    pub(crate) fn new(total: Option<u64>, now: Time) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = if total.is_some() {
                "{bar:24} {pos}/{len} {msg}"
            } else {
                "{spinner} {pos} done {msg}"
            };
            let style = ProgressStyle::with_template(template).expect("the template is ours");
            bar.set_style(style);
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        Self { bar, done: 0, shown: now, begun: now, ended: now, patience: PATIENCE }
    }

    /// One more is done.
    pub(crate) fn step(&mut self, workflow: &Workflow, in_flight: usize, now: Time) {
        self.done += 1;
        (self.ended, self.patience) = (now, PATIENCE);
        self.show(workflow, in_flight, now);
    }

    /// When it is to be shown next, also if nothing is done until then.
    pub(crate) fn due(&self) -> Time {
        let every = if self.bar.is_some() { BAR_EVERY } else { PLAIN_EVERY };
        self.shown.saturating_add(every)
    }

    /// Shows where the run is: at every call on a terminal, now and then elsewhere.
    pub(crate) fn show(&mut self, workflow: &Workflow, in_flight: usize, now: Time) {
        let due = now >= self.due();
        if self.bar.is_none() && !due {
            return;
        }
        self.name_those_that_stall(workflow, now);
        let message = self.message(workflow, in_flight, now);
        match &self.bar {
            Some(bar) => {
                bar.set_position(self.done);
                bar.set_message(message);
            }
            None => eprintln!("{} done {message}", self.done),
        }
        self.shown = now;
    }

    fn name_those_that_stall(&mut self, workflow: &Workflow, now: Time) {
        let quiet = now.since(self.ended);
        if quiet < self.patience {
            return;
        }
        // Twice as long until the next time.
        self.patience = self.patience.saturating_add(self.patience);
        for standing in workflow.longest(STALLS_NAMED) {
            self.say(&format!("nothing has ended for {} s: {standing}", quiet.as_millis() / 1_000));
        }
    }

    /// A message of its own line.
    pub(crate) fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    fn message(&self, workflow: &Workflow, in_flight: usize, now: Time) -> String {
        let waiting = workflow.runtime().harness().admission().waiting();
        let seconds = now.since(self.begun).as_secs_f64().max(0.001);
        #[expect(clippy::cast_precision_loss, reason = "printing only")]
        let rate = self.done as f64 / seconds;
        let money = match (workflow.spent(), workflow.cap()) {
            (Some(spent), Some(cap)) => format!(", {spent} of {cap}"),
            (Some(spent), None) => format!(", {spent}"),
            _ => String::new(),
        };
        format!("{rate:.1}/s{money}, {waiting} waiting, {in_flight} in flight")
    }
}
