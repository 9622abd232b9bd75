//! One agent over many inputs, with a typed answer, and the report.
//!
//! `cargo run --example 02_fan_out`

use nucleo_agents::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Triage {
    category: Category,
    /// 1 to 5.
    urgency: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum Category {
    Parcel,
    Invoice,
    Other,
}

/// An agent is an async fn of a context and an input.
async fn triage(ctx: AgentContext, mail: String) -> Result<Triage, AgentError> {
    ctx.model(Grade::Small)
        .system("Sort support mail. Urgency 1 to 5.")
        .user(mail)
        .output(200)
        .answer::<Triage>()
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::start(Catalog::loopback())?;
    let workflow = runtime.workflow("inbox").cap("0.10 USD".parse()?).start();

    let mails = (1..=200).map(|n| format!("Mail {n}: my parcel has not arrived, order {}.", n * 7));
    let report = workflow.fan_out(mails, triage).collect().await;

    println!("{report}");
    let answers = report.into_answers();
    for category in [Category::Parcel, Category::Invoice, Category::Other] {
        let count = answers.iter().filter(|triage| triage.category == category).count();
        println!("{category:?}: {count}");
    }
    Ok(())
}
