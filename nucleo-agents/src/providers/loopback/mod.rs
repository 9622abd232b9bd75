//! The loopback provider: a model server of our own, in this process or as a process.
//!
//! It speaks OpenAI's chat completions and Anthropic's messages (whole and streamed), enforces quotas
//! the way a hosted provider does, answers deterministically from a seed, takes its time, prices, and fails
//! on request. Everything in the README runs against it without a key, over real HTTP; and its
//! ledger is the independent count that tests compare ours with. For that reason nothing here uses
//! the limits, the prices or the money of `nucleo_core`: a bug there must not hide itself here.
//!
//! # What it does, exactly
//! * Input tokens are [`count_tokens`]: a quarter of each message's bytes, rounded up, and
//!   [`TOKENS_A_MESSAGE`] a message; ids, names and arguments of its tool calls are bytes of it, a
//!   tool on offer counts as a message of name, description and schema, an image is
//!   [`TOKENS_AN_IMAGE`], and the form of an answer a quarter of its name and schema. Output tokens
//!   are a quarter of the answer's bytes, rounded up.
//! * A request is taken when every quota has room for it: 1 request, its input tokens, its output
//!   limit, the sum of both. Otherwise 429 with its wait and what the rate-limit headers say of a
//!   minute's quotas, as the wire has them (`retry-after-ms` and `x-ratelimit-*`, or
//!   `anthropic-ratelimit-*` with dates); nothing is taken then. At the end unused tokens are given
//!   back, or not ([`Settle`]).
//! * A wire is a form and nothing else: the same conversation counts the same tokens, is answered in
//!   the same words and fails at the same place by either, and the ledger has both (the form of an
//!   answer counts as it is sent). Errors are typed
//!   as the wire types them; out of credit is a 402 by messages.
//! * The answer depends on the seed and the question alone, not on when it was asked. Its length is
//!   what the header `x-nucleo-output-tokens` asks for, else drawn from the model's range; at most
//!   the output limit, and then the finish reason is `length`. Where a JSON schema is asked for, the
//!   answer satisfies it (see `schema` for what it knows), padded with spaces up to the length asked.
//! * It calls tools on request: `[call NAME]` and `[call NAME {"its": "input"}]` in the last user
//!   message, `[then]` between turns; or the header `x-nucleo-tool-turns`, for so many turns, with
//!   tools and inputs that are drawn from the seed (see `calls`). Then it answers, with words of
//!   the results.
//! * Billed is what was produced: a call whose client went away costs its input and the output
//!   produced until then; one that failed before any work costs nothing ([`Fault`] says which).
//! * Its quotas may be less than its client was told ([`LoopbackModel::quota_permille`],
//!   [`Engine::set_quota_permille`]) or enforced by the second ([`Enforced`]), and its clock may jump
//!   ([`Engine::jump_clock`]). Every answer has a `date`.
//! * `POST /v1/chat/completions`, `POST /v1/messages`, `GET /v1/models`, `GET /ledger`, `POST /reset` (ledger, quotas, clock and faults as at the
//!   start).
//!
//! Not here: checking keys (any key will do), caches, thinking.

mod answer;
mod asked;
mod asked_messages;
mod bucket;
mod calls;
mod clock;
mod config;
mod deck;
mod engine;
mod fault;
mod flow;
mod form;
mod injected;
mod ledger;
mod messages;
mod prose;
mod quota;
mod schema;
mod server;
mod serving;
#[cfg(test)]
mod tests;
mod text;
mod tokens;

pub use config::{
    Dimension, Enforced, Latency, LoopbackConfig, LoopbackError, LoopbackModel, LoopbackPrice,
    Quota, Settle,
};
pub use engine::{Engine, in_memory};
pub use fault::{AskedWait, Fault, FaultRule, InsideAfter, InsideError, When};
pub use ledger::Ledger;
pub use server::Loopback;
pub use tokens::{TOKENS_A_MESSAGE, TOKENS_AN_IMAGE, count_tokens, prompt_of_tokens};
