//! Tools: async fns that hold resources, and cannot ask for anything more.
//!
//! - [`Needs`]: what a tool must hold while it runs; [`ToolContext`]: what it is given.
//!
//! An agent holds nothing and may submit jobs; a tool holds what its job was granted and has no way
//! to submit. So nothing waits while it holds, by type.
//!
//! Invariants: a tool begins when everything that it needs was granted in one step; what it holds
//! comes back when its work is gone, threads included.
//!
//! Not here: tools that a model calls (not built yet), the accounts (`nucleo_core::limits`).

mod context;
mod job;
mod needs;

pub use context::ToolContext;
pub(crate) use job::ToolJob;
pub use needs::Needs;
