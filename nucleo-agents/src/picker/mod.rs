//! The picker: from what a request needs to the catalog's entry that serves it.
//!
//! A request names a grade (a floor) or a model. For a grade: its pins, in order; then the other
//! callable entries of the grade, cheapest for this very request first; then the next grade up, its
//! pins first again. An entry whose context or output can't hold the request is passed over. Where
//! nothing is left, the error says per entry why ([`NothingCallable`]).
//!
//! After a failure the picker looks at the history: an overloaded or broken route is left for
//! another route to the same weights (the same `identity`), else for the next entry *of the same
//! grade*; a failure never climbs to a dearer grade by itself. A rate limit, a truncation and a
//! correction stay with their entry: the line, a larger output or a better question mends those.
//!
//! Invariants: the same catalog, request and history give the same entry; prices of different
//! currencies are never compared, the currency that stands first in the file goes first; entries
//! without a price go last.
//!
//! Not here: pricing and reserving (the runtime), waiting for a limit (admission).

mod choose;
mod request;

#[cfg(test)]
mod tests;

pub use choose::Picker;
pub use request::{NothingCallable, Passed, PastFailure, Request, Signal, Target, WhyPassed};
