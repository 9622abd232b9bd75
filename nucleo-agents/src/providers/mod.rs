//! Model servers: one folder each, one cargo feature each, one trait for all.
//!
//! Each implements [`Provider`]: it translates the [`ChatRequest`](crate::wire::ChatRequest) into its
//! wire's request, sends it through the [`Transport`](crate::transport::Transport) that it was given,
//! and translates the answer back. `over_http` has what all wires over HTTP do alike. How to add one:
//! `docs/providers.md`.
//!
//! Invariants: a provider never retries, never sleeps, sets no timeout and keeps no state between
//! calls; its key is in no error, no log and no `Debug`.
//!
//! Not here: which provider is asked (the picker), what a call costs (`nucleo_core::spend`).

#[cfg(feature = "anthropic")]
pub mod anthropic;
mod contract;
#[cfg(feature = "loopback")]
pub mod loopback;
#[cfg(feature = "openai")]
pub mod openai;
#[cfg(feature = "client")]
mod over_http;

pub use contract::Provider;
#[cfg(feature = "client")]
pub use over_http::ConfigError;
