//! Attempts, step by step, under every fault.
//!
//! A scripted job runs on a paused clock, so hours pass in no time and every run is the same. Where
//! to look: `world` is what it runs in, `faults` crosses every step with every fault, `rows` walks
//! the table of what comes back, `retries` and `pace` hold the budgets, pauses and accounts, `legs`
//! several bindings, `ends` cancellation and shutdown, `bounds` deadlines, retry budgets and scopes,
//! `holds` work that outlives its attempt, `dependencies` jobs after jobs, `crowd` ten thousand jobs;
//! `law` looks for steps that nothing ever takes.
#![cfg(not(feature = "__shuttle"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod bounds;
mod crowd;
mod dependencies;
mod ends;
mod faults;
mod holds;
mod law;
mod legs;
mod pace;
mod retries;
mod rows;
mod script;
mod world;
