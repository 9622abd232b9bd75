//! The contract of a transport, and the three ways an exchange fails below HTTP.
//!
//! Invariants: [`TransportError::Connect`] and [`TransportError::Unsendable`] mean that no byte of
//! the request reached the server, so everything taken for it may be given back in full; any other
//! error means that the server may have worked.
//!
//! Not here: statuses (an answered error is an answer), timeouts (the runtime's).

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::future::BoxFuture;

use super::BodyStream;

/// What lies under a failure. Shared, so that failures can be kept and handed on.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// Sends one request and hands back the head of the answer with its body still to come.
///
/// ```
/// use std::sync::Arc;
/// use nucleo_agents::transport::{BodyStream, InMemory, Transport};
///
/// let transport: Arc<dyn Transport> = Arc::new(InMemory::new(|_request| async {
///     Ok(http::Response::new(BodyStream::full("{}")))
/// }));
/// # let _ = transport;
/// ```
pub trait Transport: Send + Sync + 'static {
    /// Sends `request`; ready when the answer's head is there.
    ///
    /// # Errors
    /// [`TransportError`] when there is no head. A status of 4xx or 5xx is no error here.
    ///
    /// # Cancel safety
    /// Dropping the future, or later the body, ends the exchange: the connection is closed unless
    /// the answer had been read to its end. The request is never sent again.
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<BodyStream>, TransportError>>;
}

/// Why an exchange has no answer, or no whole one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server was not reached: name resolution, TCP or TLS. Nothing left this process.
    #[error("could not connect: check base_url, and that the server is up")]
    Connect {
        /// What the resolver, TCP or TLS said.
        #[source]
        source: Cause,
    },
    /// The request can't be put on a wire at all, for example for its address. Nothing left.
    #[error("the request can't be sent as it is: check base_url")]
    Unsendable {
        /// What is wrong with it.
        #[source]
        source: Cause,
    },
    /// The connection ended before the answer did.
    #[error("the connection broke {at}")]
    Broken {
        /// How far the answer had come.
        at: BrokenAt,
        /// What TCP or TLS said.
        #[source]
        source: Cause,
    },
    /// What came back is no HTTP.
    #[error("the server does not speak HTTP here: check the scheme and port of base_url")]
    Protocol {
        /// What the parser said.
        #[source]
        source: Cause,
    },
}

/// How far an answer had come when its connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenAt {
    /// No head had arrived.
    BeforeHead,
    /// The head had arrived, the body had not ended.
    InBody,
}

impl TransportError {
    /// True when no byte of the request can have reached the server.
    #[must_use]
    pub const fn nothing_left(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Unsendable { .. } => true,
            Self::Broken { .. } | Self::Protocol { .. } => false,
        }
    }

    /// A broken connection, with a cause told in words.
    ///
    /// ```
    /// use nucleo_agents::transport::{BrokenAt, TransportError};
    /// let error = TransportError::broken(BrokenAt::InBody, "the plug was pulled");
    /// assert_eq!(error.to_string(), "the connection broke inside the body");
    /// assert!(!error.nothing_left());
    /// ```
    #[must_use]
    pub fn broken(at: BrokenAt, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Broken { at, source: Arc::from(cause.into()) }
    }

    /// A server that was not reached, with a cause told in words.
    #[must_use]
    pub fn connect(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Connect { source: Arc::from(cause.into()) }
    }
}

impl std::fmt::Display for BrokenAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BeforeHead => "before the answer began",
            Self::InBody => "inside the body",
        })
    }
}
