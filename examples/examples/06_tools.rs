//! Tools that a model calls: async fns with needs, run side by side inside their own limits.
//!
//! Ten customers ask where their orders are. The model looks each order up in a shop that allows two
//! connections, and answers in a typed form. The loopback model calls what a marker in the text tells
//! it to; a real one finds out by itself.
//!
//! `cargo run --example 06_tools`

use nucleo_agents::prelude::*;
use nucleo_core::limits::Permits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// As printed on the receipt.
    #[schemars(range(min = 1))]
    number: u32,
}

#[derive(Serialize)]
struct OrderStatus {
    sent: bool,
    days_left: u32,
}

/// A tool has what its job was granted, and no way to ask for more.
async fn order_status(_ctx: ToolContext, order: Order) -> Result<OrderStatus, ToolError> {
    if order.number > 60 {
        // The model reads this, and may try another number.
        return Err(ToolError::correctable("there is no such order: the last one is 60"));
    }
    Ok(OrderStatus { sent: order.number.is_multiple_of(2), days_left: order.number % 5 })
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Answer {
    text: String,
    #[schemars(range(min = 0, max = 14))]
    days: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::start(Catalog::loopback())?;
    let shop = runtime.harness().admission().open("shop", Permits::new(2)).ok_or("defective")?;

    let look_up = Tool::new("order_status", "Looks an order up by its number", order_status)
        .needs(Needs::http().account(shop));
    let palette = Palette::new([look_up])?;

    let answer = move |ctx: AgentContext, customer: u32| {
        let palette = palette.clone();
        async move {
            let (first, second) = (customer * 7, customer * 7 + 1);
            let ask = ctx.model(Grade::Small).system("Tell customers where their orders are.");
            let ask = ask.user(format!(
                "Where are my orders {first} and {second}? \
                 [call order_status {{\"number\": {first}}}] \
                 [call order_status {{\"number\": {second}}}]"
            ));
            ask.tools(&palette).output(200).answer::<Answer>().await
        }
    };
    let workflow = runtime.workflow("orders").cap("0.10 USD".parse()?).start();
    let report = workflow.fan_out(1..=10, answer).collect().await;

    println!("{report}");
    for (account, waits) in &report.tally().waits {
        println!("{account}: {} waited, {} at most", waits.jobs, waits.longest);
    }
    let record = workflow.context().record();
    println!("{} jobs: the model's turns, and the tools that it called", record.attempts);
    Ok(())
}
