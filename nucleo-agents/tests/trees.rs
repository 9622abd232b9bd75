//! Trees of agents: parents hold nothing, so children can always start.

use futures_util::future::BoxFuture;
use nucleo_agents::Runtime;
use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::{Catalog, Grade};

const CATALOG: &str = r#"
[providers.house]
kind = "loopback"

[models.scribe]
provider = "house"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
price = { currency = "USD", input = 1, output = 10 }

[models.scribe.loopback]
first_token_ms = [0, 1]
per_token_us = 10
output_tokens = [4, 8]
"#;

/// One call, then four children of the same kind: how many agents ran in this part of the tree.
fn node(context: AgentContext, depth: u32) -> BoxFuture<'static, Result<usize, AgentError>> {
    Box::pin(async move {
        context.model(Grade::Small).user("Go on.").output(16).text().await?;
        if depth == 0 {
            return Ok(1);
        }
        let children = context.fan_out([depth - 1; 4], node).collect().await;
        Ok(1 + children.into_answers().into_iter().sum::<usize>())
    })
}

/// Four deep, four wide, two connections: 341 agents, each waiting for its children.
#[tokio::test]
async fn a_tree_four_deep_finishes_on_two_connections() {
    let catalog = Catalog::parse("models.toml", CATALOG).expect("a sound catalog");
    let runtime = Runtime::builder(catalog).connections(2).start().expect("it starts");
    let workflow = runtime.workflow("tree").cap("1 USD".parse().expect("money")).start();
    let agents = workflow.run(node, 4).await.expect("nobody is stuck");
    assert_eq!(agents, 341);
    assert_eq!(runtime.loopback_servers()[0].ledger().answered, 341);
    assert!(workflow.live().is_empty());
    let position = workflow.totals();
    assert_eq!(position.calls, 341);
}
