//! Asking a model: a builder, and the job that it becomes.
//!
//! - [`ModelCall`]: what is asked; `turns`: the loop over tools; `job`: the attempts' requirements and
//!   execution of one turn; `classify`: a provider's failure as the harness's signal; `watch`: what a
//!   running call reports.
//!
//! Invariants: the output that is reserved is the very limit that is sent; a correction never echoes
//! what the model said of the user's data.
//!
//! Not here: choosing the model (`picker`), encoding (`providers`), retrying (`nucleo_harness`).

mod builder;
mod classify;
mod job;
mod turns;
mod watch;

pub use builder::{CALL_TIMEOUT_DEFAULT, ModelCall, Reply};
pub(crate) use job::Question;
pub use turns::{TURNS_DEFAULT, TooManyTurns};
