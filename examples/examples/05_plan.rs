//! Planning: the runtime's own admission in virtual time, before anything is sent.
//!
//! 400 calls of two models share a pool of 16 connections; one model is short of tokens. How long
//! will it take, and what binds?
//!
//! `cargo run --example 05_plan`

use nucleo_core::plan::{Scenario, plan};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = |n: u32| {
        let model = if n < 200 { "small" } else { "large" };
        json!({
            "id": format!("{model}-{n}"), "arrive_ms": 0, "hold_ms": 1_500,
            "demand": { "http": 1, format!("{model}.tokens"): 1_200 },
            "actual": { format!("{model}.tokens"): 900 },
        })
    };
    let scenario: Scenario = serde_json::from_value(json!({
        "accounts": {
            "http": { "permits": 16 },
            "small.tokens": { "per_minute": 60_000 },
            "large.tokens": { "per_minute": 600_000 },
        },
        "jobs": (0..400).map(job).collect::<Vec<_>>(),
    }))?;
    let plan = plan(&scenario)?;
    println!("{} calls take {:.0} s", plan.summary.granted, plan.summary.makespan_ms / 1e3);
    if let Some(account) = &plan.summary.binding {
        println!("what binds is {account}");
    }
    Ok(())
}
