//! The vocabulary between agents and providers: what is asked, what comes back, what went wrong.
//!
//! One form for all providers; each translates it to its own wire and back. A call is a
//! [`ChatRequest`]; it ends in a [`ChatReply`] or a [`CallFailure`]; what is learnt on the way
//! (the request leaves, the head is there, usage so far, a streamed piece) goes to a [`CallWatch`].
//!
//! Invariants: failures are classified from status and typed body, never from message text; no key
//! and no conversation appears in an error or in `Debug`; usage is in disjoint kinds, and unknown
//! usage is `None`, never zero.
//!
//! Not here: encoding (`providers`), retry policy and settlement (`nucleo-harness`); they read
//! [`CallFailure::class`] and [`CallFailure::ends_at`].

mod chat;
mod failure;
mod limits;
mod message;
mod message_json;
#[cfg(test)]
mod message_tests;
mod part;
mod reply;
mod retry_after;
mod said;
mod tools;
mod watch;

pub use chat::{ChatRequest, Hints, ResponseSchema, Streaming};
pub use failure::{CallFailure, EndsAt, ErrorAnswer, FailureClass, StreamedAfter};
pub use limits::{LimitFact, LimitFacts};
pub use message::{Message, Role};
pub use part::{Image, Part, Reasoning, ToolCall, ToolResult};
pub use reply::{ChatReply, Stop};
pub use retry_after::{WallClock, retry_after};
pub use said::ServerSaid;
#[cfg(feature = "client")]
pub(crate) use said::word;
pub use tools::{ToolChoice, ToolSpec};
pub use watch::{CallWatch, HeadFacts, Unwatched};
