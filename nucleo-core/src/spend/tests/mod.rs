//! The ledger's tests.
//!
//! `script` says a case in one line and holds the helpers; `scopes` has the cases that need more
//! words; `lockstep` walks at random beside the naive rule.

mod lockstep;
mod scopes;
mod script;
