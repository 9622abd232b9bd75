//! Planning: the very monitor that runs, in virtual time.
//!
//! Nothing is sent. A [`Scenario`] names accounts, jobs and memory readings; [`plan`] says when
//! every job would be granted, how long the whole takes, and which account binds.
//!
//! - `scenario`: what a file says, checked; `run`: the events in order; `outcome`: what comes out.
//!
//! Not here: a second model of admission. What the runtime decides is what is planned.

mod outcome;
mod run;
mod scenario;

pub use outcome::{JobOutcome, Outcome, Plan, Summary};
pub use run::{plan, plan_with};
pub use scenario::{
    AccountSpec, JobSpec, Millis, OrderSpec, PermitsSpec, PolicySpec, ProtectSpec, RateSpec,
    Scenario, ScenarioError,
};
