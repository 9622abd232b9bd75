//! A catalog's loopback entries as they are played.

use crate::providers::Provider as _;
use crate::providers::loopback::Engine;
use crate::providers::openai::{OpenAi, OpenAiConfig};
use crate::wire::{ChatRequest, Message, Unwatched};

use super::*;

const CATALOG: &str = r#"
[providers.house]
kind = "loopback"
[models.weak]
provider = "house"
wire_id = "weak-1"
grade = "small"
context = 32_000
max_output = 100
limits = { requests_per_minute = 600 }
[models.weak.loopback]
first_token_ms = [0, 0]
per_token_us = 0
PLAYS
[models.strong]
provider = "house"
wire_id = "strong-1"
grade = "medium"
context = 32_000
max_output = 100
"#;

fn engine(plays: &str) -> (Engine, OpenAi) {
    let catalog = Catalog::parse("t.toml", &CATALOG.replace("PLAYS", plays)).unwrap();
    let engine = Engine::new(loopback_config(&catalog)).unwrap();
    let client = OpenAi::new(OpenAiConfig::new("http://house").unwrap(), engine.transport());
    (engine, client)
}

async fn ask(client: &OpenAi, model: &'static str, times: u64) {
    for _ in 0..times {
        let request = ChatRequest::new(model, vec![Message::user("a question")], 16);
        let _ = client.call(&request, &mut Unwatched).await;
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_meets_as_many_requests_of_its_own_entry_as_it_says() {
    let keys = ["rate_limited", "reset", "reset_at_end", "error_inside", "error_midway"];
    let mut list: Vec<_> = keys.iter().map(|key| format!("{key} = 150")).collect();
    list.push("doubled_usage = 250".into());
    let (engine, client) = engine(&format!("faults_permille = {{ {} }}", list.join(", ")));
    ask(&client, "strong-1", 1_000).await;
    assert_eq!(engine.ledger().answered, 1_000, "the other entry has no faults");
    ask(&client, "weak-1", 4_000).await;
    let played = engine.ledger().faults;
    assert_eq!(played.values().sum::<u64>(), 4_000, "1,000 permille are all: {played:?}");
    for key in keys {
        assert!((500..700).contains(&played[key]), "{key}: {played:?}");
    }
    assert!((900..1_100).contains(&played["doubled_usage"]), "{played:?}");
}

#[tokio::test(start_paused = true)]
async fn every_key_is_played_under_its_name() {
    for fault in [
        "rate_limited",
        "overloaded",
        "server_error",
        "unavailable",
        "reset",
        "truncated",
        "no_usage",
        "malformed",
        "html",
        "out_of_credit",
        "reset_at_end",
        "error_inside",
        "error_midway",
        "running_usage",
        "doubled_usage",
    ] {
        let (engine, client) = engine(&format!("faults_permille = {{ {fault} = 1_000 }}"));
        ask(&client, "weak-1", 3).await;
        assert_eq!(engine.ledger().faults, [(fault, 3)].into());
    }
    for fault in ["silent", "stall", "keep_alive"] {
        let (engine, client) = engine(&format!("faults_permille = {{ {fault} = 1_000 }}"));
        let call = ask(&client, "weak-1", 1);
        let hour = std::time::Duration::from_secs(3_600);
        assert!(tokio::time::timeout(hour, call).await.is_err(), "{fault}");
        assert_eq!(engine.ledger().faults, [(fault, 1)].into());
    }
}

#[tokio::test(start_paused = true)]
async fn the_quota_is_played_as_the_entry_says() {
    for (plays, at_once) in [
        ("", 600),
        ("quota_permille = 500", 300),
        ("enforced = \"by_second\"", 10),
        ("quota_permille = 50\nenforced = \"by_second\"", 1),
        ("enforced = \"as_stated\"", 600),
    ] {
        let (engine, client) = engine(plays);
        for _ in 0..700 {
            let request = ChatRequest::new("weak-1", vec![Message::user("a question")], 16);
            let _ = client.call(&request, &mut Unwatched).await;
        }
        assert_eq!(engine.ledger().answered, at_once, "{plays}");
    }
}
