//! What a memory gate needs of an allocator: exact live bytes, and freed pages handed back.
//!
//! - [`Counting`]: a wrapper around any allocator that knows how many bytes are live;
//! - [`trim()`]: asks glibc's allocator to hand its free pages back to the system.
//!
//! Invariants: this is the only crate with `unsafe` in it, and it holds nothing else; each place
//! states its argument.
//!
//! Not here: what is done with the figure (`nucleo_harness::memory`).

mod counting;
mod trim;

pub use counting::Counting;
pub use trim::{Trimmed, trim};
