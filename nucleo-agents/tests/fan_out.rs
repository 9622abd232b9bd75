//! A fan-out under a cap, over real HTTP: both policies, the server's own bill, and going on with
//! the rest under a higher cap.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;

use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::fan_out::{FanOut, OnRefusal};
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::Money;

/// Answers are far below what is declared: 20 of 500 tokens.
const CATALOG: &str = r#"
[providers.house]
kind = "loopback"

[models.scribe]
provider = "house"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 1_000_000, tokens_per_minute = 1_000_000_000 }
price = { currency = "USD", input = 1, output = 10 }

[models.scribe.loopback]
first_token_ms = [1, 3]
per_token_us = 10
output_tokens = [20, 40]
"#;

/// One call reserves 500 output tokens and some input: about 0.005 USD; 40 of them make the cap.
const CAP: &str = "0.201 USD";
const INPUTS: usize = 1_000;

async fn ask(context: AgentContext, number: usize) -> Result<usize, AgentError> {
    let question = format!("What is said of parcel number {number:04}?");
    context.model(Grade::Small).user(question).output(500).text().await?;
    Ok(number)
}

fn start() -> (Runtime, Workflow) {
    let runtime = Runtime::start(Catalog::parse("models.toml", CATALOG).unwrap()).unwrap();
    let workflow = runtime.workflow("parcels").cap(CAP.parse().unwrap()).start();
    (runtime, workflow)
}

/// What the server itself says that it billed.
fn billed(runtime: &Runtime) -> Money {
    let ledger = runtime.loopback_servers()[0].ledger();
    let amount = ledger.billed.get("USD").cloned().unwrap_or_else(|| "0".to_owned());
    format!("{amount} USD").parse().unwrap()
}

fn at_most(amount: Money, cap: &str) -> bool {
    amount.compare(cap.parse().unwrap()).unwrap().is_le()
}

type Asked<A> = FanOut<A, usize>;

async fn under_the_cap<A>(set: impl FnOnce(Asked<A>) -> Asked<A>, agent: A, waits: bool)
where
    A: nucleo_agents::agent::Agent<usize, Out = usize> + Clone,
{
    let (runtime, workflow) = start();
    let report = set(workflow.fan_out(0..INPUTS, agent.clone())).collect().await;

    let not_submitted = report.not_submitted().expect("a range knows its length");
    let (answered, refused) = (report.answered(), report.refused());
    assert_eq!(answered + report.failed() + refused + not_submitted, INPUTS, "{report}");
    assert_eq!(report.failed(), 0, "{:?}", report.failures());
    assert!(refused > 0, "{report}");
    // Everything that ran was answered: nothing was cut.
    assert_eq!(runtime.loopback_servers()[0].ledger().answered, answered as u64);
    assert!(at_most(billed(&runtime), CAP), "{}", billed(&runtime));
    assert_eq!(workflow.spent(), Some(billed(&runtime)), "our books are the server's");
    if waits {
        // Declared outputs are over ten times the real ones: waiting for siblings uses the cap.
        assert!(answered > 300, "{report}");
    } else {
        // Answers that come while inputs are still pulled make room for more; on a paused clock
        // (`calls/waits.rs`) the number is exact.
        assert!(answered >= 30, "{report}");
    }
    for refusal in report.refusals() {
        assert_eq!(refusal.cap, CAP.parse().unwrap());
        assert_eq!(refusal.siblings == 0, refusal.committed.pico() == 0);
        let sum = refusal.spent.plus(refusal.committed).unwrap();
        let sum = sum.plus(refusal.reservation.unwrap()).unwrap();
        assert_eq!(sum.minus(refusal.cap).unwrap(), refusal.exceeds_by.unwrap());
        assert_eq!(sum, refusal.admitted_from_cap.unwrap());
    }

    go_on(&runtime, &workflow, report, agent).await;
}

/// Raising the cap and going on with the rest finishes the work without paying twice.
async fn go_on<A>(
    runtime: &Runtime,
    workflow: &Workflow,
    report: nucleo_agents::fan_out::Report<usize, usize>,
    agent: A,
) where
    A: nucleo_agents::agent::Agent<usize, Out = usize>,
{
    assert_eq!(report.interrupted().count(), 0, "one call an item: refused ones paid nothing");
    let mut answered: BTreeSet<usize> = report.answers().iter().map(|(_, n)| *n).collect();
    let first = answered.len();
    workflow.set_cap(Some("100 USD".parse().unwrap()));
    let second = workflow.fan_out(report.rest(), agent).collect().await;
    assert_eq!(second.answered(), INPUTS - first, "{second}");
    assert_eq!((second.failed(), second.refused()), (0, 0), "{second}");
    answered.extend(second.into_answers());
    assert_eq!(answered.len(), INPUTS, "each input was answered once");
    let ledger = runtime.loopback_servers()[0].ledger();
    assert_eq!(ledger.answered, INPUTS as u64, "nothing was paid twice");
    assert_eq!(workflow.spent(), Some(billed(runtime)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_is_a_wall_when_waiting_for_siblings() {
    under_the_cap(|fan_out| fan_out, ask, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cap_is_a_wall_when_refusing_at_once() {
    under_the_cap(FanOut::refuse_at_once, ask, false).await;
}

#[tokio::test]
async fn going_on_after_a_refusal_tries_every_input() {
    let (_runtime, workflow) = start();
    let fan_out = workflow.fan_out(0..200, ask).refuse_at_once().on_refusal(OnRefusal::Continue);
    let report = fan_out.collect().await;
    assert_eq!(report.not_submitted(), Some(0));
    assert_eq!(report.answered() + report.refused(), 200, "{report}");
}

#[tokio::test]
async fn one_error_or_panic_is_its_items_outcome() {
    async fn odd(_: AgentContext, number: u32) -> Result<u32, String> {
        match number % 3 {
            0 => Err(format!("{number} is no good")),
            1 => panic!("{number} is worse"),
            _ => Ok(number),
        }
    }
    let (_runtime, workflow) = start();
    let report = workflow.fan_out(0..30, odd).collect().await;
    assert_eq!((report.answered(), report.failed()), (10, 20));
    let names: BTreeSet<_> = report.failures().iter().map(failed_name).collect();
    assert_eq!(names, BTreeSet::from(["agent", "panicked"]));
}

fn failed_name(item: &nucleo_agents::fan_out::Item<u32, u32>) -> &'static str {
    item.result.as_ref().map_or_else(|error| error.name(), |_| "answered")
}

#[tokio::test]
async fn outcomes_in_input_order_and_failing_fast() {
    use futures_util::StreamExt as _;
    let (_runtime, workflow) = start();
    let ordered: Vec<usize> =
        workflow.fan_out(0..100, ask).ordered().map(|item| item.index).collect().await;
    assert_eq!(ordered, (0..100).collect::<Vec<_>>());

    async fn never(_: AgentContext, number: u32) -> Result<u32, String> {
        if number == 5 {
            return Err("five".to_owned());
        }
        std::future::pending::<()>().await;
        Ok(number)
    }
    let report = workflow.fan_out(0..100, never).max_in_flight(20).fail_fast().collect().await;
    assert_eq!(report.answered(), 0);
    assert_eq!(report.not_submitted(), Some(94), "{report}");
    assert!(report.failures().iter().any(|item| item.index == 5));
}

#[tokio::test]
async fn inputs_are_pulled_as_agents_end() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let pulled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&pulled);
    let endless = std::iter::repeat_with(move || counter.fetch_add(1, Ordering::Relaxed));
    async fn wait(_: AgentContext, _: usize) -> Result<(), String> {
        std::future::pending::<()>().await;
        Ok(())
    }
    let (_runtime, workflow) = start();
    let mut fan_out = workflow.fan_out(endless, wait).max_in_flight(7);
    let next = futures_util::StreamExt::next(&mut fan_out);
    assert!(futures_util::FutureExt::now_or_never(next).is_none());
    assert_eq!((pulled.load(Ordering::Relaxed), fan_out.in_flight()), (7, 7));
    assert_eq!(fan_out.into_rest().into_iterator().unwrap().next(), Some(7));
}
