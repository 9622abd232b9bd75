//! The ledger's tests.
//!
//! `script` says a case in one line and holds the helpers; `scopes` has the cases that need more
//! words. The walk beside the naive rule is in the crate's `tests/lockstep`.

mod scopes;
mod script;
