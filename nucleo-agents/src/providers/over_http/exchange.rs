//! One exchange with a server, whatever its wire.
//!
//! Invariants: one call, one request; the watch hears `leaving` right before the transport does; an
//! error status decides even when its body can't be read; a web page is told by its content type; an
//! answer that is complete by its own form stands, though its connection broke instead of ending; the
//! answer's own content type decides how it is read, not what was asked for, because some servers
//! stream or don't as they please.
//!
//! Not here: the bytes of requests and answers (each wire).

use http::{HeaderMap, header};

use super::{ErrorBody, Site, Wire, events};
use crate::transport::{Arrived, BodyError, BodyStream, Transport, TransportError};
use crate::wire::{
    CallFailure, CallWatch, ChatReply, ChatRequest, FailureClass, HeadFacts, LimitFacts, Stop,
    Streaming, retry_after, word,
};

/// Asks once, and tells `watch` what happens on the way.
pub(crate) async fn exchange(
    wire: &impl Wire,
    transport: &dyn Transport,
    request: &ChatRequest,
    watch: &mut dyn CallWatch,
) -> Result<ChatReply, CallFailure> {
    let sent = wire.encode(request);
    watch.leaving();
    let answer = match transport.send(sent).await {
        Ok(answer) => answer,
        Err(error) if error.nothing_left() => {
            watch.could_not_connect();
            return Err(CallFailure::CouldNotConnect(error));
        }
        Err(error) => return Err(broken("its head", error)),
    };
    let site = wire.site();
    let head = head(site, answer.status().as_u16(), answer.headers());
    watch.head(&head);
    let content_type = content_type(site, answer.headers());
    let body = answer.into_body();
    if !(200..300).contains(&head.status) {
        return Err(refused(site, &head, &content_type, body).await);
    }
    let reply = match Form::of(&content_type) {
        Form::Page => {
            return Err(CallFailure::Html {
                status: head.status,
                content_type: content_type.into(),
            });
        }
        Form::Events => {
            let (bytes_max, key) = (site.bytes_max(), site.key_text());
            events::pieces(body, bytes_max, key, wire.assembly(request), watch).await?
        }
        Form::Other => whole(wire, request, body, watch).await?,
    };
    Ok(without_key(reply, head.request_id, site.key_text()))
}

/// The reply with the exchange's name; what words a server chose in it are as safe as an error's.
fn without_key(mut reply: ChatReply, request_id: Option<Box<str>>, key: &str) -> ChatReply {
    if let Stop::Other(reason) = &mut reply.stop {
        *reason = word(reason, key, WORD_CHARS_MAX);
    }
    let said = reply.request_id.take();
    reply.request_id = request_id.or_else(|| Some(word(&said?, key, ID_CHARS_MAX).into()));
    reply
}

async fn whole(
    wire: &impl Wire,
    request: &ChatRequest,
    body: BodyStream,
    watch: &mut dyn CallWatch,
) -> Result<ChatReply, CallFailure> {
    let Arrived { bytes, lacks } = body.arrived(wire.site().bytes_max()).await;
    let read = match lacks {
        None => wire.whole(request, &bytes),
        Some(BodyError::Cut(source)) => wire.unended(request, &bytes, source),
        Some(BodyError::TooLarge { .. }) => {
            Err(CallFailure::Unreadable { missing: "end within the allowed size", usage: None })
        }
    };
    let usage = read.as_ref().map_or_else(CallFailure::usage, |reply| reply.usage);
    if let Some(usage) = usage {
        watch.usage(usage);
    }
    // A server that does not stream answers in one piece; who listens must not miss it.
    if let (Streaming::Pieces, Ok(reply)) = (request.streaming, &read)
        && !reply.text.is_empty()
    {
        watch.piece(&reply.text);
    }
    read
}

/// The failure that an answer with an error status stands for.
async fn refused(
    site: &Site,
    head: &HeadFacts,
    content_type: &str,
    body: BodyStream,
) -> CallFailure {
    let page = Form::of(content_type) == Form::Page;
    // The status is known: a body that is cut, endless or absent changes nothing but the words,
    // unless what came of it is typed: a cut page or text says nothing for certain.
    let Arrived { bytes, lacks } = body.arrived(ERROR_BYTES_MAX).await;
    let error = match lacks {
        _ if page => ErrorBody::default(),
        None => ErrorBody::read(&bytes),
        Some(_) => ErrorBody::typed(&bytes).unwrap_or_default(),
    };
    let answer = error.answered(head, site.key_text());
    if page && answer.class() == FailureClass::Rejected {
        return CallFailure::Html { status: head.status, content_type: content_type.into() };
    }
    CallFailure::from_answer(answer)
}

fn head(site: &Site, status: u16, headers: &HeaderMap) -> HeadFacts {
    // A date in a header is the server's: measured against the server's own clock where the answer
    // tells it, ours may differ.
    let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
    let now = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let now = now.unwrap_or_else(|| site.wall_clock_fn()());
    HeadFacts {
        status,
        limits: LimitFacts::read(headers, now),
        request_id: ["x-request-id", "request-id", "apim-request-id"]
            .iter()
            .find_map(|name| headers.get(*name)?.to_str().ok())
            .map(|id| word(id, site.key_text(), ID_CHARS_MAX).into()),
        retry_after: retry_after(headers, now),
    }
}

const ERROR_BYTES_MAX: usize = 64 << 10;
const WORD_CHARS_MAX: usize = 64;
const ID_CHARS_MAX: usize = 128;

fn broken(missing: &'static str, source: TransportError) -> CallFailure {
    CallFailure::Broken { missing, usage: None, source: Some(source) }
}

/// The content type without its parameters, bounded.
fn content_type(site: &Site, headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or("").split(';').next().unwrap_or("").trim();
    word(essence, site.key_text(), WORD_CHARS_MAX).to_ascii_lowercase()
}

/// How an answer is to be read. Servers of plain JSON sometimes forget to say so.
#[derive(PartialEq, Eq)]
enum Form {
    Page,
    Events,
    Other,
}

impl Form {
    fn of(content_type: &str) -> Self {
        match content_type {
            "text/html" | "application/xhtml+xml" => Self::Page,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
}
