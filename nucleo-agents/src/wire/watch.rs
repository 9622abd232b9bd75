//! What a caller learns while a call is under way.
//!
//! Invariants, kept by every provider: `leaving` is said once, before anything else, right before
//! the request is handed to the transport; then `could_not_connect`, or `head`; `usage` and `piece`
//! only after `head`. Whatever was said before the call's future is dropped holds for its
//! settlement, which is why it is told here and not in the result.
//!
//! Not here: what follows from it (`mark_sent`, settlement: `nucleo-harness`).

use nucleo_core::{Span, Usage};

use super::LimitFacts;

/// Receives what happens during one call. All methods do nothing unless overridden; none may block.
///
/// ```
/// use nucleo_agents::wire::{CallWatch, Unwatched};
/// let mut watch = Unwatched;
/// watch.leaving();
/// watch.piece("streamed text");
/// ```
pub trait CallWatch: Send {
    /// The request is about to leave: from here on the server may work.
    fn leaving(&mut self) {}
    /// It did not leave after all: the server was not reached.
    fn could_not_connect(&mut self) {}
    /// The head of an answer is there.
    fn head(&mut self, head: &HeadFacts) {
        let _ = head;
    }
    /// Usage so far, for the whole call: the last one told holds, also when the call is cut off
    /// then.
    fn usage(&mut self, usage: Usage) {
        let _ = usage;
    }
    /// More was answered than the usage told so far covers: it holds no more.
    fn usage_outdated(&mut self) {}
    /// A piece of a streamed text, in order. Never empty.
    fn piece(&mut self, text: &str) {
        let _ = text;
    }
}

/// What the head of an answer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeadFacts {
    /// The HTTP status.
    pub status: u16,
    /// What the rate-limit headers say.
    pub limits: LimitFacts,
    /// The provider's name for the exchange.
    pub request_id: Option<Box<str>>,
    /// How long to wait, if the server said so.
    pub retry_after: Option<Span>,
}

/// A watch that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl CallWatch for Unwatched {}
