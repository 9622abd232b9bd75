//! An ordered tree of one class's waiters that knows, below each node, the smallest and the largest
//! need of every account.
//!
//! - `search`: the tree and its descents; `node`: one node of it.
//!
//! Invariants: those of `search`.
//!
//! Not here: which classes are searched, and when (`classes`).

mod node;
mod search;
#[cfg(test)]
mod tests;

pub(crate) use search::{Probe, Search, Tree};
