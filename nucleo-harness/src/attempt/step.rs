//! The steps of a job, as one transition table.
//!
//! Invariants: [`Step::next`] is the whole law, one match; whatever is not in it is a bug and is
//! reported as such; a job ends once.
//!
//! Not here: doing the steps (`run`), what comes back by where it ends (`table`).

use serde::{Deserialize, Serialize};

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It waits for the ends of the jobs that it depends on.
    Waiting,
    /// Its requirements are read: bindings are resolved and priced.
    Preparing,
    /// The spend gates are asked.
    Approving,
    /// Approved; it waits in the line, holding nothing.
    InLine,
    /// Granted; it runs.
    Running,
    /// An attempt ended with a retry signal; it pauses, holding nothing.
    Pausing,
    /// It is over.
    Ended,
}

/// What can happen to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEvent {
    /// What it depends on has ended.
    Ready,
    /// The requirements of an attempt are known.
    Prepared,
    /// The spend gates approved.
    Approved,
    /// Admission granted.
    Granted,
    /// The attempt ended with a retry signal, and everything is settled.
    Retrying,
    /// The pause is over.
    Resumed,
    /// It ended: answered, failed, refused, cancelled, panicked, timed out, shut down.
    Over,
}

/// An event that can't happen at a step: a bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job can't go on from {step:?} with {event:?}")]
pub struct IllegalStep {
    /// Where it was.
    pub step: Step,
    /// What happened.
    pub event: StepEvent,
}

impl Step {
    /// The whole law.
    ///
    /// # Errors
    /// [`IllegalStep`] for everything else.
    ///
    /// ```
    /// use nucleo_harness::attempt::{Step, StepEvent};
    /// assert_eq!(Step::InLine.next(StepEvent::Granted), Ok(Step::Running));
    /// assert!(Step::Ended.next(StepEvent::Over).is_err(), "a job ends once");
    /// ```
    pub const fn next(self, event: StepEvent) -> Result<Self, IllegalStep> {
        use StepEvent as E;
        Ok(match (self, event) {
            (Self::Waiting, E::Ready) => Self::Preparing,
            (Self::Preparing, E::Prepared) => Self::Approving,
            (Self::Approving, E::Approved) => Self::InLine,
            (Self::InLine, E::Granted) => Self::Running,
            (Self::Running, E::Retrying) => Self::Pausing,
            (Self::Pausing, E::Resumed) => Self::Preparing,
            (
                Self::Waiting
                | Self::Preparing
                | Self::Approving
                | Self::InLine
                | Self::Running
                | Self::Pausing,
                E::Over,
            ) => Self::Ended,
            (step, event) => return Err(IllegalStep { step, event }),
        })
    }
}
