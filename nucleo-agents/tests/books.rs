//! Our books against the server's, under every fault: what was told is booked to the last digit,
//! what was not is booked above the bill, and what cost nothing is booked as nothing.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use nucleo_agents::Runtime;
use nucleo_agents::agent::AgentError;
use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::providers::loopback::{
    AskedWait, Engine, Fault, FaultRule, InsideAfter, InsideError, Ledger, LoopbackConfig,
    LoopbackModel, LoopbackPrice, When,
};
use nucleo_agents::transport::{BodyStream, BrokenAt, InMemory, Transport, TransportError};
use nucleo_core::{Money, Span};

const CATALOG: &str = r#"
[providers.far]
kind = "KIND"
base_url = "http://far.test/v1"

[models.scribe]
provider = "far"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 600, tokens_per_minute = 1_000_000 }
PRICE
"#;

const PRICE: &str = r#"price = { currency = "USD", input = 3, output = 15, cache_read = 0.30, cache_write = 3.75 }"#;

/// By either wire it is the same money.
const KINDS: [&str; 2] = ["openai-compatible", "anthropic"];

/// One call of 200 declared tokens over `transport`, under a cap; and what is booked for it.
async fn asked(
    kind: &str,
    price: &str,
    transport: Arc<dyn Transport>,
) -> (Result<String, AgentError>, Money) {
    let catalog = CATALOG.replace("KIND", kind).replace("PRICE", price);
    let catalog = Catalog::parse("models.toml", &catalog).unwrap();
    let runtime = Runtime::builder(catalog).transport(transport).seed(7).start().unwrap();
    let workflow = runtime.workflow("w").start();
    workflow.set_cap(Some("1 USD".parse().unwrap()));
    let call = workflow.context().model(Grade::Small).user("a question of some words").output(200);
    let result = call.timeout(Span::from_secs(100)).text().await;
    assert_eq!(runtime.harness().ledger().under_way(), 0, "nothing stays committed");
    assert_eq!(runtime.harness().admission().waiting(), 0);
    (result, workflow.spent().unwrap_or_else(|| "0 USD".parse().unwrap()))
}

async fn played(kind: &str, fault: Fault) -> (Result<String, AgentError>, Money, Ledger) {
    let price = LoopbackPrice::usd(3_000_000_000_000, 15_000_000_000_000);
    let model = LoopbackModel::new("scribe-1").price(price).output_tokens(100, 100);
    let rule = FaultRule::new(When::First(1), fault);
    let engine = Engine::new(LoopbackConfig::new([model]).fault(rule)).unwrap();
    let (result, spent) = asked(kind, PRICE, engine.transport()).await;
    (result, spent, engine.ledger())
}

fn billed(ledger: &Ledger) -> Money {
    let amount = ledger.billed.get("USD").map_or("0", |amount| amount);
    format!("{amount} USD").parse().unwrap()
}

const fn inside(says: InsideError, after: InsideAfter) -> Fault {
    Fault::ErrorInside { says, after }
}

#[tokio::test(start_paused = true)]
async fn what_was_told_is_booked_exactly() {
    // With how many requests it takes until there is an answer.
    for (fault, requests) in [
        (Fault::RateLimit(AskedWait::Unsaid), 2),
        (Fault::RateLimit(AskedWait::Date(30)), 2),
        (Fault::Overloaded(AskedWait::Seconds(30)), 2),
        (Fault::Unavailable(AskedWait::Garbage), 2),
        (Fault::ServerError, 2),
        (Fault::WebPage, 2),
        (inside(InsideError::RateLimit, InsideAfter::Nothing), 2),
        (inside(InsideError::Overload, InsideAfter::Nothing), 2),
        (inside(InsideError::ServerError, InsideAfter::Nothing), 2),
        (Fault::ResetAtEnd, 1),
        (Fault::RunningUsage, 1),
        (Fault::DoubledUsage, 1),
        (Fault::ClockJump { by_ms: -7_200_000 }, 1),
    ] {
        for kind in KINDS {
            let (result, spent, ledger) = played(kind, fault).await;
            assert!(result.is_ok(), "{kind} {fault:?}: {result:?}");
            assert_eq!(ledger.requests, requests, "{kind} {fault:?}");
            assert_eq!(spent, billed(&ledger), "{kind} {fault:?}");
            assert_eq!(ledger.faults[fault.name()], 1, "{kind} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_told_is_booked_above_the_bill() {
    for (fault, requests) in [
        (Fault::Reset, 2),
        (Fault::Truncate, 2),
        (Fault::MalformedJson, 2),
        (inside(InsideError::RateLimit, InsideAfter::Half), 2),
        (inside(InsideError::Overload, InsideAfter::Half), 2),
        (inside(InsideError::ServerError, InsideAfter::Half), 2),
        (Fault::MissingUsage, 1),
    ] {
        for kind in KINDS {
            let (result, spent, ledger) = played(kind, fault).await;
            assert!(result.is_ok(), "{kind} {fault:?}: {result:?}");
            assert_eq!(ledger.requests, requests, "{kind} {fault:?}");
            let billed = billed(&ledger);
            assert!(spent.pico() > billed.pico(), "{kind} {fault:?}: {spent} of {billed}");
        }
    }
    for fault in [Fault::Silent, Fault::Stall, Fault::KeepAlive] {
        for kind in KINDS {
            let (result, spent, ledger) = played(kind, fault).await;
            let error = result.unwrap_err().to_string();
            assert!(error.contains("timed out after"), "{kind} {fault:?}: {error}");
            assert_eq!((ledger.requests, ledger.failed), (1, 1), "{kind} {fault:?}");
            let billed = billed(&ledger);
            assert!(spent.pico() > billed.pico() && billed.pico() > 0, "{kind} {fault:?}: {spent}");
        }
    }
}

/// A server that answers with this usage.
fn used(usage: &'static str) -> Arc<dyn Transport> {
    Arc::new(InMemory::new(move |_| async move {
        let choice = r#"{"message": {"content": "fine"}, "finish_reason": "stop"}"#;
        let body = format!(r#"{{"choices": [{choice}], "usage": {usage}}}"#);
        Ok(http::Response::new(BodyStream::full(body)))
    }))
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_token_is_paid_once_at_its_own_price() {
    let reasoning = r#""completion_tokens_details": {"reasoning_tokens": 60}"#;
    let cached = r#"{"prompt_tokens": 2000, "completion_tokens": 0, "total_tokens": 2000,
        "prompt_tokens_details": {"cached_tokens": 500, "cache_write_tokens": 300}}"#;
    let within = format!(
        r#"{{"prompt_tokens": 100, "completion_tokens": 100, "total_tokens": 200, {reasoning}}}"#
    );
    let beside = format!(
        r#"{{"prompt_tokens": 100, "completion_tokens": 40, "total_tokens": 200, {reasoning}}}"#
    );
    for (usage, cost) in [
        // 1,200 at 3, 500 at 0.30, 300 at 3.75 a million.
        (cached, "0.004875 USD"),
        // 100 at 3 and 100 at 15, of which 60 were reasoning, inside the output or beside it.
        (within.leak(), "0.0018 USD"),
        (beside.leak(), "0.0018 USD"),
    ] {
        let (result, spent) = asked(KINDS[0], PRICE, used(usage)).await;
        assert!(result.is_ok(), "{usage}: {result:?}");
        assert_eq!(spent, cost.parse().unwrap(), "{usage}");
    }
}

/// Input, cache writes and cache reads are told apart by that wire, and thinking within the output.
#[tokio::test(start_paused = true)]
async fn a_messages_usage_is_paid_once_too() {
    let server = InMemory::new(|_| async {
        let usage = r#"{"input_tokens": 1200, "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 500, "output_tokens": 100,
            "output_tokens_details": {"thinking_tokens": 60}}"#;
        let said = r#"[{"type": "text", "text": "fine"}]"#;
        let body = format!(r#"{{"content": {said}, "stop_reason": "end_turn", "usage": {usage}}}"#);
        Ok(http::Response::new(BodyStream::full(body)))
    });
    let (result, spent) = asked("anthropic", PRICE, Arc::new(server)).await;
    assert_eq!(result.unwrap(), "fine");
    // 1,200 at 3, 500 at 0.30, 300 at 3.75 and 100 at 15 a million.
    assert_eq!(spent, "0.006375 USD".parse().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_model_without_a_price_is_refused_by_name_under_a_cap() {
    let (result, spent) = asked(KINDS[0], "", used("null")).await;
    let error = result.unwrap_err();
    let refusal = error.refusal().expect("a refusal");
    assert_eq!((&*refusal.model, refusal.reservation), ("scribe", None));
    assert!(error.to_string().contains("scribe"), "{error}");
    assert_eq!(spent.pico(), 0);
}

/// A stream that tells one token with its first piece and breaks after 806 of them is booked as
/// reserved: 200 tokens of output for each of four attempts, not one.
#[tokio::test(start_paused = true)]
async fn a_total_from_the_start_of_a_stream_is_not_its_total() {
    let server = InMemory::new(|_| async {
        let first = r#"{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}"#;
        let piece = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
        let mut pieces = vec![Ok(format!("data: {first}\n\n").into())];
        pieces.extend((0..805).map(|_| Ok(format!("data: {piece}\n\n").into())));
        pieces.push(Err(TransportError::broken(BrokenAt::InBody, "cut")));
        let head = http::Response::builder().header("content-type", "text/event-stream");
        Ok(head.body(BodyStream::pieces(pieces)).unwrap())
    });
    let (result, spent) = asked(KINDS[0], PRICE, Arc::new(server)).await;
    assert!(result.is_err());
    let output: Money = "0.012 USD".parse().unwrap();
    assert!(spent.pico() > output.pico(), "four times 200 tokens of output, and input: {spent}");
}
