//! The whole way over real HTTP: our client, a socket, the server, its ledger. In virtual time: the
//! same server without the socket.

use std::sync::Arc;

use futures_util::future::join_all;
use nucleo_core::{Span, Usage};
use serde_json::json;

use super::super::*;
use super::support::{ask, call, client, priced, serve, until};
use crate::providers::Provider as _;
use crate::transport::{Pooled, PooledConfig, Transport as _};
use crate::wire::{
    CallWatch, ChatRequest, EndsAt, FailureClass, Hints, Message, ResponseSchema, Stop, Streaming,
};

#[derive(Default)]
struct Pieces(Vec<String>);

impl CallWatch for Pieces {
    fn piece(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

#[tokio::test]
async fn answers_follow_from_seed_and_question_alone() {
    let config = LoopbackConfig::new([priced()]).seed(3);
    let (one, client_one) = serve(config.clone()).await;
    let (_two, client_two) = serve(config).await;
    let (a, b) = (ask("Why is the sky blue?", 500), ask("Why is grass green?", 500));
    let first = (call(&client_one, &a).await.unwrap(), call(&client_one, &b).await.unwrap());
    let turned = (call(&client_two, &b).await.unwrap(), call(&client_two, &a).await.unwrap());
    assert_eq!(first.0.text, turned.1.text);
    assert_eq!(first.1.text, turned.0.text);
    assert_ne!(first.0.text, first.1.text);
    let usage = first.0.usage.unwrap();
    assert_eq!(usage.input, count_tokens(["Why is the sky blue?"]));
    assert_eq!(usage.output as usize * 4, first.0.text.len());
    assert_eq!(first.0.stop, Stop::End);
    assert!((16..=128).contains(&usage.output));
    one.shutdown().await;
}

#[tokio::test]
async fn streamed_and_whole_are_one_text() {
    let (_server, client) = serve(LoopbackConfig::new([priced()])).await;
    let whole = ask("Tell me of rivers and of mountains", 40);
    let whole = whole.hints(Hints::output_tokens(1_000));
    let mut pieces = Pieces::default();
    let streamed = whole.clone().streaming(Streaming::Pieces);
    let reply = client.call(&streamed, &mut pieces).await.unwrap();
    assert_eq!(reply.stop, Stop::OutputLimit, "wished for more than the limit");
    assert_eq!(reply.usage.unwrap().output, 40);
    assert!(pieces.0.len() > 1);
    assert_eq!(pieces.0.concat(), reply.text);
    assert_eq!(call(&client, &whole).await.unwrap().text, reply.text);
}

#[tokio::test]
async fn the_ledger_is_the_sum_of_what_was_told() {
    let (server, client) = serve(LoopbackConfig::new([priced()])).await;
    let mut sum = Usage::default();
    for row in 1..=20 {
        let prompt = prompt_of_tokens(100 + row, row);
        let request = ask(&prompt, 64).hints(Hints::output_tokens(row));
        let usage = call(&client, &request).await.unwrap().usage.unwrap();
        assert_eq!((usage.input, usage.output), (100 + row, row), "a replay names both");
        sum = sum.plus(&usage);
    }
    assert!(
        call(&client, &ChatRequest::new("large-9", vec![Message::user("?")], 1)).await.is_err()
    );
    let ledger = server.ledger();
    assert_eq!((ledger.requests, ledger.answered, ledger.failed), (21, 20, 1));
    assert_eq!((ledger.input_tokens, ledger.output_tokens), (sum.input, sum.output));
    let pico = i128::from(sum.input) * 150_000 + i128::from(sum.output) * 600_000;
    assert_eq!(nucleo_core::parse_pico(&ledger.billed["USD"]).unwrap(), pico);
    server.reset();
    assert_eq!(server.ledger(), Ledger::default());
}

const LATER: Fault = Fault::RateLimit(AskedWait::Both(1_500));

/// Fault, name, class, end, and whether work was done and billed.
const FAULTS: [(Fault, &str, FailureClass, EndsAt, u64); 9] = [
    (LATER, "rate_limited", FailureClass::RateLimit, EndsAt::RateLimited, 0),
    (Fault::OutOfCredit, "out_of_credit", FailureClass::OutOfCredit, EndsAt::ErrorAnswer, 0),
    (
        Fault::Overloaded(AskedWait::Unsaid),
        "overloaded",
        FailureClass::Overload,
        EndsAt::ErrorAnswer,
        0,
    ),
    (
        Fault::Unavailable(AskedWait::Unsaid),
        "overloaded",
        FailureClass::Overload,
        EndsAt::ErrorAnswer,
        0,
    ),
    (Fault::ServerError, "server_error", FailureClass::Transient, EndsAt::ErrorAnswer, 0),
    (Fault::Reset, "broken", FailureClass::Transient, EndsAt::Incomplete, 0),
    (Fault::WebPage, "html", FailureClass::Transient, EndsAt::ErrorAnswer, 0),
    (Fault::Truncate, "broken", FailureClass::Transient, EndsAt::Incomplete, 1),
    (Fault::MalformedJson, "unreadable", FailureClass::Transient, EndsAt::FullAnswer, 1),
];

#[tokio::test]
async fn every_fault_is_told_apart() {
    for streaming in [Streaming::Whole, Streaming::Pieces] {
        for (fault, name, class, ends_at, worked) in FAULTS {
            let rule = FaultRule::new(When::First(1), fault);
            let (server, client) = serve(LoopbackConfig::new([priced()]).fault(rule)).await;
            let request = ask("a question of some words", 200).streaming(streaming);
            let request = request.hints(Hints::output_tokens(100));
            let failure = call(&client, &request).await.unwrap_err();
            let judged = (failure.name(), failure.class(), failure.ends_at());
            assert_eq!(judged, (name, class, ends_at), "{fault:?} {streaming:?}: {failure:?}");
            assert!(!format!("{failure} {failure:?} {client:?}").contains("hush"));
            // The longer of 1500 ms and its whole seconds, 2: each is a floor.
            let asked = (fault == LATER).then_some(Span::from_secs(2));
            assert_eq!(failure.retry_after(), asked);
            let ended = |ledger: &Ledger| ledger.answered + ledger.failed + ledger.http_429 == 1;
            let ledger = until(server.engine(), ended).await;
            assert_eq!(ledger.input_tokens > 0, worked > 0, "{fault:?} {streaming:?}");
            assert!(call(&client, &request).await.is_ok(), "the fault was the first one's only");
        }
    }
}

#[tokio::test]
async fn usage_may_be_missing_or_wrong() {
    for streaming in [Streaming::Whole, Streaming::Pieces] {
        let marked = |text: &str, fault| FaultRule::new(When::Marker(text.into()), fault);
        let config = LoopbackConfig::new([priced()])
            .fault(marked("[missing]", Fault::MissingUsage))
            .fault(marked("[doubled]", Fault::DoubledUsage));
        let (server, client) = serve(config).await;
        let ask = |text| ask(text, 10).streaming(streaming).hints(Hints::output_tokens(10));
        assert_eq!(call(&client, &ask("[missing]")).await.unwrap().usage, None);
        assert_eq!(server.ledger().output_tokens, 10, "billed although untold");
        assert_eq!(call(&client, &ask("[doubled]")).await.unwrap().usage.unwrap().output, 20);
        assert_eq!(server.ledger().output_tokens, 30);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_ends_its_work() {
    for (streaming, fault) in [
        (Streaming::Whole, Fault::Silent),
        (Streaming::Whole, Fault::Stall),
        (Streaming::Whole, Fault::KeepAlive),
        (Streaming::Pieces, Fault::Silent),
        (Streaming::Pieces, Fault::Stall),
        (Streaming::Pieces, Fault::KeepAlive),
    ] {
        let model = priced().quota(Quota::per_day(Dimension::Tokens, 104)).concurrent_max(1);
        let rule = FaultRule::new(When::First(1), fault);
        let (server, client) = serve(LoopbackConfig::new([model]).fault(rule)).await;
        let request = ask("eight bytes, and more of them", 80).streaming(streaming);
        let mut waiting = Box::pin(call(&client, &request));
        loop {
            tokio::select! {
                biased;
                _ = &mut waiting => panic!("{fault:?} never answers"),
                () = tokio::task::yield_now() => {}
            }
            if server.ledger().requests == 1 {
                break;
            }
        }
        drop(waiting);
        let ledger = until(server.engine(), |ledger| ledger.failed == 1).await;
        assert_eq!((ledger.input_tokens, ledger.output_tokens), (12, 0));
        let next = call(&client, &request).await;
        assert!(
            next.is_ok(),
            "place and tokens came back, after {fault:?} {streaming:?}: {next:?}"
        );
    }
}

#[tokio::test]
async fn fifty_at_once_never_pass_burst_and_rate() {
    let quota = Quota::per_minute(Dimension::Requests, 600).burst_s(2);
    let (server, client) = serve(LoopbackConfig::new([priced().quota(quota)])).await;
    let began = tokio::time::Instant::now();
    let requests: Vec<_> = (0..50).map(|row| ask(&format!("question {row}"), 16)).collect();
    let replies = join_all(requests.iter().map(|request| call(&client, request))).await;
    let answered = replies.iter().filter(|reply| reply.is_ok()).count() as u128;
    let most = 20 + began.elapsed().as_nanos() * 10 / 1_000_000_000;
    assert!((20..=most).contains(&answered), "{answered} of at most {most}");
    for reply in replies {
        let Err(failure) = reply else { continue };
        assert_eq!(failure.class(), FailureClass::RateLimit);
        assert!(failure.retry_after().is_some_and(|wait| wait > Span::ZERO));
    }
    let ledger = server.ledger();
    assert_eq!((ledger.requests, ledger.answered + ledger.http_429), (50, 50));
}

#[tokio::test(start_paused = true)]
async fn quotas_and_latency_in_virtual_time() {
    let model = priced()
        .quota(Quota::per_minute(Dimension::Tokens, 6_000))
        .latency(Latency { first_token_ms: (100, 100), per_token_us: 10_000 });
    let engine = Engine::new(LoopbackConfig::new([model])).unwrap();
    let client = client("http://loopback", engine.transport());
    let request = ask(&prompt_of_tokens(1_000, 1), 4_000).hints(Hints::output_tokens(500));
    let began = tokio::time::Instant::now();
    let (first, second) = tokio::join!(call(&client, &request), call(&client, &request));
    assert_eq!(first.unwrap().usage.unwrap().total(), 1_500);
    assert_eq!(began.elapsed().as_millis(), 100 + 500 * 10);
    let refused = second.unwrap_err();
    // 1,000 of 6,000 were left, 5,000 asked: 4,000 come at 100 a second.
    assert_eq!(refused.retry_after(), Some(Span::from_secs(40)));
    // The first gave 3,500 back at its end, before its answer was read; 5.1 s brought 510.
    assert!(call(&client, &request).await.is_ok());
    assert_eq!(engine.ledger().http_429, 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_cut_call_had_produced_is_billed() {
    let latency = Latency { first_token_ms: (100, 100), per_token_us: 10_000 };
    for streaming in [Streaming::Whole, Streaming::Pieces] {
        let engine = Engine::new(LoopbackConfig::new([priced().latency(latency)])).unwrap();
        let client = client("http://loopback", engine.transport());
        let request = ask("a question", 500).hints(Hints::output_tokens(400)).streaming(streaming);
        let limit = std::time::Duration::from_millis(1_100);
        assert!(tokio::time::timeout(limit, call(&client, &request)).await.is_err());
        assert_eq!(engine.ledger().output_tokens, 100, "{streaming:?}");
    }
}

#[tokio::test]
async fn schemas_are_satisfied_and_lengths_met() {
    let (_server, client) = serve(LoopbackConfig::new([priced()])).await;
    let schema = ResponseSchema {
        name: "verdict".into(),
        schema: Arc::new(json!({
            "type": "object",
            "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}, "why": {"type": "string"}},
            "required": ["score", "why"],
            "additionalProperties": false,
        })),
    };
    let request = ask("Judge this text", 400).schema(schema).hints(Hints::output_tokens(50));
    let reply = call(&client, &request).await.unwrap();
    let value: serde_json::Value = serde_json::from_str(&reply.text).unwrap();
    assert!((1..=5).contains(&value["score"].as_i64().unwrap()));
    assert_eq!(reply.usage.unwrap().output, 50);
    let cut = call(&client, &ChatRequest { max_output: 2, ..request }).await.unwrap();
    assert_eq!((cut.stop, cut.text.len()), (Stop::OutputLimit, 8));
}

#[tokio::test]
async fn the_other_paths_and_bad_requests() {
    let (server, _) = serve(LoopbackConfig::new([priced()])).await;
    let transport = Pooled::new(PooledConfig::default()).unwrap();
    let root = server.base_url();
    let root = root.trim_end_matches("/v1");
    let table = [
        ("GET", "/v1/models", "", 200, "small-1"),
        ("GET", "/ledger", "", 200, r#""requests":0"#),
        ("POST", "/v1/chat/completions", "{", 400, "no chat request"),
        ("POST", "/v1/chat/completions", "{}", 400, "`model` is missing"),
        ("GET", "/v1/chat/completions", "", 405, "wrong method"),
        ("GET", "/elsewhere", "", 404, "no such path"),
        ("GET", "/ledger", "", 200, r#""failed":2"#),
        ("POST", "/reset", "", 200, "{}"),
        (
            "GET",
            "/ledger",
            "",
            200,
            r#"{"requests":0,"answered":0,"http_429":0,"failed":0,"input_tokens":0,"output_tokens":0,"billed":{}}"#,
        ),
    ];
    for (method, path, body, status, contains) in table {
        let request = http::Request::builder().method(method).uri(format!("{root}{path}"));
        let answer = transport.send(request.body(body.into()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), status, "{method} {path}");
        assert!(answer.headers().contains_key("content-length"));
        let body = answer.into_body().whole(10_000).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains(contains), "{method} {path}: {body}");
    }
}

#[tokio::test]
async fn limits_are_told_and_shared() {
    let quota = Quota::per_minute(Dimension::Requests, 2);
    let shared = |name| LoopbackModel::new(name).quota(quota).shares("team");
    let engine = Engine::new(LoopbackConfig::new([shared("small-1"), shared("large-1")])).unwrap();
    struct Told(Option<u64>);
    impl CallWatch for Told {
        fn head(&mut self, head: &crate::wire::HeadFacts) {
            let fact = head.limits.requests.unwrap();
            assert_eq!(fact.limit, Some(2));
            self.0 = fact.remaining;
        }
    }
    let client = client("http://loopback", engine.transport());
    let mut told = Told(None);
    client.call(&ask("one", 16), &mut told).await.unwrap();
    assert_eq!(told.0, Some(1));
    let other = ChatRequest::new("large-1", vec![Message::user("two")], 16);
    client.call(&other, &mut told).await.unwrap();
    assert!(client.call(&ask("three", 16), &mut told).await.is_err());
    assert_eq!(told.0, Some(0));
}

#[test]
fn what_can_not_be_served() {
    let refused = |config| Engine::new(config).unwrap_err().to_string();
    assert!(refused(LoopbackConfig::new([])).contains("no model"));
    let twins = [LoopbackModel::new("a"), LoopbackModel::new("a")];
    assert!(refused(LoopbackConfig::new(twins)).contains("`a`"));
    let reversed = LoopbackModel::new("a").output_tokens(5, 4);
    assert!(refused(LoopbackConfig::new([reversed])).contains("output_tokens"));
}
