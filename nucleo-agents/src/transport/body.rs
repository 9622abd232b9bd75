//! The body of an answer as it arrives.
//!
//! Invariants: after an error or the end nothing more is read; reading a whole body is bounded, so
//! that a server which never stops can't fill this process.
//!
//! Not here: server-sent events (`providers::openai`).

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{StreamExt as _, stream};

use super::TransportError;

/// The bytes of an answer, piece by piece. Dropping it before its end cuts the answer.
///
/// ```
/// # futures_util::FutureExt::now_or_never(async {
/// use nucleo_agents::transport::BodyStream;
/// let body = BodyStream::full("all of it");
/// assert_eq!(body.whole(1_024).await.unwrap(), "all of it");
/// # }).unwrap();
/// ```
pub struct BodyStream(Pin<Box<dyn Stream<Item = Result<Bytes, TransportError>> + Send>>);

/// Why a body could not be read whole.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The connection ended first.
    #[error("the body did not end")]
    Cut(#[source] TransportError),
    /// There was more than the reader allows.
    #[error("the body is larger than {bytes_max} bytes")]
    TooLarge {
        /// What was allowed.
        bytes_max: usize,
    },
}

impl BodyStream {
    /// A body that arrives as `stream` does.
    pub fn new(stream: impl Stream<Item = Result<Bytes, TransportError>> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// A body that is there already.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::new(stream::iter((!bytes.is_empty()).then_some(Ok(bytes))))
    }

    /// A body that arrives in these pieces.
    #[must_use]
    pub fn pieces(pieces: Vec<Result<Bytes, TransportError>>) -> Self {
        Self::new(stream::iter(pieces))
    }

    /// The whole body, read to its end.
    ///
    /// # Errors
    /// [`BodyError::Cut`] when the connection ends first, [`BodyError::TooLarge`] past `bytes_max`.
    ///
    /// # Cancel safety
    /// Dropping the future cuts the answer; what had been read is lost.
    pub async fn whole(self, bytes_max: usize) -> Result<Bytes, BodyError> {
        let Arrived { bytes, lacks } = self.arrived(bytes_max).await;
        lacks.map_or(Ok(bytes), Err)
    }

    /// What arrives, and why it is not the whole body, if it isn't. An answer may be complete by its
    /// own form though its connection broke instead of ending.
    pub(crate) async fn arrived(mut self, bytes_max: usize) -> Arrived {
        let (mut first, mut gathered) = (Bytes::new(), BytesMut::new());
        let lacks = loop {
            let piece = match self.next().await {
                None => break None,
                Some(Err(source)) => break Some(BodyError::Cut(source)),
                Some(Ok(piece)) => piece,
            };
            let so_far = first.len().max(gathered.len());
            if so_far.saturating_add(piece.len()) > bytes_max {
                break Some(BodyError::TooLarge { bytes_max });
            }
            // A body of one piece, which most are, is not copied.
            if so_far == 0 {
                first = piece;
                continue;
            }
            if gathered.is_empty() {
                gathered.extend_from_slice(&first);
            }
            gathered.extend_from_slice(&piece);
        };
        let bytes = if gathered.is_empty() { first } else { gathered.freeze() };
        Arrived { bytes, lacks }
    }
}

/// A body as far as it came.
pub(crate) struct Arrived {
    pub(crate) bytes: Bytes,
    /// `None` when it ended as a body should.
    pub(crate) lacks: Option<BodyError>,
}

impl Stream for BodyStream {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl std::fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BodyStream")
    }
}
