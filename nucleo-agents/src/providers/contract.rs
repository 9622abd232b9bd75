//! The contract of a provider.
//!
//! Invariants: one call is at most one request on the wire; dropping its future ends it.
//!
//! Not here: how to write one (the head of `providers`).

use futures_core::future::BoxFuture;

use crate::wire::{CallFailure, CallWatch, ChatReply, ChatRequest};

/// A model server that can be asked.
///
/// ```
/// use futures_util::{FutureExt as _, future::BoxFuture};
/// use nucleo_agents::providers::Provider;
/// use nucleo_agents::wire::{CallFailure, CallWatch, ChatReply, ChatRequest, Stop};
///
/// struct Parrot;
/// impl Provider for Parrot {
///     fn call<'a>(
///         &'a self,
///         request: &'a ChatRequest,
///         watch: &'a mut dyn CallWatch,
///     ) -> BoxFuture<'a, Result<ChatReply, CallFailure>> {
///         watch.leaving();
///         let text = request.messages.last().map(|m| m.text().into_owned()).unwrap_or_default();
///         async { Ok(ChatReply::new(text, Stop::End)) }.boxed()
///     }
///     fn kind(&self) -> &'static str {
///         "parrot"
///     }
/// }
/// ```
pub trait Provider: Send + Sync + 'static {
    /// Asks once, and tells `watch` what happens on the way.
    ///
    /// # Errors
    /// [`CallFailure`], which says where the call ended and whether a repeat can help.
    ///
    /// # Cancel safety
    /// Dropping the future ends the exchange; what `watch` was told until then holds.
    fn call<'a>(
        &'a self,
        request: &'a ChatRequest,
        watch: &'a mut dyn CallWatch,
    ) -> BoxFuture<'a, Result<ChatReply, CallFailure>>;

    /// The kind of provider, as a catalog names it.
    fn kind(&self) -> &'static str;
}
