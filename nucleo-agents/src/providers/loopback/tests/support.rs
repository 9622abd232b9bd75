//! A server and a client that ask and answer, for the other files.

use std::sync::Arc;

use super::super::*;
use crate::providers::Provider as _;
use crate::providers::openai::{OpenAi, OpenAiConfig};
use crate::transport::{BodyStream, Pooled, PooledConfig, Transport};
use crate::wire::{CallFailure, ChatReply, ChatRequest, Message, Streaming, Unwatched};

const KEY: &str = "sk-live-hush-hush";

pub(super) async fn serve(config: LoopbackConfig) -> (Loopback, OpenAi) {
    let server = Loopback::start(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let client =
        client(&server.base_url(), Arc::new(Pooled::new(PooledConfig::default()).unwrap()));
    (server, client)
}

pub(super) fn client(base_url: &str, transport: Arc<dyn Transport>) -> OpenAi {
    OpenAi::new(OpenAiConfig::new(base_url).unwrap().api_key(KEY.into()).unwrap(), transport)
}

pub(super) fn priced() -> LoopbackModel {
    LoopbackModel::new("small-1").price(LoopbackPrice::usd(150_000_000_000, 600_000_000_000))
}

pub(super) fn ask(text: &str, max_output: u64) -> ChatRequest {
    ChatRequest::new("small-1", vec![Message::user(text)], max_output)
}

pub(super) async fn call(client: &OpenAi, request: &ChatRequest) -> Result<ChatReply, CallFailure> {
    client.call(request, &mut Unwatched).await
}

/// More passes than any server takes: a test that would hang fails.
const PASSES_MAX: usize = 20_000_000;

/// Waits until the server has noticed what a client did; every pass lets it run.
pub(super) async fn until(engine: &Engine, holds: impl Fn(&Ledger) -> bool) -> Ledger {
    for _ in 0..PASSES_MAX {
        let ledger = engine.ledger();
        if holds(&ledger) {
            return ledger;
        }
        tokio::task::yield_now().await;
    }
    panic!("the server never noticed: {:?}", engine.ledger());
}

/// The server's own answer, as no client has read it yet.
pub(super) async fn raw(
    engine: &Engine,
    text: &str,
    streaming: Streaming,
) -> http::Response<BodyStream> {
    let body = serde_json::json!({
        "model": "small-1",
        "messages": [{"role": "user", "content": text}],
        "stream": streaming == Streaming::Pieces,
        "max_tokens": 200,
    });
    let request = http::Request::post("http://loopback/v1/chat/completions");
    engine.transport().send(request.body(body.to_string().into()).unwrap()).await.unwrap()
}
