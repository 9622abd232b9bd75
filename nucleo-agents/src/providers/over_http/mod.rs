//! What every provider over HTTP does alike, so that a wire brings its own bytes and nothing else.
//!
//! * `exchange`: one exchange, from `leaving` to a reply or a failure. `wire`: what a wire adds.
//! * `site`: where a server is, its key, its bounds. `events`: a stream of events, bounded.
//! * `error_body`: the typed body of an error. `lenient`: numbers and fields that may be malformed.
//!
//! Invariants: one call, one request; the key is in no error, no log and no `Debug`.
//!
//! Not here: the bytes of any wire (`providers::openai`, `providers::anthropic`).

mod error_body;
mod events;
mod exchange;
#[cfg(test)]
mod heard;
mod lenient;
mod site;
mod wire;

pub(super) use error_body::{ErrorBody, streamed_error};
pub(super) use exchange::exchange;
#[cfg(test)]
pub(super) use heard::Heard;
pub(super) use lenient::{Count, lenient};
pub use site::ConfigError;
pub(super) use site::Site;
pub(super) use wire::{Assembly, Next, Wire, post, told_usage};
#[cfg(feature = "loopback")]
pub(super) use wire::{OUTPUT_TOKENS_HINT, TOOL_TURNS_HINT};
