//! What most programs name: `use nucleo_agents::prelude::*;`.
//!
//! Invariants: every name here is also found in its own module.
//!
//! Not here: settings and vocabulary that few programs touch.

pub use nucleo_core::spend::{ScopeId, SpendRefusal};
pub use nucleo_core::{Money, Span};
pub use nucleo_harness::attempt::{JobError, RetryPolicy};

pub use crate::agent::{Agent, AgentContext, AgentError};
pub use crate::call::ModelCall;
pub use crate::catalog::{Catalog, Grade};
pub use crate::fan_out::{FanOut, Inputs, Item, ItemError, ItemStatus, OnRefusal, Report};
pub use crate::runtime::{Runtime, StartError};
pub use crate::tool::{Needs, Palette, Tool, ToolContext, ToolError};
pub use crate::wire::Message;
pub use crate::workflow::Workflow;
