//! The OpenAI chat completions wire: OpenAI itself, Azure, and every server that speaks the same.
//!
//! * `config`: base url, key, dialect.
//! * `encode`: the request; `messages`, `tools`: what is in it.
//! * `decode`: the answer, whole. `stream`: the answer, in pieces. `calls`: the tool calls of either.
//! * `usage`: totals taken apart into disjoint kinds. `error`: the typed body of an error.
//! * `client`: one exchange, from `leaving` to a reply or a failure.
//!
//! Invariants: what we know of the wire is what its public reference says; extra fields are fine,
//! an absent essential is an error that names it; the answer's own content type decides how it is
//! read, not what was asked for, because some servers stream or don't as they please.
//!
//! Not here: running tools (`tool`), embeddings.

mod calls;
mod client;
mod config;
mod decode;
mod encode;
mod error;
mod messages;
mod stream;
#[cfg(test)]
mod tests;
mod tools;
mod usage;

pub use client::OpenAi;
pub use config::{ConfigError, Dialect, OpenAiConfig};
#[cfg(feature = "loopback")]
pub(crate) use encode::{OUTPUT_TOKENS_HINT, TOOL_TURNS_HINT};
