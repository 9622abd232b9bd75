//! A server that is a function, and what must hold when all is over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use nucleo_agents::agent::AgentError;
use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::runtime::RuntimeBuilder;
use nucleo_agents::transport::{BodyStream, InMemory, Transport, TransportError};
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::{Money, Span, Time};
use nucleo_harness::attempt::{Failure, JobError};
use serde_json::{Value, json};

/// A call of 100 declared tokens reserves a little over 0.001 USD.
const CATALOG: &str = r#"
[providers.far]
kind = "openai-compatible"
base_url = "http://far.test/v1"

[models.scribe]
provider = "far"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 600, tokens_per_minute = 1_000_000LIMITS }
price = { currency = "USD", input = 1, output = 10 }
"#;

pub(crate) type Answer = Result<http::Response<BodyStream>, TransportError>;

pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) workflow: Workflow,
    asked: Arc<AtomicUsize>,
    bodies: Arc<Mutex<Vec<Value>>>,
}

pub(crate) fn catalog(more_limits: &str) -> Catalog {
    Catalog::parse("models.toml", &CATALOG.replace("LIMITS", more_limits)).unwrap()
}

impl World {
    /// A server that answers its n-th request (from 0) so, at once.
    pub(crate) fn new(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::served(catalog(""), move |n| std::future::ready(answer(n)), |builder| builder)
    }

    /// A server that answers its n-th request (from 0) when its future is ready.
    pub(crate) fn served<F>(
        catalog: Catalog,
        answer: impl Fn(usize) -> F + Send + Sync + 'static,
        set: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let (asked, bodies) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (count, keep) = (Arc::clone(&asked), Arc::clone(&bodies));
        let transport = InMemory::new(move |request| {
            keep.lock().unwrap().push(serde_json::from_slice(request.body()).unwrap());
            answer(count.fetch_add(1, Ordering::SeqCst))
        });
        let transport: Arc<dyn Transport> = Arc::new(transport);
        let builder = set(Runtime::builder(catalog).transport(transport).seed(7));
        let runtime = builder.start().unwrap();
        let workflow = runtime.workflow("w").start();
        Self { runtime, workflow, asked, bodies }
    }

    /// How many requests the server has had.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// The body of the n-th request.
    pub(crate) fn body(&self, n: usize) -> Value {
        self.bodies.lock().unwrap()[n].clone()
    }

    pub(crate) fn now(&self) -> Time {
        self.runtime.harness().clock().now()
    }

    /// One call with 100 tokens declared.
    pub(crate) fn call(&self) -> impl Future<Output = Result<String, AgentError>> + Send + use<> {
        self.workflow.context().model(Grade::Small).user("Hello").output(100).text()
    }

    pub(crate) fn spent(&self) -> Money {
        self.workflow.spent().unwrap_or_else(|| "0 USD".parse().unwrap())
    }

    /// Nothing is held, nobody waits, no money is committed; whatever had to end has its grace.
    #[track_caller]
    pub(crate) fn nothing_is_held(&self) {
        let admission = self.runtime.harness().admission();
        let http = &admission.accounts()[self.runtime.http().index()];
        assert_eq!(http.available, i128::from(http.capacity), "places");
        assert_eq!(admission.waiting(), 0, "waiters");
        assert_eq!(self.runtime.harness().ledger().under_way(), 0, "commitments");
        assert!(self.workflow.live().is_empty(), "{:?}", self.workflow.live());
    }

    /// Lets so much time pass.
    pub(crate) async fn pass(&self, span: Span) {
        let clock = self.runtime.harness().clock();
        clock.sleep_until(clock.now().saturating_add(span)).await;
    }
}

/// An answer in full: 10 tokens in, 20 out, 0.00021 USD.
pub(crate) fn fine() -> Answer {
    answer(json!({"content": "fine"}), "stop", true)
}

pub(crate) const FINE_COSTS: &str = "0.00021 USD";

pub(crate) fn answer(message: Value, finish: &str, usage: bool) -> Answer {
    let mut body = json!({"id": "a", "choices": [{"message": message, "finish_reason": finish}]});
    if usage {
        body["usage"] = json!({"prompt_tokens": 10, "completion_tokens": 20});
    }
    status(200, &[], &body.to_string())
}

pub(crate) fn status(status: u16, headers: &[(&'static str, &str)], body: &str) -> Answer {
    let mut head = http::Response::builder().status(status);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        head = head.header("content-type", "application/json");
    }
    for (name, value) in headers {
        head = head.header(*name, *value);
    }
    Ok(head.body(BodyStream::full(body.to_owned())).unwrap())
}

/// The failure that ended a call, and after how many attempts.
#[track_caller]
pub(crate) fn failed(result: Result<String, AgentError>) -> (u32, Failure) {
    match result {
        Err(AgentError::Job(JobError::Failed { attempts, failure })) => (attempts, failure),
        other => panic!("{other:?}"),
    }
}
