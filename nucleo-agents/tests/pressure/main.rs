//! Servers under pressure, and what becomes of a run: scenarios on a paused clock, minutes long in
//! virtual time.
//!
//! Where to look: `server` is a server with a capacity of its own; `capacity` has what changes while a
//! run goes on, `errors` what each answer costs in requests, `stalls` what never answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod capacity;
mod errors;
mod server;
mod stalls;
