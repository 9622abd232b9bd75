//! What bounds a workflow besides its own cap: a user's cap, a day's, a deadline, a limit of your own;
//! and agents that begin after others.
//!
//! `cargo run --example 07_bounds`

use nucleo_agents::agent::{AgentHandle, race, vote};
use nucleo_agents::prelude::*;
use nucleo_core::limits::Permits;

async fn outline(ctx: AgentContext, topic: &'static str) -> Result<String, AgentError> {
    ctx.model(Grade::Small).user(format!("Outline: {topic}")).output(64).text().await
}

/// Begins when its outline is there, and reads it from the handle.
async fn chapter(ctx: AgentContext, of: AgentHandle<String>) -> Result<String, AgentError> {
    let end = of.end().await;
    let outline = end.result.as_ref().map_err(|error| AgentError::other(error.chain()))?;
    ctx.model(Grade::Small).user(format!("Write it: {outline}")).output(256).text().await
}

/// A tool: it holds what it needs from its first step to its last, and can't ask for anything more.
async fn typeset(ctx: ToolContext, text: String) -> Result<usize, AgentError> {
    // Blocking work keeps what was granted until it is gone, whatever becomes of this call.
    let pages = ctx.blocking(move || text.len().div_ceil(1_800)).await;
    pages.map_err(AgentError::other)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::start(Catalog::loopback())?;
    // Each counts every call that it concerns, whatever workflow that is of.
    runtime.set_cap(ScopeId::User("ann".into()), Some("0.50 USD".parse()?))?;
    runtime.set_cap(ScopeId::Day("Europe/Berlin".into()), Some("5 USD".parse()?))?;
    let press = runtime.harness().admission().open("press", Permits::new(1));
    let press = press.ok_or("admission is defective")?;

    let workflow = runtime
        .workflow("book")
        .user("ann")
        .cap("0.20 USD".parse()?)
        .deadline(Span::from_mins(10))
        .start();
    let mut chapters = Vec::new();
    for topic in ["flour", "water", "time"] {
        let outline = workflow.submit(outline, topic).start();
        chapters.push(workflow.submit(chapter, outline.clone()).after(&outline).start());
    }
    for handle in chapters {
        let end = handle.end().await;
        let text = end.result.as_ref().map_err(|error| error.chain())?.clone();
        let needs = Needs::nothing().account(press);
        let pages = workflow.context().tool(needs, |ctx| typeset(ctx, text)).await?;
        println!("a chapter of {pages} page(s), for {}", end.record.cost[0]);
    }

    // The first that answers; the other is cancelled, and what it owes is booked.
    let title = |grade| workflow.context().model(grade).user("A title, please.").output(128).text();
    println!("title: {}", race([title(Grade::Small), title(Grade::Medium)]).await?);
    let votes = vote((0..3).map(|_| title(Grade::Small))).await;
    println!("{} different titles of 3", votes.answers.len());

    // Who has been longest where it is, and what it waits on: nobody, as all have ended.
    assert!(workflow.longest(5).is_empty());
    let spent = runtime.position(&ScopeId::User("ann".into())).ok_or("it has a cap")?.spent;
    println!("ann spent {}", spent[0]);
    Ok(())
}
