//! A stream of server-sent events, read to its end and bounded.
//!
//! Invariants: the size of the whole is bounded, so that a server which never stops can't fill this
//! process; what was told before a stream fails is in the failure.
//!
//! Not here: what an event means (each wire's `stream`).

use std::pin::pin;

use bytes::Bytes;
use eventsource_stream::{EventStreamError, Eventsource as _};
use futures_core::Stream;
use futures_util::StreamExt as _;

use super::{Assembly, Next};
use crate::transport::{BodyStream, BrokenAt, TransportError};
use crate::wire::{CallFailure, CallWatch, ChatReply};

/// Reads a streamed answer of 2xx to its end.
pub(super) async fn pieces(
    body: BodyStream,
    bytes_max: usize,
    key: &str,
    mut so_far: impl Assembly,
    watch: &mut dyn CallWatch,
) -> Result<ChatReply, CallFailure> {
    let mut events = pin!(bounded(body, bytes_max).eventsource());
    loop {
        let missing = match events.next().await {
            Some(Ok(event)) => match so_far.take(&event.event, &event.data, key, watch)? {
                Next::Done => return so_far.complete(),
                Next::More => continue,
            },
            Some(Err(EventStreamError::Transport(source))) => return so_far.cut(Some(source)),
            Some(Err(EventStreamError::Utf8(_))) => "valid UTF-8",
            Some(Err(EventStreamError::Parser(_))) => "well-formed events",
            None => return so_far.cut(None),
        };
        return Err(CallFailure::Unreadable { missing, usage: so_far.usage() });
    }
}

/// The longest line of a stream that has not ended yet. The parser looks at such a line anew with each
/// piece of it, so its work grows with the square of this.
const LINE_BYTES_MAX: usize = 1 << 20;

/// The same body, broken off past `bytes_max`: a server that never stops must not fill us.
fn bounded(
    body: BodyStream,
    bytes_max: usize,
) -> impl Stream<Item = Result<Bytes, TransportError>> {
    let (mut left, mut line) = (bytes_max, 0_usize);
    body.map(move |piece| {
        let piece = piece?;
        let broken = |words| TransportError::broken(BrokenAt::InBody, words);
        left = left
            .checked_sub(piece.len())
            .ok_or_else(|| broken("the stream is larger than allowed"))?;
        line = match piece.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => piece.len() - end,
            None => line + piece.len(),
        };
        if line > LINE_BYTES_MAX {
            return Err(broken("a line of the stream is longer than allowed"));
        }
        Ok(piece)
    })
}
