//! The Anthropic messages wire: Anthropic itself, and every server that speaks the same.
//!
//! * `config`: base url, key, how an answer's form is asked for.
//! * `encode`: the request; `messages`, `tools`: what is in it; `schema`: a schema as this wire takes it.
//! * `decode`: the answer, whole. `stream`: the answer, in pieces. `blocks`: what either said.
//! * `usage`: reports put together and taken apart. `client`: the provider.
//!
//! Invariants: what we know of the wire is what its public reference says; extra fields, blocks and
//! events are fine, an absent essential is an error that names it.
//!
//! Not here: what every wire does alike (`over_http`); running tools (`tool`); asking for thinking or
//! for a cache, for which a request has no place (what a server does of them by itself is counted).

mod blocks;
mod client;
mod config;
mod decode;
mod encode;
mod messages;
mod schema;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod usage;

pub use client::Anthropic;
pub use config::{AnswerForm, AnthropicConfig};

pub use crate::providers::ConfigError;
