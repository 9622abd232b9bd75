//! A server with a capacity of its own, behind the transport.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::prelude::*;
use nucleo_agents::transport::{BodyStream, InMemory, TransportError};
use serde_json::json;
use tokio::time::Instant;

pub(crate) type Answer = Result<http::Response<BodyStream>, TransportError>;

const CATALOG: &str = r#"
[providers.far]
kind = "openai-compatible"
base_url = "http://far.test/v1"

[models.scribe]
provider = "far"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 8_192
limits = { LIMITS }
price = { currency = "USD", input = 1, output = 10 }
"#;

/// A runtime whose one model has these limits and is answered by this function of the request's
/// number (from 0) and its text.
pub(crate) fn served<F>(
    limits: &str,
    answer: impl Fn(usize, String) -> F + Send + Sync + 'static,
) -> Runtime
where
    F: Future<Output = Answer> + Send + 'static,
{
    let catalog = Catalog::parse("models.toml", &CATALOG.replace("LIMITS", limits)).unwrap();
    let asked = Mutex::new(0);
    let transport = InMemory::new(move |request| {
        let body: serde_json::Value = serde_json::from_slice(request.body()).unwrap();
        let text = body["messages"][0]["content"].as_str().unwrap().to_owned();
        let number = {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            *asked - 1
        };
        answer(number, text)
    });
    Runtime::builder(catalog)
        .transport(Arc::new(transport))
        .connections(1_000)
        .seed(7)
        .start()
        .unwrap()
}

/// One question; the model answers within 100 tokens.
pub(crate) async fn ask(ctx: AgentContext, number: usize) -> Result<String, AgentError> {
    ctx.model(Grade::Small).user(format!("number {number}")).output(100).text().await
}

/// 10 tokens in, 100 out.
pub(crate) fn fine() -> Answer {
    let choice = json!({"message": {"content": "fine"}, "finish_reason": "stop"});
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 100});
    answer(200, None, &json!({"choices": [choice], "usage": usage}))
}

/// An error in the wire's typed form.
pub(crate) fn error(status: u16, code: &str, retry_after_ms: Option<u64>) -> Answer {
    answer(status, retry_after_ms, &json!({"error": {"message": "no", "type": code, "code": code}}))
}

fn answer(status: u16, retry_after_ms: Option<u64>, body: &serde_json::Value) -> Answer {
    let mut head =
        http::Response::builder().status(status).header("content-type", "application/json");
    if let Some(ms) = retry_after_ms {
        head = head.header("retry-after-ms", ms);
    }
    Ok(head.body(BodyStream::full(body.to_string())).unwrap())
}

pub(crate) async fn pause(span: Duration) {
    tokio::time::sleep_until(Instant::now() + span).await;
}

/// So many requests a second, a second's worth at once (one at least), which may change; answers take 50 ms.
#[derive(Debug)]
pub(crate) struct Capacity {
    began: Instant,
    /// From which second on, how many a second.
    steps: Vec<(u64, f64)>,
    says_when: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    level: f64,
    at: Instant,
    answered: BTreeMap<u64, u64>,
    refused: BTreeMap<u64, u64>,
}

impl Capacity {
    pub(crate) fn new(steps: &[(u64, f64)], says_when: bool) -> Arc<Self> {
        let began = Instant::now();
        let (answered, refused) = (BTreeMap::new(), BTreeMap::new());
        let state = Mutex::new(State { level: steps[0].1, at: began, answered, refused });
        Arc::new(Self { began, steps: steps.to_vec(), says_when, state })
    }

    pub(crate) async fn answer(self: Arc<Self>) -> Answer {
        let now = Instant::now();
        let second = (now - self.began).as_secs();
        let rate = self.steps.iter().rev().find(|(from, _)| *from <= second).unwrap().1;
        let refused = {
            let mut state = self.state.lock().unwrap();
            let gained = (now - state.at).as_secs_f64() * rate;
            state.level = (state.level + gained).min(rate.max(1.0));
            state.at = now;
            let missing = 1.0 - state.level;
            if missing > 0.0 {
                *state.refused.entry(second / 60).or_default() += 1;
                Some((missing / rate * 1_000.0).ceil())
            } else {
                state.level -= 1.0;
                *state.answered.entry(second / 60).or_default() += 1;
                None
            }
        };
        pause(Duration::from_millis(50)).await;
        match refused {
            None => fine(),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "milliseconds of a wait"
            )]
            Some(ms) => error(429, "rate_limit_exceeded", self.says_when.then_some(ms as u64)),
        }
    }

    /// Answered in each minute.
    pub(crate) fn goodput(&self, minute: u64) -> u64 {
        self.state.lock().unwrap().answered.get(&minute).copied().unwrap_or(0)
    }

    /// Minute by minute, for a failure's message.
    pub(crate) fn told(&self) -> String {
        let state = self.state.lock().unwrap();
        format!("answered {:?}, refused {:?}", state.answered, state.refused)
    }
}
