//! A transport that is a function: no socket, no clock, no thread.
//!
//! The handler decides everything a server and a network could do: answer whole, stream, break
//! before the head or inside the body, refuse the connection, or never answer (a future or a stream
//! that stays pending). So every row of an attempt's outcome can be played, in any order, seeded.
//!
//! Not here: a model server's behaviour (`providers::loopback`, which can be reached through this).

use std::future::Future;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;

use super::{BodyStream, Transport, TransportError};

type Handler = dyn Fn(
        http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<BodyStream>, TransportError>>
    + Send
    + Sync;

/// A transport whose far end is a function.
///
/// ```
/// # futures_util::FutureExt::now_or_never(async {
/// use nucleo_agents::transport::{BodyStream, BrokenAt, InMemory, Transport, TransportError};
///
/// let half = InMemory::new(|_request| async {
///     Ok(http::Response::new(BodyStream::pieces(vec![
///         Ok("one half".into()),
///         Err(TransportError::broken(BrokenAt::InBody, "cut by the test")),
///     ])))
/// });
/// let answer = half.send(http::Request::new("".into())).await.unwrap();
/// assert!(answer.into_body().whole(100).await.is_err());
/// # }).unwrap();
/// ```
pub struct InMemory(Box<Handler>);

impl InMemory {
    /// A transport that hands each request to `handler`.
    pub fn new<H, F>(handler: H) -> Self
    where
        H: Fn(http::Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<http::Response<BodyStream>, TransportError>> + Send + 'static,
    {
        Self(Box::new(move |request| handler(request).boxed()))
    }

    /// A server that takes every request and never answers.
    #[must_use]
    pub fn silent() -> Self {
        Self::new(|_request| std::future::pending())
    }

    /// A server that can't be reached.
    #[must_use]
    pub fn unreachable() -> Self {
        Self::new(|_request| async { Err(TransportError::connect("nobody listens here")) })
    }
}

impl Transport for InMemory {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<BodyStream>, TransportError>> {
        (self.0)(request)
    }
}

impl std::fmt::Debug for InMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InMemory")
    }
}
