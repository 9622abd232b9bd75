//! An OpenAI-compatible server as a provider.
//!
//! Not here: the order of an exchange (`over_http`), the bytes of requests and answers (`encode`,
//! `decode`, `stream`).

use std::sync::Arc;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::Request;

use super::{OpenAiConfig, decode, encode, stream};
use crate::providers::Provider;
use crate::providers::over_http::{Site, Wire, exchange};
use crate::transport::{Transport, TransportError};
use crate::wire::{CallFailure, CallWatch, ChatReply, ChatRequest};

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
}

impl Wire for OpenAi {
    type Assembly = stream::Assembly;

    fn site(&self) -> &Site {
        self.config.site()
    }

    fn encode(&self, request: &ChatRequest) -> Request<Bytes> {
        encode::encode(&self.config, request)
    }

    fn whole(&self, _request: &ChatRequest, body: &[u8]) -> Result<ChatReply, CallFailure> {
        decode::whole(body, &self.config)
    }

    fn unended(
        &self,
        _request: &ChatRequest,
        body: &[u8],
        source: TransportError,
    ) -> Result<ChatReply, CallFailure> {
        decode::unended(body, &self.config, source)
    }

    fn assembly(&self, _request: &ChatRequest) -> stream::Assembly {
        stream::Assembly::new(self.config.server())
    }
}

impl Provider for OpenAi {
    fn call<'a>(
        &'a self,
        request: &'a ChatRequest,
        watch: &'a mut dyn CallWatch,
    ) -> BoxFuture<'a, Result<ChatReply, CallFailure>> {
        exchange(self, &*self.transport, request, watch).boxed()
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
