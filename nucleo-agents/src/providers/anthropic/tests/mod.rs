//! Recorded exchanges, written from the public API reference, played through the memory transport.

mod answers;
mod ends;
mod errors;
mod streams;
mod support;
mod tools;
