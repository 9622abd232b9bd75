//! Tools against the loopback server: over real HTTP, and in virtual time with faults. Its bill is the
//! count that ours is compared with.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::prelude::*;
use nucleo_agents::providers::loopback::{
    AskedWait, Engine, Fault, FaultRule, Ledger, LoopbackConfig, LoopbackModel, LoopbackPrice, When,
};
use nucleo_agents::wire::Hints;
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::limits::Permits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::world::catalog;

#[derive(Debug, Deserialize, JsonSchema)]
struct Order {
    #[schemars(range(min = 1, max = 9))]
    number: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Triage {
    category: String,
    #[schemars(range(min = 1, max = 5))]
    urgency: u8,
}

/// A tool, how often it was called and how many of it ran at once.
fn counted() -> (Tool, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (called, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, peak, running) = (Arc::clone(&called), Arc::clone(&most), AtomicUsize::new(0));
    let running = Arc::new(running);
    let tool = move |_: ToolContext, order: Order| {
        let (count, peak, running) = (count.clone(), peak.clone(), running.clone());
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            running.fetch_sub(1, Ordering::SeqCst);
            if order.number == 9 { Err(ToolError::failed("lost")) } else { Ok("on its way") }
        }
    };
    (Tool::new("order_status", "Looks an order up", tool), called, most)
}

/// Two calls, then one, then a typed answer.
fn triage(palette: Palette) -> impl Agent<u32, Out = Triage, Error = AgentError> {
    move |context: AgentContext, number: u32| {
        let palette = palette.clone();
        async move {
            let call = context.model(Grade::Small).tools(&palette).output(200);
            let said = format!(
                "Mail {number}: [call order_status] [call order_status {{\"number\": 9}}] \
                 [then] [call order_status]"
            );
            call.user(said).answer::<Triage>().await
        }
    }
}

#[track_caller]
fn books_agree(workflow: &Workflow, ledger: &Ledger) {
    let billed = format!("{} USD", ledger.billed["USD"]);
    assert_eq!(workflow.spent(), Some(billed.parse().unwrap()));
    let used = workflow.context().record().usage;
    assert_eq!(
        (used.input_total(), used.output_total()),
        (ledger.input_tokens, ledger.output_tokens)
    );
}

#[tokio::test]
async fn a_fan_out_with_tools_is_billed_as_it_is_booked() {
    let runtime = Runtime::start(Catalog::loopback()).unwrap();
    let shop = runtime.harness().admission().open("shop", Permits::new(3)).unwrap();
    let (tool, called, most) = counted();
    let palette = Palette::new([tool.needs(Needs::http().account(shop))]).unwrap();
    let workflow = runtime.workflow("inbox").cap("10 USD".parse().unwrap()).start();
    let report = workflow.fan_out(1..=60, triage(palette)).collect().await;
    assert_eq!(report.answered(), 60, "{report}");
    assert_eq!(called.load(Ordering::SeqCst), 180);
    assert!(most.load(Ordering::SeqCst) <= 3);
    let ledger = runtime.loopback_servers()[0].ledger();
    assert_eq!(ledger.answered, 180, "three turns each");
    books_agree(&workflow, &ledger);
    assert_eq!(runtime.harness().admission().free(shop), 3);
}

#[tokio::test]
async fn a_cap_holds_over_turns() {
    let runtime = Runtime::start(Catalog::loopback()).unwrap();
    let (tool, _, _) = counted();
    let palette = Palette::new([tool]).unwrap();
    let cap: Money = "0.002 USD".parse().unwrap();
    let workflow = runtime.workflow("inbox").cap(cap).start();
    let report = workflow.fan_out(1..=500, triage(palette)).collect().await;
    assert!(report.answered() > 0 && report.refused() > 0, "{report}");
    assert_eq!(report.failed(), 0, "{report}");
    assert!(workflow.spent().unwrap().pico() <= cap.pico());
    books_agree(&workflow, &runtime.loopback_servers()[0].ledger());
    assert_eq!(runtime.harness().ledger().under_way(), 0);
}

#[tokio::test]
async fn a_model_that_never_stops_calling_is_stopped_over_http() {
    let runtime = Runtime::start(Catalog::loopback()).unwrap();
    let (tool, called, _) = counted();
    let palette = Palette::new([tool]).unwrap();
    let workflow = runtime.workflow("endless").start();
    let call = workflow.context().model(Grade::Small).tools(&palette).user("Go on.").output(200);
    let error = call.hints(Hints::NONE.tool_turns(1_000)).text().await.unwrap_err();
    assert!(matches!(error, AgentError::Turns(_)), "{error}");
    let ledger = runtime.loopback_servers()[0].ledger();
    assert_eq!(ledger.answered, 50);
    assert!(called.load(Ordering::SeqCst) >= 49);
    books_agree(&workflow, &ledger);
}

/// Servers that fail in any turn: no tool is called twice for it, and the books agree all the same.
#[tokio::test(start_paused = true)]
async fn faults_between_turns_repeat_no_tool() {
    let price = LoopbackPrice::usd(1_000_000_000_000, 10_000_000_000_000);
    let fault = |fault| FaultRule::new(When::PerMillion(20_000), fault);
    let config = LoopbackConfig::new([LoopbackModel::new("scribe-1").price(price)])
        .fault(fault(Fault::RateLimit(AskedWait::Unsaid)))
        .fault(fault(Fault::Overloaded(AskedWait::Unsaid)))
        .fault(fault(Fault::ServerError));
    let engine = Engine::new(config).unwrap();
    let builder = Runtime::builder(catalog("")).transport(engine.transport()).seed(7);
    let runtime = builder.start().unwrap();
    let (tool, called, _) = counted();
    let workflow = runtime.workflow("inbox").start();
    let palette = Palette::new([tool]).unwrap();
    let report = workflow.fan_out(1..=200, triage(palette)).collect().await;
    assert_eq!(report.answered(), 200, "{report}");
    assert_eq!(called.load(Ordering::SeqCst), 600);
    let ledger = engine.ledger();
    assert_eq!(ledger.answered, 600);
    assert!(ledger.requests > 610, "{ledger:?}");
    books_agree(&workflow, &ledger);
}
