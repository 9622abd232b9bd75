//! The task that samples memory while it matters, and trims twice at most.
//!
//! It reads every 100 ms while anything runs or waits, and on until the gate is green; then it sleeps
//! until its bell rings. A sample is an input like any other: the line is run with it.
//!
//! Freed pages are not returned by themselves under most allocators. So where pages are seen, the
//! allocator is asked once when the gate latches, and once when the last job has ended in a zone that
//! is not green; then memory is read again.
//!
//! Invariants: reading and trimming happen outside the lock; the task keeps admission alive only
//! during a turn; a probe that fails leaves the last sample in force and is told of once.
//!
//! Not here: what a sample means (`nucleo_core::memory`), the loop (`runtime::timer`).

use std::sync::{Arc, Weak};

use nucleo_core::memory::{MemoryStatus, Reading, Signal, Zone};
use nucleo_core::{Span, Time};

use super::MemoryWatch;
use crate::admission::Shared;
use crate::runtime::{NextTurn, Turn, off_thread};

/// How long between two readings.
const PERIOD: Span = Span::from_millis(100);

/// The task's state between two turns.
#[derive(Debug)]
pub(crate) struct Sampler {
    shared: Weak<Shared>,
    watch: MemoryWatch,
    /// Trimmed since the last job ended.
    trimmed_at_rest: bool,
    /// The probe's last reading failed.
    failing: bool,
}

/// What a sample led to.
struct Sampled {
    before: Zone,
    status: MemoryStatus,
    next: NextTurn,
}

impl Sampler {
    pub(crate) fn new(shared: &Arc<Shared>, watch: MemoryWatch) -> Self {
        let shared = Arc::downgrade(shared);
        Self { shared, watch, trimmed_at_rest: false, failing: false }
    }

    /// Reads, and hands the reading to the gate.
    pub(crate) fn sample(&mut self) -> NextTurn {
        self.read().map_or(NextTurn::Over, |(sampled, _)| sampled.next)
    }

    fn read(&mut self) -> Option<(Sampled, Signal)> {
        let shared = self.shared.upgrade()?;
        let reading = match self.watch.probe.read() {
            Ok(reading) => {
                self.failing = false;
                Some(reading)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.failing, true) {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(target: "nucleo::memory", error, "memory cannot be read; the last sample stays in force");
                }
                None
            }
        };
        let signal = reading.map_or(Signal::Live, |reading| reading.signal);
        let sampled = record(&shared, reading)?;
        tell(&sampled);
        Some((sampled, signal))
    }

    /// Whether to ask the allocator for its free pages now.
    fn wants_trim(&mut self, sampled: &Sampled) -> bool {
        let Sampled { before, status, .. } = sampled;
        if status.in_flight > 0 {
            self.trimmed_at_rest = false;
        }
        let latched = *before != Zone::Critical && status.zone == Zone::Critical;
        let rests = status.in_flight == 0 && status.zone != Zone::Green;
        let first_at_rest = rests && !std::mem::replace(&mut self.trimmed_at_rest, rests);
        latched || first_at_rest
    }
}

impl Turn for Sampler {
    async fn turn(&mut self) -> NextTurn {
        let Some((sampled, signal)) = self.read() else {
            return NextTurn::Over;
        };
        if !self.wants_trim(&sampled) || signal != Signal::Pages {
            return sampled.next;
        }
        let trim = Arc::clone(&self.watch.trim);
        off_thread(move || trim()).await;
        let Some(shared) = self.shared.upgrade() else {
            return NextTurn::Over;
        };
        let _ = shared.enter(|core, now| core.monitor.memory_trimmed(now));
        tracing::info!(target: "nucleo::memory", "asked the allocator for its free pages");
        drop(shared);
        self.sample()
    }
}

/// Hands a reading to the gate, and says when to read again.
fn record(shared: &Shared, reading: Option<Reading>) -> Option<Sampled> {
    let sampled = shared.enter_then(
        |core, now| {
            let before = core.monitor.memory()?.zone;
            if let Some(reading) = reading {
                core.monitor.read_memory(reading, now);
            }
            Some((before, core.monitor.memory()?, now))
        },
        |core, seen| {
            let (before, status, now): (Zone, MemoryStatus, Time) = seen?;
            let next = match core.keeps_sampling() {
                true => NextTurn::At(now.saturating_add(PERIOD)),
                false => NextTurn::OnBell,
            };
            Some(Sampled { before, status, next })
        },
    );
    // A defective monitor lets nobody go: there is nothing to sample for.
    sampled.ok().flatten()
}

/// Logs the latch.
fn tell(sampled: &Sampled) {
    let Sampled { before, status, .. } = sampled;
    let share = status.sample.unwrap_or_default();
    match (*before == Zone::Critical, status.zone == Zone::Critical) {
        (false, true) => {
            let in_flight = status.in_flight;
            tracing::warn!(target: "nucleo::memory", share, in_flight, "memory is nearly used up: no job starts until less than 0.90 of it is used");
        }
        (true, false) => {
            let waiting = status.waiting;
            tracing::info!(target: "nucleo::memory", share, waiting, "memory is available again");
        }
        _ => {}
    }
}
