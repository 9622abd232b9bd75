//! Agents as async fns: fan-out under a cap, inside provider quotas and memory.
//!
//! ```
//! use nucleo_agents::prelude::*;
//!
//! /// An agent is any async fn of a context and an input.
//! async fn shorten(ctx: AgentContext, text: String) -> Result<String, AgentError> {
//!     ctx.model(Grade::Small).system("Say it in one sentence.").user(text).output(64).text().await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::start(Catalog::loopback())?; // or Runtime::from_catalog("models.toml")
//! let workflow = runtime.workflow("inbox").cap("0.04 USD".parse()?).start();
//! let texts = (1..=20).map(|n| format!("Letter {n} says that the parcel has not arrived."));
//! let report = workflow.fan_out(texts, shorten).collect().await;
//! println!("{report}"); // 20 answered, 0 failed, 0 refused; 0.0031 of 0.04 USD
//! for refusal in report.refusals() {
//!     println!("{refusal}");
//! }
//! # assert_eq!(report.answered(), 20);
//! # Ok(()) }
//! ```
//!
//! - [`agent`]: what an agent is, and its context; [`call`]: asking a model; [`tool`]: holding
//!   resources;
//! - [`fan_out`]: one agent over many inputs, lazily, until a cap refuses;
//! - [`runtime`]: a catalog brought to life; [`catalog`], [`picker`]: which model serves a call;
//! - [`answer`]: typed answers; [`counting`]: tokens of a text;
//! - [`wire`], [`providers`], [`transport`]: how a call travels.
//!
//! Invariants: an agent holds nothing; each of its calls is admitted by itself, and settled before
//! its future resolves.
//!
//! Not here: who may go when, and what may be spent (`nucleo-core`); running it (`nucleo-harness`).
#![forbid(unsafe_code)]

pub mod agent;
pub mod answer;
pub mod call;
pub mod catalog;
pub mod counting;
pub mod fan_out;
pub mod picker;
pub mod prelude;
pub mod providers;
pub mod runtime;
pub mod tool;
pub mod transport;
pub mod wire;
mod workflow;

#[cfg(feature = "loopback")]
pub use runtime::loopback_config;
pub use runtime::{Runtime, StartError};
pub use workflow::{Workflow, WorkflowBuilder};

/// The project's long pages, so that their links and snippets are checked.
#[cfg(any(doc, doctest))]
pub mod _docs {
    #![expect(missing_docs, reason = "the pages are the documentation")]
    #[doc = include_str!("../../README.md")]
    pub mod readme {}
    #[doc = include_str!("../../docs/design/admission.md")]
    pub mod admission {}
    #[doc = include_str!("../../docs/design/agents.md")]
    pub mod agents {}
    #[doc = include_str!("../../docs/design/attempt.md")]
    pub mod attempt {}
    #[doc = include_str!("../../docs/design/cli.md")]
    pub mod cli {}
    #[doc = include_str!("../../docs/design/memory.md")]
    pub mod memory {}
    #[doc = include_str!("../../docs/design/models.md")]
    pub mod models {}
    #[doc = include_str!("../../docs/providers.md")]
    pub mod providers {}
    #[doc = include_str!("../../docs/design/spend.md")]
    pub mod spend {}
}
