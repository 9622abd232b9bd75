//! Attempts: a job from its requirements to its end.
//!
//! - [`Job`]: what is run; [`Requirements`], [`Binding`]: what it needs; [`Granted`]: what it gets;
//! - [`Dependency`]: what has to end first; [`Hold`]: a share of the grant for work on a thread;
//! - [`Step`]: the law of the steps; `run`: doing them; `running`: the attempt's own task;
//! - `table`: what comes back, by where it ended; `guard`: carrying that out, once;
//! - [`Signal`], [`RetryPolicy`]: what is tried again; [`JobRecord`]: what a job did.
//!
//! Invariants: waiting holds nothing; from the grant on one task owns everything; the handle
//! resolves after the settlement, once.
//!
//! Not here: prompts, models, providers (`nucleo-agents`).

mod binding;
mod dependency;
mod granted;
mod guard;
mod held;
mod holding;
mod job;
mod model_retries;
mod record;
mod retry;
mod run;
mod running;
mod siblings;
mod signal;
mod step;
mod table;

pub use binding::{Binding, Counted, Counts, Unused};
pub use dependency::{Dependency, DependencyError, all_ended};
pub use granted::{BlockingError, Granted, Meter};
pub use held::{AttemptOver, Hold};
pub use holding::holder;
pub use job::{History, Job, JobError, JobOptions, Past, Requirements, TIMEOUT_DEFAULT, chain};
pub(crate) use model_retries::ModelRetries;
pub use record::{JobEnd, JobRecord};
pub use retry::RetryPolicy;
pub(crate) use run::run;
pub use siblings::Siblings;
pub use signal::{Ended, Failure, Signal};
pub use step::{IllegalStep, Step, StepEvent};
