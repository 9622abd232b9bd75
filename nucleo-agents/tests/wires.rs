//! One agent, unchanged, over both wires: real HTTP, a cap, forms; and the server's own bill.
//!
//! Not here: faults that are asked again (`books`, in virtual time).

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use nucleo_agents::catalog::{Catalog, Credentials, Grade};
use nucleo_agents::prelude::*;
use nucleo_agents::providers::loopback::{
    Fault, FaultRule, Ledger, Loopback, LoopbackConfig, LoopbackModel, LoopbackPrice, When,
};
use nucleo_core::Money;
use schemars::JsonSchema;
use serde::Deserialize;

const KEY: &str = "sk-ant-planted-hush";

const CATALOG: &str = r#"
[providers.far]
kind = "KIND"
base_url = "URL"
api_key_env = "FAR_KEY"

[models.scribe]
provider = "far"
wire_id = "scribe-1"
grade = "small"
context = 32_000
max_output = 4_000
limits = { requests_per_minute = 60_000, input_tokens_per_minute = 60_000_000, output_tokens_per_minute = 60_000_000 }
price = { currency = "USD", input = 3, output = 15 }
"#;

#[derive(Debug, Deserialize, JsonSchema)]
struct Review {
    /// How good it is.
    stars: u8,
    remark: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Parcel {
    number: u32,
}

/// Some parcels are lost, which the model is told.
async fn look_up(_ctx: ToolContext, parcel: Parcel) -> Result<String, ToolError> {
    match parcel.number {
        9 => Err(ToolError::failed("lost")),
        number => Ok(format!("parcel {number} is on its way")),
    }
}

/// Words; an answer of a type; one of a type that no format of the output takes; words after tools, of
/// which two run in one turn and one in the next.
async fn agent(ctx: AgentContext, letter: String, palette: Palette) -> Result<String, AgentError> {
    let call = || ctx.model(Grade::Small).system("Be brief.").user(letter.clone()).output(200);
    let words = call().text().await?;
    let review: Review = call().answer().await?;
    assert!(review.remark.is_none_or(|remark| !remark.is_empty()) && review.stars < 255);
    let _by_name: BTreeMap<String, u8> = call().answer().await?;
    let calls =
        "[call look_up {\"number\": 7}] [call look_up {\"number\": 9}] [then] [call look_up]";
    let told = ctx.model(Grade::Small).tools(&palette).user(format!("{letter} {calls}"));
    Ok(format!("{words} {}", told.output(200).text().await?))
}

fn server() -> Loopback {
    let price = LoopbackPrice::usd(3_000_000_000_000, 15_000_000_000_000);
    let fault = |n, fault| FaultRule::new(When::Numbers([n].into()), fault);
    let config = LoopbackConfig::new([LoopbackModel::new("scribe-1").price(price)])
        .fault(fault(5, Fault::DoubledUsage))
        .fault(fault(8, Fault::ResetAtEnd))
        .seed(5);
    Loopback::start(config, "127.0.0.1:0".parse().unwrap()).unwrap()
}

fn billed(ledger: &Ledger) -> Money {
    format!("{} USD", ledger.billed["USD"]).parse().unwrap()
}

/// What came of twelve letters by one wire, and what it cost there.
async fn by(kind: &str, url: &str) -> (Vec<String>, Money, Ledger) {
    let server = server();
    let url = url.replace("SERVER", &server.address().to_string());
    let catalog = Catalog::parse("t.toml", &CATALOG.replace("KIND", kind).replace("URL", &url));
    let catalog = catalog.unwrap();
    let keys = Credentials::with_variables(&catalog, |_| Some(KEY.into()));
    let runtime = Runtime::builder(catalog).credentials(keys).seed(7).start().unwrap();
    let workflow = runtime.workflow("letters").cap("2 USD".parse().unwrap()).start();
    let letters = (0..12).map(|n| format!("Letter {n} says that the parcel has not arrived."));
    let look_up = Tool::new("look_up", "Looks a parcel up", look_up);
    let palette = Palette::new([look_up]).unwrap();
    let agent = move |ctx, letter| agent(ctx, letter, palette.clone());
    let report = workflow.fan_out(letters, agent).collect().await;
    assert_eq!(report.answered(), 12, "{kind}: {report}");
    let spent = workflow.spent().unwrap();
    assert!(!format!("{report} {report:?} {runtime:?}").contains("hush"));
    assert_eq!(runtime.harness().ledger().under_way(), 0);
    let ledger = server.ledger();
    server.shutdown().await;
    (report.into_answers(), spent, ledger)
}

#[tokio::test]
async fn the_same_agent_on_both_wires() {
    let (by_chat, chat_spent, chat) = by("openai-compatible", "http://SERVER/v1").await;
    let (by_messages, spent, messages) = by("anthropic", "http://SERVER").await;
    for (spent, ledger) in [(chat_spent, &chat), (spent, &messages)] {
        assert_eq!(spent, billed(ledger), "our books are the server's bill");
        assert_eq!(ledger.faults.len(), 2, "{ledger:?}");
        assert_eq!((ledger.http_429, ledger.failed), (0, 0), "{ledger:?}");
    }
    assert_eq!(by_chat, by_messages, "the same letters are answered in the same words");
    assert_eq!(chat.requests, messages.requests);
    assert!(chat.requests >= 12 * 6, "three turns with tools: {chat:?}");
}
