//! What every measurement needs: the time something takes, medians, and rows of the table.
//!
//! Invariants: a figure is printed with its target; a row that misses says so and ends nothing.
//!
//! Not here: what is measured (the other files).

use nucleo_core::{AttemptKey, JobId, Span, WorkflowId};
use nucleo_harness::runtime::{Clock, TokioClock};

/// Reads how long things take.
pub(crate) struct Watch {
    clock: TokioClock,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self { clock: TokioClock::start() }
    }

    pub(crate) fn time<R>(&self, work: impl FnOnce() -> R) -> (Span, R) {
        let before = self.clock.now();
        let result = work();
        (self.clock.now().since(before), result)
    }
}

/// Lengths of time of one kind.
pub(crate) struct Samples(Vec<u64>);

impl Samples {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, span: Span) {
        self.0.push(span.as_nanos());
    }

    /// Nanoseconds that so many of a thousand stay within.
    pub(crate) fn permille(&mut self, permille: usize) -> f64 {
        assert!(!self.0.is_empty(), "nothing was measured");
        self.0.sort_unstable();
        real(self.0[(self.0.len() - 1) * permille / 1_000])
    }

    pub(crate) fn median(&mut self) -> f64 {
        self.permille(500)
    }
}

/// What a figure has to be.
pub(crate) enum Target {
    AtMost(f64),
    /// No target: told beside those that have one.
    None,
}

pub(crate) fn head() {
    println!("| what | measured | figure | target | |");
    println!("| --- | --- | ---: | ---: | --- |");
}

/// One row: what, the times behind it, the figure with its unit, and its target.
pub(crate) fn row(what: &str, measured: &str, figure: f64, unit: &str, target: &Target) {
    let (target, verdict) = match target {
        Target::AtMost(most) if figure <= *most => (format!("{most}{unit}"), "met"),
        Target::AtMost(most) => (format!("{most}{unit}"), "**missed**"),
        Target::None => (String::new(), ""),
    };
    println!("| {what} | {measured} | {figure:.2}{unit} | {target} | {verdict} |");
}

/// The process's resident memory.
pub(crate) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4_096
}

/// Attempts that nobody else has.
pub(crate) fn key(number: u64) -> AttemptKey {
    JobId::root(WorkflowId::from_u128(1)).child(number).attempt(1)
}

#[expect(clippy::cast_precision_loss, reason = "printing only")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}
