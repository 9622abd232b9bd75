//! Agents as async fns, on top of the runtime: the model vocabulary, providers and transports.
//!
//! A call goes `wire` (what is asked) -> `providers` (one model server's own wire) -> `transport`
//! (bytes out, bytes in), and back.
//!
//! Not here: who may go when, and what may be spent (`nucleo-core`); running it (`nucleo-harness`).

pub mod answer;
pub mod catalog;
pub mod counting;
pub mod picker;
pub mod providers;
pub mod transport;
pub mod wire;
