//! An Anthropic server as a provider.
//!
//! Not here: the order of an exchange (`over_http`), the bytes of requests and answers (`encode`,
//! `decode`, `stream`).

use std::sync::Arc;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::Request;

use super::blocks::{Asked, thinker};
use super::schema::Shown;
use super::{AnthropicConfig, decode, encode, stream};
use crate::providers::Provider;
use crate::providers::over_http::{Site, Wire, exchange};
use crate::transport::{Transport, TransportError};
use crate::wire::{CallFailure, CallWatch, ChatReply, ChatRequest, ResponseSchema};

/// An Anthropic server that can be asked.
///
/// ```
/// # futures_util::FutureExt::now_or_never(async {
/// use std::sync::Arc;
/// use nucleo_agents::providers::Provider as _;
/// use nucleo_agents::providers::anthropic::{Anthropic, AnthropicConfig};
/// use nucleo_agents::transport::{BodyStream, InMemory};
/// use nucleo_agents::wire::{ChatRequest, Message, Unwatched};
///
/// let server = InMemory::new(|_request| async {
///     Ok(http::Response::new(BodyStream::full(
///         r#"{"type": "message", "content": [{"type": "text", "text": "Four."}],
///             "stop_reason": "end_turn", "usage": {"input_tokens": 8, "output_tokens": 2}}"#,
///     )))
/// });
/// let config = AnthropicConfig::new("http://any").unwrap();
/// let provider = Anthropic::new(config, Arc::new(server));
/// let question = ChatRequest::new("any", vec![Message::user("Two and two?")], 16);
/// let reply = provider.call(&question, &mut Unwatched).await.unwrap();
/// assert_eq!(reply.text, "Four.");
/// assert_eq!(reply.usage.unwrap().total(), 10);
/// # }).unwrap();
/// ```
pub struct Anthropic {
    config: AnthropicConfig,
    transport: Arc<dyn Transport>,
}

impl Anthropic {
    /// The server of `config`, reached through `transport`.
    #[must_use]
    pub fn new(config: AnthropicConfig, transport: Arc<dyn Transport>) -> Self {
        Self { config, transport }
    }

    /// What the reply to `request` is read for.
    fn asked(&self, request: &ChatRequest) -> Asked {
        let by_tool = |schema: &&ResponseSchema| {
            matches!(Shown::of(&schema.schema, self.config.asked_as()), Shown::Tool(_))
        };
        let schema = request.schema.as_ref().filter(by_tool);
        Asked {
            tool: schema.map(|schema| Arc::clone(&schema.name)),
            thinker: thinker(self.site().authority(), request),
        }
    }
}

impl Wire for Anthropic {
    type Assembly = stream::Assembly;

    fn site(&self) -> &Site {
        self.config.site()
    }

    fn encode(&self, request: &ChatRequest) -> Request<Bytes> {
        encode::encode(&self.config, request)
    }

    fn whole(&self, request: &ChatRequest, body: &[u8]) -> Result<ChatReply, CallFailure> {
        decode::whole(body, self.site().key_text(), &self.asked(request))
    }

    fn unended(
        &self,
        request: &ChatRequest,
        body: &[u8],
        source: TransportError,
    ) -> Result<ChatReply, CallFailure> {
        decode::unended(body, self.site().key_text(), &self.asked(request), source)
    }

    fn assembly(&self, request: &ChatRequest) -> stream::Assembly {
        stream::Assembly::new(self.asked(request))
    }
}

impl Provider for Anthropic {
    fn call<'a>(
        &'a self,
        request: &'a ChatRequest,
        watch: &'a mut dyn CallWatch,
    ) -> BoxFuture<'a, Result<ChatReply, CallFailure>> {
        exchange(self, &*self.transport, request, watch).boxed()
    }

    fn kind(&self) -> &'static str {
        "anthropic"
    }
}

impl std::fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anthropic").field("config", &self.config).finish_non_exhaustive()
    }
}
