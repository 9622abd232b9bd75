//! The deterministic world: the real runtime and agents on a paused clock, against the loopback
//! server in memory; each seed draws what exists, what goes wrong, and how often.
//!
//! `WORLD_SEEDS=n` plays more seeds than CI does, `WORLD_SEED=n` one alone with its story, and
//! `WORLD_COVERAGE=1` prints how often each thing occurred. See docs/testing.md.
//!
//! Where to look: `plan` and what it names draw a seed; `run` plays it; `observer`, `wire`, `bills` and
//! `rest` check it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod bills;
mod draw;
mod faults;
mod gremlin;
mod log;
mod observer;
mod offer;
mod own;
mod plan;
mod rest;
mod run;
mod script;
mod seeds;
mod spread;
mod wire;
