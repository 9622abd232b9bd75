//! What most programs name: `use nucleo_agents::prelude::*;`.
//!
//! Invariants: every name here is also found in its own module.
//!
//! Not here: settings and vocabulary that few programs touch.

pub use crate::agent::{Agent, AgentContext, AgentError};
pub use crate::catalog::{Catalog, Grade};
pub use crate::fan_out::{FanOut, Inputs, ItemStatus, OnRefusal, Report};
pub use crate::runtime::Runtime;
pub use crate::workflow::Workflow;
