//! Nothing of its own: the examples are in `examples/examples`, numbered, and run without a key.
//!
//! `cargo run --example 01_hello` is the first one; each says in its head what it shows.
//!
//! Not here: the guide (`docs`).
