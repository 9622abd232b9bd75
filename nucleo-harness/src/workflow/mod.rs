//! Workflows: what agents and jobs belong to.
//!
//! - [`Harness`]: the runtime's handle; [`Workflow`]: an id, a cap, a tree; [`Node`]: an agent's
//!   place in it; `place`: a job's;
//! - [`Submission`], [`JobHandle`]: jobs that run by themselves, after those they depend on;
//! - [`Told`]: an end that many may ask for;
//! - [`CancelOnDrop`]: cancels as it is dropped;
//! - [`LiveJob`]: who has not ended, where, since when, and on what; [`Event`], [`Journal`]: what happened.
//!
//! Invariants: a cancellation reaches all below; the shutdown returns when everything is settled.
//!
//! Not here: fan-out and agents (`nucleo-agents`), one job's attempts (`attempt`).

mod event;
mod harness;
mod live;
mod place;
mod submit;
mod told;
mod tree;

pub use event::{EVENT_VERSION, Event, EventKind, Journal};
pub use harness::{Harness, HarnessBuilder};
pub use live::{LiveJob, Standing, WaitsOn};
pub(crate) use place::Place;
pub use submit::{JobHandle, Submission};
pub use tokio_util::sync::DropGuard as CancelOnDrop;
pub use told::{Teller, Told, to_be_told};
pub use tree::{Node, Workflow, WorkflowBuilder};
