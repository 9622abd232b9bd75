//! The server as its clients meet it: over real HTTP, and in virtual time without a socket.

mod clock;
mod faults;
mod http;
#[cfg(feature = "anthropic")]
mod messages;
mod quotas;
mod support;
mod tools;
mod wire;
