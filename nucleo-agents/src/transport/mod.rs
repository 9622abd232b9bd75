//! How a request reaches a model server and its answer comes back, one exchange at a time.
//!
//! Providers speak through [`Transport`] and never name an HTTP client: over the network it is the
//! pooled client of `Pooled` (feature `client`), in tests and in the deterministic world it is
//! [`InMemory`], a function.
//!
//! Invariants: a transport sends a request at most once, never retries, never waits for a place
//! (the runtime granted one before), follows no redirect and sets no timeout on the whole exchange
//! (the runtime owns timeouts; dropping the future or the body ends the exchange).
//!
//! Not here: what the bytes mean (`providers`), who may send when (`nucleo_core::admission`).

mod body;
mod contract;
mod memory;
#[cfg(feature = "client")]
mod reqwest;

#[cfg(feature = "client")]
pub(crate) use body::Arrived;
pub use body::{BodyError, BodyStream};
pub use contract::{BrokenAt, Cause, Transport, TransportError};
pub use memory::InMemory;
#[cfg(feature = "client")]
pub use reqwest::{Pooled, PooledConfig};
