//! Agents as async fns, on top of the runtime: the model vocabulary, providers and transports.

pub mod providers;
pub mod transport;
pub mod wire;
