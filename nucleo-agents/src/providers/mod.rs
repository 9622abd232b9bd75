//! Model servers: one folder each, one cargo feature each, one trait for all.
//!
//! # How to add a provider
//! 1. A folder here with a type that implements [`Provider`]: translate the
//!    [`ChatRequest`](crate::wire::ChatRequest) into your wire's request, send it through the
//!    [`Transport`](crate::transport::Transport) that you were given, translate the answer back.
//! 2. Speak to the watch in its order: `leaving`, then `could_not_connect` or `head`, then `usage`
//!    and `piece`. Say `leaving` right before `Transport::send`, never earlier.
//! 3. Take usage apart into the disjoint kinds of `nucleo_core::Usage`. What the wire does not say
//!    is `None`, not zero.
//! 4. Fill an [`ErrorAnswer`](crate::wire::ErrorAnswer) from status and typed body and let it judge.
//!    An absent essential (no message, a body that isn't JSON) is
//!    [`CallFailure::Unreadable`](crate::wire::CallFailure) and names it, never an empty answer.
//! 5. Tests: fixtures written from the public API reference through
//!    [`InMemory`](crate::transport::InMemory), and one run over real HTTP.
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
