//! Fan-out: one agent over many inputs, lazily, until a cap refuses.
//!
//! - [`FanOut`]: a stream of outcomes; [`FanOut::collect`] gives the [`Report`];
//! - `inputs`: where they come from; `item`: one outcome; `report`: all of them.
//!
//! Invariants: inputs are pulled only as agents end, so they are never all in memory; at the first
//! spend refusal nothing more is pulled and nothing running is cut; every input is accounted for:
//! answered, failed, refused, or handed back.
//!
//! Not here: the cap (`nucleo_core::spend`), one agent's calls (`call`).

mod inputs;
mod item;
mod report;
mod stream;

pub use inputs::Inputs;
pub use item::{Item, ItemError, ItemStatus};
pub use report::{Interrupted, Report, Tally, Waits};
pub use stream::{FanOut, IN_FLIGHT_DEFAULT, OnRefusal};
