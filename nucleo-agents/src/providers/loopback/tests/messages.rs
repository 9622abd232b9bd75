//! The messages wire, against our client and against the other wire: the same server, the same words,
//! the same bill.

use std::sync::Arc;

use http::StatusCode;
use nucleo_core::{Span, Usage};
use serde_json::{Value, json};

use super::super::*;
use super::support::{client, priced, until};
use crate::providers::Provider;
use crate::providers::anthropic::{AnswerForm, Anthropic, AnthropicConfig};
use crate::transport::{Pooled, PooledConfig, Transport};
use crate::wire::{
    CallFailure, CallWatch, ChatReply, ChatRequest, EndsAt, FailureClass, HeadFacts, Hints,
    Message, ResponseSchema, Stop, Streaming, ToolResult, ToolSpec, Unwatched,
};

const KEY: &str = "sk-ant-hush-hush";

/// What a watch hears, and the pieces.
#[derive(Default)]
struct Heard {
    head: Option<HeadFacts>,
    usage: Option<Usage>,
    pieces: Vec<String>,
}

impl CallWatch for Heard {
    fn head(&mut self, head: &HeadFacts) {
        self.head = Some(head.clone());
    }
    fn usage(&mut self, usage: Usage) {
        self.usage = Some(usage);
    }
    fn usage_outdated(&mut self) {
        self.usage = None;
    }
    fn piece(&mut self, text: &str) {
        self.pieces.push(text.to_owned());
    }
}

fn anthropic(base_url: &str, transport: Arc<dyn Transport>) -> Anthropic {
    let config = AnthropicConfig::new(base_url).unwrap().api_key(KEY.into()).unwrap();
    Anthropic::new(config, transport)
}

fn of(engine: &Engine) -> Anthropic {
    anthropic("http://loopback", engine.transport())
}

fn ask(text: &str, max_output: u64) -> ChatRequest {
    let messages = vec![Message::system("Be brief."), Message::user(text)];
    ChatRequest::new("small-1", messages, max_output)
}

async fn call(client: &dyn Provider, request: &ChatRequest) -> Result<ChatReply, CallFailure> {
    client.call(request, &mut Unwatched).await
}

/// Both wires, over sockets: what is said, why it ends, what it used, and what it costs.
#[tokio::test]
async fn both_wires_say_and_cost_the_same() {
    let config = LoopbackConfig::new([priced()]).seed(3);
    let server = Loopback::start(config, "127.0.0.1:0".parse().unwrap()).unwrap();
    let pool: Arc<dyn Transport> = Arc::new(Pooled::new(PooledConfig::default()).unwrap());
    let clients: [Box<dyn Provider>; 2] = [
        Box::new(client(&server.base_url(), Arc::clone(&pool))),
        Box::new(anthropic(&server.base_url(), pool)),
    ];
    let tools = [
        ToolSpec::new("look", "Looks", json!({"type": "object"})),
        ToolSpec::new(
            "find",
            "",
            json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        ),
    ];
    let talk = |hints: Hints| ask("Why is the sky blue?", 300).hints(hints);
    let turns = Hints::NONE.tool_turns(1);
    let mut called = talk(turns).tools(tools.clone());
    let reply = call(&*clients[0], &called).await.unwrap();
    assert!(!reply.calls.is_empty());
    let results = reply.calls.iter().enumerate().map(|(n, call)| match n {
        0 => ToolResult::found(Arc::clone(&call.id), "blue light scatters"),
        _ => ToolResult::error(Arc::clone(&call.id), "no such thing"),
    });
    let mut messages = called.messages.to_vec();
    messages.extend([reply.to_message(), Message::tool_results(results)]);
    called.messages = messages.into();
    for request in
        [talk(Hints::NONE), talk(Hints::output_tokens(1_000)), talk(turns).tools(tools), called]
    {
        for streaming in [Streaming::Whole, Streaming::Pieces] {
            let request = request.clone().streaming(streaming);
            let mut said = Vec::new();
            for client in &clients {
                server.reset();
                let mut heard = Heard::default();
                let reply = client.call(&request, &mut heard).await.unwrap();
                let usage = reply.usage.unwrap();
                assert_eq!(heard.usage, Some(usage));
                if streaming == Streaming::Pieces {
                    assert_eq!(heard.pieces.concat(), reply.text);
                }
                let ledger = until(server.engine(), |ledger| ledger.answered == 1).await;
                assert_eq!(
                    (ledger.input_tokens, ledger.output_tokens),
                    (usage.input, usage.output)
                );
                said.push((reply.text, reply.calls, reply.stop, usage, ledger));
            }
            assert_eq!(said[0], said[1], "{streaming:?}");
        }
    }
    server.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn every_fault_has_its_form() {
    use EndsAt::{ErrorAnswer, FullAnswer, Incomplete, RateLimited};
    use FailureClass::{OutOfCredit, Overload, RateLimit, Transient};
    use InsideAfter::{Half, Nothing};
    use InsideError as Says;
    let inside = |says, after| Fault::ErrorInside { says, after };
    for (fault, class, ends_at) in [
        (Fault::RateLimit(AskedWait::Seconds(3)), RateLimit, RateLimited),
        (Fault::OutOfCredit, OutOfCredit, ErrorAnswer),
        (Fault::Overloaded(AskedWait::Unsaid), Overload, ErrorAnswer),
        (Fault::Unavailable(AskedWait::Unsaid), Overload, ErrorAnswer),
        (Fault::ServerError, Transient, ErrorAnswer),
        (Fault::WebPage, Transient, ErrorAnswer),
        (Fault::Reset, Transient, Incomplete),
        (Fault::Truncate, Transient, Incomplete),
        (inside(Says::RateLimit, Nothing), RateLimit, ErrorAnswer),
        (inside(Says::Overload, Nothing), Overload, ErrorAnswer),
        (inside(Says::ServerError, Nothing), Transient, ErrorAnswer),
        (inside(Says::Overload, Half), Overload, Incomplete),
        (Fault::MalformedJson, Transient, FullAnswer),
    ] {
        for streaming in [Streaming::Whole, Streaming::Pieces] {
            let rule = FaultRule::new(When::First(1), fault);
            let engine = Engine::new(LoopbackConfig::new([priced()]).fault(rule)).unwrap();
            let request = ask("Why?", 100).hints(Hints::output_tokens(90)).streaming(streaming);
            let mut heard = Heard::default();
            let failure = of(&engine).call(&request, &mut heard).await.unwrap_err();
            assert_eq!((failure.class(), failure.ends_at()), (class, ends_at), "{fault:?}");
            assert_eq!(failure.usage(), None, "{fault:?} {streaming:?}");
            assert_eq!(heard.usage, None, "{fault:?} {streaming:?}");
            let ledger =
                until(&engine, |ledger| ledger.answered + ledger.failed + ledger.http_429 == 1);
            let free = matches!(ends_at, ErrorAnswer | RateLimited) || fault == Fault::Reset;
            assert_eq!(ledger.await.input_tokens == 0, free, "{fault:?}");
            assert_eq!(call(&of(&engine), &request).await.unwrap().stop, Stop::End);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_under_a_strange_star() {
    for (fault, told) in [
        (Fault::ResetAtEnd, true),
        (Fault::RunningUsage, true),
        (Fault::DoubledUsage, true),
        (Fault::MissingUsage, false),
    ] {
        for streaming in [Streaming::Whole, Streaming::Pieces] {
            let rule = FaultRule::new(When::First(1), fault);
            let engine = Engine::new(LoopbackConfig::new([priced()]).fault(rule)).unwrap();
            let request = ask("Why?", 100).hints(Hints::output_tokens(90)).streaming(streaming);
            let reply = call(&of(&engine), &request).await.unwrap();
            let ledger = engine.ledger();
            let used = reply.usage.map(|usage| (usage.input, usage.output));
            let billed = (ledger.input_tokens, ledger.output_tokens);
            assert_eq!(used, told.then_some(billed), "{fault:?} {streaming:?}");
        }
    }
    for fault in [Fault::Silent, Fault::Stall, Fault::KeepAlive] {
        for streaming in [Streaming::Whole, Streaming::Pieces] {
            let rule = FaultRule::new(When::First(1), fault);
            let engine = Engine::new(LoopbackConfig::new([priced()]).fault(rule)).unwrap();
            let (client, request) = (of(&engine), ask("Why?", 100).streaming(streaming));
            let mut heard = Heard::default();
            let hour = std::time::Duration::from_secs(3_600);
            let waited = tokio::time::timeout(hour, client.call(&request, &mut heard)).await;
            assert!(waited.is_err(), "{fault:?}");
            let ledger = until(&engine, |ledger| ledger.failed == 1).await;
            assert_eq!((ledger.input_tokens > 0, ledger.output_tokens), (true, 0), "{fault:?}");
            // What a stream that opened has told is what it costs.
            let told = heard.usage.map(|usage| (usage.input, usage.output));
            assert!(
                told.is_none_or(|told| told == (ledger.input_tokens, 0)),
                "{fault:?}: {told:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn quotas_are_told_in_its_headers() {
    let model = priced()
        .quota(Quota::per_minute(Dimension::Requests, 2))
        .quota(Quota::per_minute(Dimension::InputTokens, 600))
        .quota(Quota::per_minute(Dimension::OutputTokens, 6_000));
    let engine = Engine::new(LoopbackConfig::new([model])).unwrap();
    let (client, request) = (of(&engine), ask("Why?", 100));
    let input = count_tokens(["Be brief.", "Why?"]);
    for asked in 1..=3 {
        let mut heard = Heard::default();
        let result = client.call(&request, &mut heard).await;
        let head = heard.head.unwrap();
        assert_eq!(head.request_id.as_deref(), Some(&*format!("req_{asked:08}")));
        let requests = head.limits.requests.unwrap();
        assert_eq!(
            (requests.limit, requests.remaining),
            (Some(2), Some(2_u64.saturating_sub(asked)))
        );
        assert_eq!(requests.resets_in, Some(Span::from_secs(30 * asked.min(2))));
        let tokens = head.limits.input_tokens.unwrap();
        assert_eq!(tokens.limit, Some(600));
        assert_eq!(tokens.remaining, Some(600 - input * asked.min(2)));
        assert_eq!(head.limits.output_tokens.unwrap().limit, Some(6_000));
        assert_eq!(head.limits.tokens, None);
        if asked == 3 {
            let failure = result.unwrap_err();
            assert_eq!(failure.name(), "rate_limited");
            assert_eq!(failure.retry_after(), Some(Span::from_secs(30)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_its_form_by_format_and_by_tool() {
    let engine = Engine::new(LoopbackConfig::new([priced()])).unwrap();
    let closed = json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"n": {"type": "integer"}},
        "required": ["n"], "additionalProperties": {"type": "string"}});
    for (schema, form) in
        [(&closed, AnswerForm::Format), (&closed, AnswerForm::Tool), (&open, AnswerForm::Format)]
    {
        let config = AnthropicConfig::new("http://loopback").unwrap().answer_form(form);
        let client = Anthropic::new(config, engine.transport());
        let asked = ResponseSchema { name: "form".into(), schema: schema.clone().into() };
        for streaming in [Streaming::Whole, Streaming::Pieces] {
            let request = ask("Why?", 200).schema(asked.clone()).streaming(streaming);
            let reply = call(&client, &request).await.unwrap();
            assert_eq!((reply.stop, reply.calls.len()), (Stop::End, 0));
            let answer: Value = serde_json::from_str(&reply.text).unwrap();
            assert!(answer["n"].is_i64(), "{answer}");
        }
    }
}

/// What a client sees that is not ours.
#[tokio::test(start_paused = true)]
async fn wrong_requests_get_typed_errors() {
    let engine = Engine::new(LoopbackConfig::new([priced()])).unwrap();
    let user = json!([{"role": "user", "content": "q"}]);
    for (method, body, status, kind) in [
        ("POST", json!({"model": "small-1", "messages": user}), 400, "invalid_request_error"),
        ("POST", json!({"model": "small-1", "max_tokens": 9}), 400, "invalid_request_error"),
        (
            "POST",
            json!({"model": "small-1", "max_tokens": 9, "messages": []}),
            400,
            "invalid_request_error",
        ),
        (
            "POST",
            json!({"model": "small-1", "max_tokens": 0, "messages": user}),
            400,
            "invalid_request_error",
        ),
        ("POST", json!("words"), 400, "invalid_request_error"),
        (
            "POST",
            json!({"model": "none", "max_tokens": 9, "messages": user}),
            404,
            "not_found_error",
        ),
        ("GET", json!(null), 405, "invalid_request_error"),
    ] {
        let request = http::Request::builder().method(method).uri("http://loopback/v1/messages");
        let request = request.body(body.to_string().into()).unwrap();
        let answer = engine.transport().send(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::from_u16(status).unwrap(), "{body}");
        let said = answer.into_body().whole(10_000).await.unwrap();
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert_eq!((&said["type"], &said["error"]["type"]), (&json!("error"), &json!(kind)));
    }
}

/// The events in their order, block by block, as the wire has them.
#[tokio::test(start_paused = true)]
async fn a_stream_is_the_wires_own() {
    let engine = Engine::new(LoopbackConfig::new([priced()])).unwrap();
    let body = json!({"model": "small-1", "max_tokens": 200, "stream": true,
        "system": "Be brief.", "tools": [{"name": "a", "input_schema": {"type": "object"}},
        {"name": "b", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "[call a {\"x\": \"0123456789\"}] [call b]"}]});
    let request = http::Request::post("http://loopback/v1/messages");
    let request = request.body(body.to_string().into()).unwrap();
    let answer = engine.transport().send(request).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let body = answer.into_body().whole(100_000).await.unwrap();
    let mut seen = Vec::new();
    for event in std::str::from_utf8(&body).unwrap().split_terminator("\n\n") {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], name);
        let index = data.get("index").map_or_else(String::new, Value::to_string);
        seen.push(format!("{name}{index}"));
    }
    seen.dedup();
    let block =
        |index| ["start", "delta", "stop"].map(|part| format!("content_block_{part}{index}"));
    let mut expected = vec!["message_start".to_owned()];
    expected.extend(block(0));
    expected.extend(block(1));
    expected.extend(["message_delta".into(), "message_stop".into()]);
    assert_eq!(seen, expected);
}
