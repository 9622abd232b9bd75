//! Tools: async fns that hold resources, and cannot ask for anything more.
//!
//! - [`Needs`]: what a tool must hold while it runs; [`ToolContext`]: what it is given;
//! - [`Tool`], [`Palette`]: tools that a model calls; [`ToolError`]: how they fail; `called`: from a
//!   call to its result.
//!
//! An agent holds nothing and may submit jobs; a tool holds what its job was granted and has no way
//! to submit. So nothing waits while it holds, by type.
//!
//! Invariants: a tool begins when everything that it needs was granted in one step; what it holds
//! comes back when its work is gone, threads included.
//!
//! Not here: the loop over a model's turns (`call`), the accounts (`nucleo_core::limits`).

mod called;
mod context;
mod error;
mod job;
mod needs;
mod offered;
mod palette;

pub use context::ToolContext;
pub use error::ToolError;
pub(crate) use job::ToolJob;
pub use needs::Needs;
pub use offered::Tool;
pub use palette::{Palette, PaletteError};
