//! A cap that refuses, every refusal inspected, and the rest done under a higher cap.
//!
//! Nothing that runs is cut, and nothing is paid twice.
//!
//! `cargo run --example 03_cap`

use nucleo_agents::prelude::*;

async fn summarise(ctx: AgentContext, page: String) -> Result<String, AgentError> {
    // 1,000 tokens are declared: reserved, and paid for in advance. Most answers take far less, and
    // what is not used comes back as each call settles.
    let ask = ctx.model(Grade::Small).system("Summarise in two sentences.");
    ask.user(page).output(1_000).text().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::start(Catalog::loopback())?;
    let workflow = runtime.workflow("pages").cap("0.01 USD".parse()?).start();

    let pages = (1..=300).map(|n| format!("Page {n} of the report on parcels and their ways."));
    let report = workflow.fan_out(pages, summarise).collect().await;
    println!("under the first cap: {report}");
    if let Some(refusal) = report.refusals().first() {
        println!("{refusal}");
    }

    // What had paid something already is in `interrupted()`: `rest()` never pays twice, and
    // `unfinished()` is both. Here each page is one call, so there is none.
    assert_eq!(report.interrupted().count(), 0);
    let done = report.answered();
    workflow.set_cap(Some("1 USD".parse()?));
    let report = workflow.fan_out(report.rest(), summarise).collect().await;
    println!("under the second cap: {report}");
    assert_eq!(done + report.answered(), 300, "every page was summarised once");
    Ok(())
}
