//! The runtime: a catalog brought to life.
//!
//! - [`Runtime`]: the handle; [`RuntimeBuilder`]: its settings; [`StartError`]: why it did not start;
//! - `route`: one callable entry, with its provider, accounts and price; `accounts`: the catalog's
//!   limits as accounts; `setup`: providers; `loopback`: the embedded server's settings; `caps`: caps
//!   of users, keys and days; `midnight`: when days begin; `learn`: what accounts learn from answers.
//!
//! Invariants: no process-wide state; two runtimes live side by side, each with quotas of its own.
//!
//! Not here: agents (`agent`), choosing a route (`picker`).

mod accounts;
mod caps;
mod error;
mod handle;
mod learn;
#[cfg(feature = "loopback")]
mod loopback;
mod midnight;
mod route;
mod setup;

pub use caps::CapError;
pub use error::StartError;
pub use handle::{CONNECTIONS_DEFAULT, Runtime, RuntimeBuilder};
#[cfg(feature = "loopback")]
pub use loopback::loopback_config;
pub(crate) use route::Route;
