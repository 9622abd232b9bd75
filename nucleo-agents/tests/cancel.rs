//! Cancelling what runs: prompt, settled, and told with what it cost.

use futures_util::StreamExt as _;
use nucleo_agents::Runtime;
use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_core::spend::ScopeId;

/// A model that takes an hour to answer.
const CATALOG: &str = r#"
[providers.house]
kind = "loopback"

[models.sleeper]
provider = "house"
wire_id = "sleeper-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 600, tokens_per_minute = 1_000_000, max_concurrent = 20 }
price = { currency = "USD", input = 1, output = 10 }

[models.sleeper.loopback]
first_token_ms = [3_600_000, 3_600_000]
per_token_us = 10
output_tokens = [4, 8]
"#;

async fn ask(context: AgentContext, number: u32) -> Result<u32, AgentError> {
    context.model(Grade::Small).user(format!("{number}?")).output(100).text().await?;
    Ok(number)
}

#[tokio::test]
async fn a_cancelled_workflow_ends_at_once_and_books_what_may_be_owed() {
    let catalog = Catalog::parse("models.toml", CATALOG).expect("a sound catalog");
    let runtime = Runtime::start(catalog).expect("it starts");
    let workflow = runtime.workflow("sleepers").cap("10 USD".parse().expect("money")).start();
    // 20 are sent, 10 wait for a place.
    let mut fan_out = workflow.fan_out(0..30, ask);
    let server = &runtime.loopback_servers()[0];
    let sent = async {
        while server.ledger().requests < 20 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        item = fan_out.next() => panic!("nobody answers: {item:?}"),
        () = sent => {}
    }
    workflow.cancel();
    let items: Vec<_> = futures_util::StreamExt::collect(fan_out).await;

    assert_eq!(items.len(), 30);
    let name = |item: &nucleo_agents::fan_out::Item<u32, u32>| {
        item.result.as_ref().map_or_else(|error| error.name(), |_| "answered")
    };
    assert!(items.iter().all(|item| name(item) == "cancelled"));
    let paid = items.iter().filter(|item| !item.record.cost.is_empty()).count();
    assert_eq!(paid, 20, "what was sent may be owed, what waited is not");
    let scope = ScopeId::Workflow(workflow.id());
    let position = runtime.harness().ledger().position(&scope).expect("it is open");
    assert_eq!((position.under_way, position.waiting), (0, 0));
    let booked = items.iter().flat_map(|item| &item.record.cost).map(|cost| cost.pico()).sum();
    assert_eq!(position.spent.iter().map(|sum| sum.pico()).sum::<i128>(), booked);
    let admission = runtime.harness().admission();
    assert_eq!((admission.waiting(), admission.free(runtime.http())), (0, 256));
    assert!(workflow.live().is_empty());
}
