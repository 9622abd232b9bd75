//! A resource of your own, with a limit of its own: a job takes it together with whatever else it
//! needs, or waits holding nothing.
//!
//! `cargo run --example 04_own_limit`

use nucleo_agents::prelude::*;
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, Need};
use nucleo_harness::attempt::{Failure, Granted, History, Job, JobOptions, Requirements};

/// A look-up in a service that allows 2 connections and 50 requests a second.
struct LookUp {
    order: u32,
    connections: AccountId,
    requests: AccountId,
}

impl Job for LookUp {
    type Out = String;

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        let needs = [self.connections, self.requests].map(|account| Need { account, amount: 1 });
        Ok(Requirements { needs: needs.into_iter().collect(), ..Requirements::default() })
    }

    async fn execute(&mut self, granted: Granted) -> Result<String, Failure> {
        // From here the request counts, whatever becomes of it.
        granted.mark_sent();
        tokio::task::yield_now().await;
        Ok(format!("order {} is on its way", self.order))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = Runtime::start(Catalog::loopback())?;
    let admission = runtime.harness().admission();
    let connections = admission.open("shop.connections", Permits::new(2)).ok_or("defective")?;
    let rate = TokenBucket::new(Rate::per_second(50).burst(10))?;
    let requests = admission.open("shop.requests_per_second", rate).ok_or("defective")?;

    let look_up = move |ctx: AgentContext, order: u32| async move {
        let job = LookUp { order, connections, requests };
        let status = ctx.job(job, JobOptions::default()).await?;
        let ask = ctx.model(Grade::Small).system("Tell the customer.").user(status);
        ask.output(100).text().await
    };
    let workflow = runtime.workflow("orders").cap("0.10 USD".parse()?).start();
    let report = workflow.fan_out(1..=60, look_up).collect().await;

    println!("{report}");
    for (account, waits) in &report.tally().waits {
        println!("{account}: {} waited, {} at most", waits.jobs, waits.longest);
    }
    Ok(())
}
