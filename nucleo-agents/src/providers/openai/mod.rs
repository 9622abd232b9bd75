//! The OpenAI chat completions wire: OpenAI itself, Azure, and every server that speaks the same.
//!
//! * `config`: base url, key, dialect.
//! * `encode`: the request; `messages`, `tools`: what is in it.
//! * `decode`: the answer, whole. `stream`: the answer, in pieces. `calls`: the tool calls of either.
//! * `usage`: totals taken apart into disjoint kinds. `client`: the provider.
//!
//! Invariants: what we know of the wire is what its public reference says; extra fields are fine,
//! an absent essential is an error that names it.
//!
//! Not here: what every wire does alike (`over_http`), running tools (`tool`), embeddings.

mod calls;
mod client;
mod config;
mod decode;
mod encode;
mod messages;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod usage;

pub use client::OpenAi;
pub use config::{Dialect, OpenAiConfig};

pub use crate::providers::ConfigError;
