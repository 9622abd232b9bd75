//! A job that does what a script says.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nucleo_core::{JobId, Span, Time, Usage};
use nucleo_harness::attempt::{Ended, Failure, Granted, History, Hold, Job, Requirements, Signal};

/// One thing that an execution does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Send,
    Report(Usage),
    EndsAs(Ended),
    Wait(Span),
    /// The place where the world injects its fault.
    Here,
    Fail(Signal, Ended),
    Panic,
    /// Ends by itself once it is cancelled.
    Obey,
    /// Answers once it is cancelled.
    AnswerLate,
    /// Never ends by itself.
    Ignore,
    /// Work that outlives the attempt takes a share of its grant.
    Hold,
}

/// What reading the requirements does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prepare {
    Reads,
    Fails,
    Panics,
}

/// What a job does; a script without an end answers.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) requirements: Requirements,
    pub(crate) prepare: Prepare,
    /// One script an attempt; the last holds for all later ones.
    pub(crate) attempts: Vec<Vec<Act>>,
    pub(crate) seen: Arc<Seen>,
}

/// What the jobs of a script did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    here: AtomicUsize,
    starts: Mutex<BTreeMap<JobId, Vec<Time>>>,
    pub(crate) holds: Mutex<Vec<Hold>>,
}

impl Seen {
    /// How often [`Act::Here`] was reached.
    pub(crate) fn here(&self) -> usize {
        self.here.load(Ordering::Relaxed)
    }

    /// When each attempt began to execute, over all jobs.
    pub(crate) fn starts(&self) -> Vec<Time> {
        let mut all: Vec<_> = self.starts.lock().unwrap().values().flatten().copied().collect();
        all.sort_unstable();
        all
    }
}

impl Job for Script {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        match self.prepare {
            Prepare::Reads => Ok(self.requirements.clone()),
            Prepare::Fails => Err(failure(Signal::Permanent, Ended::Unsent)),
            Prepare::Panics => panic!("asked for it"),
        }
    }

    async fn execute(&mut self, granted: Granted) -> Result<(), Failure> {
        let now = granted.clock().now();
        self.seen.starts.lock().unwrap().entry(granted.key.job).or_default().push(now);
        let attempt = granted.key.attempt as usize;
        let acts = self.attempts.get(attempt - 1).or(self.attempts.last());
        for act in acts.into_iter().flatten() {
            match *act {
                Act::Send => granted.meter(0).mark_sent(),
                Act::Report(usage) => granted.meter(0).usage(usage),
                Act::EndsAs(ended) => granted.meter(0).ended(ended),
                Act::Wait(span) => {
                    let until = granted.clock().now() + span;
                    granted.clock().sleep_until(until).await;
                }
                Act::Hold => self.seen.holds.lock().unwrap().push(granted.hold().unwrap()),
                Act::Here => {
                    self.seen.here.fetch_add(1, Ordering::Relaxed);
                }
                Act::Fail(signal, ended) => return Err(failure(signal, ended)),
                Act::Panic => panic!("asked for it"),
                Act::Obey => {
                    granted.cancel.cancelled().await;
                    return Err(failure(Signal::Permanent, Ended::Incomplete));
                }
                Act::AnswerLate => {
                    granted.cancel.cancelled().await;
                    return Ok(());
                }
                Act::Ignore => pending().await,
            }
        }
        Ok(())
    }
}

pub(crate) fn failure(signal: Signal, ended: Ended) -> Failure {
    Failure::new(signal, ended, "asked for it")
}
