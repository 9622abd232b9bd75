//! One exchange with an OpenAI-compatible server.
//!
//! Invariants: one call, one request; the watch hears `leaving` right before the transport does; an
//! error status decides even when its body can't be read; a web page is told by its content type; an
//! answer that is complete by its own form stands, though its connection broke instead of ending.
//!
//! Not here: the bytes of requests and answers (`encode`, `decode`, `stream`).

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::{HeaderMap, header};

use super::error::ErrorBody;
use super::{OpenAiConfig, decode, encode, stream};
use crate::providers::Provider;
use crate::transport::{Arrived, BodyError, BodyStream, Transport, TransportError};
use crate::wire::{
    CallFailure, CallWatch, ChatReply, ChatRequest, FailureClass, HeadFacts, LimitFacts, Stop,
    Streaming, retry_after, word_without,
};

/// An OpenAI-compatible server that can be asked.
///
/// ```
/// # futures_util::FutureExt::now_or_never(async {
/// use std::sync::Arc;
/// use nucleo_agents::providers::Provider as _;
/// use nucleo_agents::providers::openai::{OpenAi, OpenAiConfig};
/// use nucleo_agents::transport::{BodyStream, InMemory};
/// use nucleo_agents::wire::{ChatRequest, Message, Unwatched};
///
/// let server = InMemory::new(|_request| async {
///     Ok(http::Response::new(BodyStream::full(
///         r#"{"choices": [{"message": {"content": "Four."}, "finish_reason": "stop"}],
///             "usage": {"prompt_tokens": 8, "completion_tokens": 2}}"#,
///     )))
/// });
/// let provider = OpenAi::new(OpenAiConfig::new("http://any/v1").unwrap(), Arc::new(server));
/// let question = ChatRequest::new("any", vec![Message::user("Two and two?")], 16);
/// let reply = provider.call(&question, &mut Unwatched).await.unwrap();
/// assert_eq!(reply.text, "Four.");
/// assert_eq!(reply.usage.unwrap().total(), 10);
/// # }).unwrap();
/// ```
pub struct OpenAi {
    config: OpenAiConfig,
    transport: Arc<dyn Transport>,
}

impl OpenAi {
    /// The server of `config`, reached through `transport`.
    #[must_use]
    pub fn new(config: OpenAiConfig, transport: Arc<dyn Transport>) -> Self {
        Self { config, transport }
    }

    async fn exchange(
        &self,
        request: &ChatRequest,
        watch: &mut dyn CallWatch,
    ) -> Result<ChatReply, CallFailure> {
        let sent = encode::encode(&self.config, request);
        watch.leaving();
        let answer = match self.transport.send(sent).await {
            Ok(answer) => answer,
            Err(error) if error.nothing_left() => {
                watch.could_not_connect();
                return Err(CallFailure::CouldNotConnect(error));
            }
            Err(error) => return Err(broken("its head", error)),
        };
        let head = self.head(answer.status().as_u16(), answer.headers());
        watch.head(&head);
        let content_type = content_type(answer.headers());
        let body = answer.into_body();
        if !(200..300).contains(&head.status) {
            return Err(self.refused(&head, &content_type, body).await);
        }
        let reply = match Form::of(&content_type) {
            Form::Page => {
                return Err(CallFailure::Html {
                    status: head.status,
                    content_type: content_type.into(),
                });
            }
            Form::Events => stream::pieces(body, &self.config, watch).await?,
            Form::Other => self.whole(body, request.streaming, watch).await?,
        };
        Ok(self.without_key(head, reply))
    }

    /// What the server chose to call things has no key in it, whatever it does with ours.
    fn without_key(&self, head: HeadFacts, reply: ChatReply) -> ChatReply {
        let key = self.config.key_text();
        let request_id = head.request_id.or(reply.request_id);
        let stop = match reply.stop {
            Stop::Other(reason) => Stop::Other(word_without(&reason, key).into()),
            stop => stop,
        };
        let request_id = request_id.map(|id| word_without(&id, key));
        ChatReply { request_id, stop, ..reply }
    }

    async fn whole(
        &self,
        body: BodyStream,
        streaming: Streaming,
        watch: &mut dyn CallWatch,
    ) -> Result<ChatReply, CallFailure> {
        let Arrived { bytes, lacks } = body.arrived(self.config.bytes_max()).await;
        let read = match lacks {
            None => decode::whole(&bytes, &self.config),
            Some(BodyError::Cut(source)) => decode::unended(&bytes, &self.config, source),
            Some(BodyError::TooLarge { .. }) => {
                Err(CallFailure::Unreadable { missing: "end within the allowed size", usage: None })
            }
        };
        let usage = read.as_ref().map_or_else(CallFailure::usage, |reply| reply.usage);
        if let Some(usage) = usage {
            watch.usage(usage);
        }
        // A server that does not stream answers in one piece; who listens must not miss it.
        if let (Streaming::Pieces, Ok(reply)) = (streaming, &read)
            && !reply.text.is_empty()
        {
            watch.piece(&reply.text);
        }
        read
    }

    /// The failure that an answer with an error status stands for.
    async fn refused(&self, head: &HeadFacts, content_type: &str, body: BodyStream) -> CallFailure {
        let page = Form::of(content_type) == Form::Page;
        // The status is known: a body that is cut, endless or absent changes nothing but the words,
        // unless what came of it is typed: a cut page or text says nothing for certain.
        let Arrived { bytes, lacks } = body.arrived(ERROR_BYTES_MAX).await;
        let error = match lacks {
            _ if page => ErrorBody::default(),
            None => ErrorBody::read(&bytes),
            Some(_) => ErrorBody::typed(&bytes).unwrap_or_default(),
        };
        let answer = error.answered(head, self.config.key_text());
        if page && answer.class() == FailureClass::Rejected {
            return CallFailure::Html { status: head.status, content_type: content_type.into() };
        }
        CallFailure::from_answer(answer)
    }

    fn head(&self, status: u16, headers: &HeaderMap) -> HeadFacts {
        // A date in `Retry-After` is the server's: measured against the server's own clock where
        // the answer tells it, ours may differ.
        let date = headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let now = date.and_then(|date| httpdate::parse_http_date(date).ok());
        HeadFacts {
            status,
            limits: LimitFacts::read(headers),
            request_id: ["x-request-id", "request-id", "apim-request-id"]
                .iter()
                .find_map(|name| headers.get(*name)?.to_str().ok())
                .map(|id| word_without(id, self.config.key_text())),
            retry_after: retry_after(headers, now.unwrap_or_else(|| self.config.wall_clock_fn()())),
        }
    }
}

const ERROR_BYTES_MAX: usize = 64 << 10;

fn broken(missing: &'static str, source: TransportError) -> CallFailure {
    CallFailure::Broken { missing, usage: None, source: Some(source) }
}

/// The content type without its parameters, bounded.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or("").split(';').next().unwrap_or("").trim();
    essence.chars().take(64).collect::<String>().to_ascii_lowercase()
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

impl Provider for OpenAi {
    fn call<'a>(
        &'a self,
        request: &'a ChatRequest,
        watch: &'a mut dyn CallWatch,
    ) -> BoxFuture<'a, Result<ChatReply, CallFailure>> {
        self.exchange(request, watch).boxed()
    }

    fn kind(&self) -> &'static str {
        "openai-compatible"
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi").field("config", &self.config).finish_non_exhaustive()
    }
}
