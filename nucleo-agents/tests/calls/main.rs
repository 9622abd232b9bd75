//! Calls of agents, from the question to the books: failures, corrections, drops, ends.
//!
//! Servers are functions behind the transport, and the clock is tokio's, paused: an hour of pauses
//! takes no time. Only `typed` goes over real HTTP.
//!
//! Where to look: `world` is the server and the books; `failures` has each class of failure, `ends`
//! drops, cancellations and shutdown, `waits` caps, daily quotas and places, `work` tools, agents after
//! agents, deadlines, days and who stalls, `tools` the loop over tools that a model calls, `field` what
//! others met, `compose` races, votes, pipelines, `learning` what accounts hear from answers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod compose;
mod ends;
mod failures;
mod field;
mod learning;
mod tools;
mod tools_served;
mod typed;
mod waits;
mod work;
mod world;
