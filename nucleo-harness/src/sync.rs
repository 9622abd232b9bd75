//! The one lock that this crate uses, so that a model checker can schedule it.
//!
//! Under the test-only feature `__shuttle` every lock is shuttle's: `tests/shuttle_*.rs` then walk
//! the schedules of the very code that runs.
//!
//! Not here: what is locked, and for how long (`admission::shared`, `spend::ledger`).

#[cfg(not(feature = "__shuttle"))]
pub(crate) use parking_lot::Mutex;
#[cfg(feature = "__shuttle")]
pub(crate) use parking_lot_shuttle::Mutex;
