//! Jobs of a seed's own: needs on accounts of its own, and every way to behave and to end.

use std::sync::Arc;
use std::time::Duration;

use nucleo_agents::prelude::{Needs, ToolContext};
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, Need, Span};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::{
    Ended, Failure, Granted, History, Job, JobOptions, Requirements, RetryPolicy, Signal,
};
use smallvec::smallvec;

use crate::draw::Draw;
use crate::log::planned_panic;

/// What a job does with its grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Works,
    /// Ends as soon as it is cancelled.
    Obeys,
    /// Sleeps on, whatever it is told.
    Ignores,
    /// Answers after its cancellation, within the grace.
    AnswersLate,
    Never,
    Fails(Signal),
    PanicsBefore,
    PanicsMidway,
    PanicsInItsDrop,
    PanicsInRequirements,
    HasNoRequirements,
}

#[derive(Clone, Debug)]
pub(crate) struct OwnJob {
    pub(crate) behaviour: Behaviour,
    ms: u64,
    timeout_ms: u64,
    permits: u64,
    tokens: u64,
    marks_sent: bool,
    max_wait_ms: Option<u64>,
    retries: bool,
    tries: u32,
}

/// The seed's own accounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnAccounts {
    pub(crate) permits: AccountId,
    pub(crate) bucket: AccountId,
}

pub(crate) const PERMITS: u64 = 3;
pub(crate) const RATE: u64 = 20;

impl OwnAccounts {
    pub(crate) fn open(admission: &Admission) -> Self {
        let bucket = TokenBucket::new(Rate::per_second(RATE)).unwrap();
        let permits = admission.open("own.permits", Permits::new(PERMITS)).unwrap();
        Self { permits, bucket: admission.open("own.bucket", bucket).unwrap() }
    }
}

impl OwnJob {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let later = |asked: Option<u64>| asked.map(Span::from_millis);
        let behaviours = [
            Behaviour::Works,
            Behaviour::Works,
            Behaviour::Works,
            Behaviour::Obeys,
            Behaviour::Ignores,
            Behaviour::AnswersLate,
            Behaviour::Never,
            Behaviour::Fails(Signal::RateLimited { retry_after: later(Some(900)) }),
            Behaviour::Fails(Signal::Overloaded { retry_after: later(None) }),
            Behaviour::Fails(Signal::Transient { retry_after: later(None) }),
            Behaviour::Fails(Signal::Permanent),
            Behaviour::PanicsBefore,
            Behaviour::PanicsMidway,
            Behaviour::PanicsInItsDrop,
            Behaviour::PanicsInRequirements,
            Behaviour::HasNoRequirements,
        ];
        Self {
            behaviour: draw.of(&behaviours),
            ms: draw.of(&[0, 1, 50, 700, 20_000]),
            timeout_ms: draw.of(&[200, 5_000, 600_000]),
            permits: if draw.chance(3) { PERMITS + 1 } else { draw.between(0, PERMITS) },
            tokens: draw.of(&[0, 1, 5, RATE]),
            marks_sent: draw.chance(60),
            max_wait_ms: draw.maybe(20, |draw| draw.of(&[0, 100, 5_000])),
            retries: draw.chance(60),
            tries: 0,
        }
    }

    pub(crate) fn options(&self) -> JobOptions {
        let mut options = JobOptions { agent: Arc::from("own"), ..JobOptions::default() };
        if let Some(ms) = self.max_wait_ms {
            options.max_wait = Span::from_millis(ms);
        }
        if !self.retries {
            options.retry = RetryPolicy::NEVER;
        }
        options
    }

    pub(crate) fn on(self, accounts: OwnAccounts) -> impl Job<Out = ()> {
        Placed { job: self, accounts }
    }
}

struct Placed {
    job: OwnJob,
    accounts: OwnAccounts,
}

/// A tool: what it holds, for how long, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    permits: u64,
    tokens: u64,
    ms: u64,
    timeout_ms: u64,
    ends: ToolEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolEnds {
    Answers,
    Fails,
    Panics,
    /// It answers at once, and work of it goes on with a share of what it holds.
    LeavesWork,
}

impl Held {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let ends = [ToolEnds::Answers, ToolEnds::Fails, ToolEnds::Panics, ToolEnds::LeavesWork];
        Self {
            permits: draw.between(0, PERMITS),
            tokens: draw.of(&[0, 1, RATE]),
            ms: draw.of(&[0, 30, 2_000, 60_000]),
            timeout_ms: draw.of(&[500, 600_000]),
            ends: draw.of(&ends),
        }
    }

    pub(crate) fn needs(&self, on: OwnAccounts) -> Needs {
        let needs = Needs::nothing().timeout(Span::from_millis(self.timeout_ms));
        needs.amount(on.permits, self.permits).amount(on.bucket, self.tokens)
    }

    pub(crate) async fn work(self, tool: ToolContext) -> Result<(), &'static str> {
        if self.ends == ToolEnds::LeavesWork {
            let hold = tool.hold().map_err(|_| "over before its work began")?;
            tokio::spawn(async move {
                pause(self.ms).await;
                drop(hold);
            });
            return Ok(());
        }
        pause(self.ms).await;
        match self.ends {
            ToolEnds::Fails => Err("planned"),
            ToolEnds::Panics => planned_panic(),
            ToolEnds::Answers | ToolEnds::LeavesWork => Ok(()),
        }
    }
}

/// Panics as the work is dropped before its end.
struct Trap(bool);

impl Drop for Trap {
    fn drop(&mut self) {
        if self.0 && !std::thread::panicking() {
            planned_panic();
        }
    }
}

impl Job for Placed {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        match self.job.behaviour {
            Behaviour::PanicsInRequirements => planned_panic(),
            Behaviour::HasNoRequirements => {
                return Err(Failure::new(Signal::Permanent, Ended::Unsent, "planned"));
            }
            _ => {}
        }
        let OwnAccounts { permits, bucket } = self.accounts;
        let needs = smallvec![
            Need { account: permits, amount: self.job.permits },
            Need { account: bucket, amount: self.job.tokens },
        ];
        let timeout = Span::from_millis(self.job.timeout_ms);
        Ok(Requirements { needs, timeout, ..Requirements::default() })
    }

    async fn execute(&mut self, granted: Granted) -> Result<(), Failure> {
        let (job, cancel) = (&mut self.job, &granted.cancel);
        if job.behaviour == Behaviour::PanicsBefore {
            planned_panic();
        }
        if job.marks_sent {
            granted.mark_sent();
        }
        job.tries += 1;
        match job.behaviour {
            Behaviour::Obeys => {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        return Err(Failure::new(Signal::Permanent, Ended::Incomplete, "told to end"));
                    }
                    () = pause(job.ms) => {}
                }
            }
            Behaviour::AnswersLate => {
                cancel.cancelled().await;
                pause(job.ms.min(100)).await;
            }
            Behaviour::Never => std::future::pending().await,
            Behaviour::PanicsInItsDrop => {
                let mut trap = Trap(true);
                pause(job.ms).await;
                trap.0 = false;
            }
            _ => pause(job.ms).await,
        }
        match job.behaviour {
            Behaviour::PanicsMidway => planned_panic(),
            // The first tries fail; a later one may answer.
            Behaviour::Fails(signal) if job.tries < 3 => {
                Err(Failure::new(signal, Ended::WithError, "planned"))
            }
            _ => Ok(()),
        }
    }
}

/// So much virtual time.
pub(crate) async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep_until(tokio::time::Instant::now() + Duration::from_millis(ms)).await;
    }
}
