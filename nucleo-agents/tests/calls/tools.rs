//! The loop over a model's turns with tools: order, errors, ends, and what is left of any of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt as _;
use nucleo_agents::call::TooManyTurns;
use nucleo_agents::catalog::Grade;
use nucleo_agents::prelude::*;
use nucleo_core::limits::Permits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::world::{Answer, FINE_COSTS, World, answer, catalog, failed, fine, status};

#[derive(Debug, Deserialize, JsonSchema)]
struct Order {
    /// As printed on the receipt.
    #[schemars(range(min = 1))]
    number: u32,
    note: Option<String>,
}

#[derive(Serialize)]
struct Status {
    order: u32,
    sent: bool,
}

/// So many seconds later.
async fn later(seconds: u64) {
    let span = std::time::Duration::from_secs(seconds);
    tokio::time::timeout(span, std::future::pending::<()>()).await.unwrap_err();
}

async fn order_status(_: ToolContext, order: Order) -> Result<Status, ToolError> {
    // The later a call comes, the sooner it ends.
    later(10 - u64::from(order.number)).await;
    Ok(Status { order: order.number, sent: order.note.is_some() })
}

fn order_status_tool() -> Tool {
    Tool::new("order_status", "Looks an order up", order_status)
}

fn calls(calls: &[(&str, Value)]) -> Answer {
    let call = |(n, (name, input)): (usize, &(&str, Value))| {
        let function = json!({"name": name, "arguments": input.to_string()});
        json!({"id": format!("c{n}"), "type": "function", "function": function})
    };
    let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
    answer(json!({"content": null, "tool_calls": calls}), "tool_calls", true)
}

fn numbers(numbers: &[u32]) -> Answer {
    let one = |number: &u32| ("order_status", json!({"number": number, "note": null}));
    calls(&numbers.iter().map(one).collect::<Vec<_>>())
}

fn ask(world: &World, palette: &Palette) -> nucleo_agents::call::ModelCall {
    let call = world.workflow.context().model(Grade::Small).tools(palette);
    call.user("Where are my orders?").output(100)
}

/// The contents of the results in the n-th request, with the calls' ids.
fn results(world: &World, n: usize) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let messages = world.body(n)["messages"].as_array().unwrap().clone();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools.map(|tool| (text(&tool["tool_call_id"]), text(&tool["content"]))).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_turn_run_side_by_side_and_keep_their_order() {
    let world = World::new(|n| if n == 0 { numbers(&[1, 5, 9]) } else { fine() });
    let palette = Palette::new([order_status_tool()]).unwrap();
    let began = world.now();
    let reply = ask(&world, &palette).reply().await.unwrap();
    assert_eq!(reply.text, "fine");
    assert_eq!(world.now().since(began), Span::from_secs(9), "as long as the longest");
    let of =
        |n: usize, order: u32| (format!("c{n}"), format!(r#"{{"order":{order},"sent":false}}"#));
    assert_eq!(results(&world, 1), [of(0, 1), of(1, 5), of(2, 9)]);
    let first = world.body(0);
    assert_eq!(first["tools"][0]["function"]["name"], "order_status");
    let number = &first["tools"][0]["function"]["parameters"]["properties"]["number"];
    assert_eq!(number["description"], "As printed on the receipt.");
    let second = world.body(1);
    assert_eq!(second["tools"], first["tools"], "offered in every turn");
    let roles: Vec<_> =
        second["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool"]);
    assert_eq!(second["messages"][1]["tool_calls"].as_array().unwrap().len(), 3);
    // Two turns and three tools, all in the books.
    assert_eq!(reply.usage.unwrap().total(), 60);
    assert_eq!(world.workflow.context().record().attempts, 5);
    assert_eq!(world.workflow.context().record().usage.total(), 60);
    assert_eq!(world.spent(), "0.00042 USD".parse().unwrap());
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn each_call_is_admitted_by_itself() {
    let world = World::new(|n| if n == 0 { numbers(&[9, 9, 9, 9]) } else { fine() });
    let shop = world.runtime.harness().admission().open("shop", Permits::new(2)).unwrap();
    let tool = order_status_tool().needs(Needs::http().account(shop));
    let began = world.now();
    ask(&world, &Palette::new([tool]).unwrap()).text().await.unwrap();
    assert_eq!(world.now().since(began), Span::from_secs(2), "two at a time");
    let waited = world.workflow.context().record().waited_on;
    assert_eq!(waited["shop"], Span::from_secs(2), "two tools, a second each");
    world.nothing_is_held();
}

#[derive(Debug, JsonSchema)]
struct Trap;

impl<'de> Deserialize<'de> for Trap {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("hush-hush")
    }
}

async fn wrong(_: ToolContext, (): ()) -> Result<(), ToolError> {
    Err(ToolError::correctable("the shop is closed on Sundays"))
}

async fn broken(_: ToolContext, (): ()) -> Result<(), ToolError> {
    Err(std::io::Error::other("the shop does not answer"))?
}

async fn panics(_: ToolContext, (): ()) -> Result<(), ToolError> {
    panic!("hush-hush")
}

async fn never(_: ToolContext, (): ()) -> Result<(), ToolError> {
    std::future::pending().await
}

async fn trap(_: ToolContext, _: Trap) -> Result<(), ToolError> {
    Ok(())
}

async fn nothing(_: ToolContext, (): ()) -> Result<(), ToolError> {
    Ok(())
}

async fn word(_: ToolContext, word: String) -> Result<String, ToolError> {
    Ok(word.to_uppercase())
}

/// One tool for each way to end.
fn tools_that_end_in_every_way() -> Palette {
    let tools = [
        order_status_tool(),
        Tool::new("wrong", "", wrong),
        Tool::new("broken", "", broken),
        Tool::new("panics", "", panics),
        Tool::new("never", "", never).needs(Needs::http().timeout(Span::from_mins(1))),
        Tool::new("trap", "", trap),
        Tool::new("nothing", "", nothing),
        Tool::new("word", "", word),
    ];
    Palette::new(tools).unwrap()
}

/// Of each way to fail one, in one turn: as many results, and nothing that is not the model's.
#[tokio::test(start_paused = true)]
async fn what_a_model_can_help_is_an_error_that_it_reads() {
    let secret = "hush-hush";
    let expected = [
        (
            ("hush-hush", json!({})),
            "Error: there is no such tool, there are `order_status`, `wrong`, `broken`, `panics`, `never`, `trap`, `nothing`, `word`",
        ),
        (
            ("order_status", json!({"number": secret})),
            "Error: `number` must be a whole number from 0 to 4294967295, not text: call again with an input that fits the schema",
        ),
        (
            ("order_status", json!({"number": 0})),
            "Error: `number` must be at least 1: call again with an input that fits the schema",
        ),
        (
            ("order_status", json!([secret])),
            "Error: the input must be an object, not a list: call again with an input that fits the schema",
        ),
        (("wrong", json!({})), "Error: the shop is closed on Sundays (another input may help)"),
        (("broken", json!({})), "Error: the shop does not answer (no other input helps)"),
        (("panics", json!({})), "Error: the tool panicked (no other input helps)"),
        (("never", json!({})), "Error: the tool did not end within 60s (ask it for less)"),
        (("trap", json!({secret: 1})), "Error: the tool panicked (no other input helps)"),
        (("nothing", json!({secret: 1})), "null"),
        (("word", json!({"input": "loud"})), "LOUD"),
        (
            ("word", json!({"input": 1})),
            "Error: `input` must be text, not a whole number: call again with an input that fits the schema",
        ),
        (("order_status", json!({"number": 9})), r#"{"order":9,"sent":false}"#),
    ];
    let asked: Vec<_> = expected.iter().map(|(call, _)| call.clone()).collect();
    let world = World::new(move |n| if n == 0 { calls(&asked) } else { fine() });
    let text = ask(&world, &tools_that_end_in_every_way()).text().await.unwrap();
    assert_eq!(text, "fine");
    let results = results(&world, 1);
    assert_eq!(results.len(), expected.len());
    for (n, (result, (_, content))) in results.iter().zip(expected).enumerate() {
        assert_eq!((&*result.0, &*result.1), (&*format!("c{n}"), content));
    }
    world.pass(Span::from_secs(10)).await;
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_model_that_only_calls_is_stopped() {
    for (turns, asked) in [(None, 50), (Some(2), 2), (Some(0), 1)] {
        let world = World::new(|_| numbers(&[9]));
        let called = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&called);
        let tool = move |_: ToolContext, _: Order| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok("on its way") }
        };
        let palette = Palette::new([Tool::new("order_status", "", tool)]).unwrap();
        let mut call = ask(&world, &palette);
        if let Some(turns) = turns {
            call = call.turns(turns);
        }
        let error = call.text().await.unwrap_err();
        let AgentError::Turns(TooManyTurns { turns, .. }) = error else { panic!("{error}") };
        assert_eq!((turns as usize, world.asked()), (asked, asked));
        assert_eq!(called.load(Ordering::SeqCst), asked - 1, "of the last turn nobody reads it");
        let said = error.to_string();
        assert!(said.contains(&format!("each of its {asked} turns")), "{said}");
        assert!(said.contains("allow more with `turns`"), "{said}");
        world.nothing_is_held();
    }
}

/// A cap with room for one turn: the tools of the first run, the second is refused.
#[tokio::test(start_paused = true)]
async fn a_cap_refuses_between_turns() {
    let world = World::new(|_| numbers(&[9, 8]));
    let cap = "0.0012 USD".parse().unwrap();
    let workflow = world.runtime.workflow("capped").cap(cap).start();
    let palette = Palette::new([order_status_tool()]).unwrap();
    let agent = move |context: AgentContext, number: u32| {
        let palette = palette.clone();
        async move {
            let call = context.model(Grade::Small).tools(&palette).output(100);
            call.user(format!("{number}?")).text().await
        }
    };
    let report = workflow.fan_out([1], agent).collect().await;
    assert_eq!((report.answered(), report.refused()), (0, 1), "{report}");
    assert_eq!(world.asked(), 1);
    let paid = report.interrupted().next().unwrap();
    assert_eq!(paid.spent, [FINE_COSTS.parse().unwrap()]);
    assert_eq!(workflow.context().record().attempts, 3, "a turn and two tools");
    assert_eq!(workflow.spent(), Some(FINE_COSTS.parse().unwrap()));
    world.nothing_is_held();
}

/// Dropped or cancelled while tools run: they are told, and nothing stays.
#[tokio::test(start_paused = true)]
async fn a_loop_that_ends_midway_takes_its_tools_along() {
    for dropped in [true, false] {
        let world = World::new(|n| if n == 0 { numbers(&[1, 1, 1]) } else { fine() });
        let shop = world.runtime.harness().admission().open("shop", Permits::new(2)).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&told);
        let tool = move |context: ToolContext, _: Order| {
            let count = Arc::clone(&count);
            async move {
                context.cancel_token().cancelled().await;
                count.fetch_add(1, Ordering::SeqCst);
                Err::<(), _>(ToolError::failed("cut off"))
            }
        };
        let tool = Tool::new("order_status", "", tool).needs(Needs::http().account(shop));
        let palette = Palette::new([tool]).unwrap();
        let call = ask(&world, &palette).text();
        if dropped {
            let cut = tokio::time::timeout(std::time::Duration::from_secs(5), call).await;
            cut.unwrap_err();
        } else {
            let call = tokio::spawn(call);
            world.pass(Span::from_secs(5)).await;
            assert_eq!(world.runtime.harness().admission().waiting(), 1, "two run, one waits");
            world.workflow.cancel();
            let error = call.await.unwrap().unwrap_err();
            assert!(matches!(error, AgentError::Job(JobError::Cancelled)), "{error}");
        }
        world.pass(Span::from_secs(60)).await;
        assert_eq!(told.load(Ordering::SeqCst), 2);
        assert_eq!((world.asked(), world.spent()), (1, FINE_COSTS.parse().unwrap()));
        assert_eq!(world.runtime.harness().admission().free(shop), 2);
        world.nothing_is_held();
    }
}

/// What no model can help ends the loop, and the siblings with it.
#[tokio::test(start_paused = true)]
async fn what_the_runtime_refuses_ends_the_loop() {
    let world =
        World::new(|_| calls(&[("order_status", json!({"number": 1})), ("huge", json!({}))]));
    let shop = world.runtime.harness().admission().open("shop", Permits::new(2)).unwrap();
    async fn huge(_: ToolContext, (): ()) -> Result<(), ToolError> {
        Ok(())
    }
    let huge = Tool::new("huge", "", huge).needs(Needs::nothing().amount(shop, 3));
    let palette = Palette::new([order_status_tool(), huge]).unwrap();
    let began = world.now();
    let error = ask(&world, &palette).text().await.unwrap_err();
    assert!(matches!(error, AgentError::Job(JobError::NotAdmitted(_))), "{error}");
    assert_eq!(world.now().since(began), Span::from_secs(0), "nobody waits for the sibling");
    world.pass(Span::from_secs(60)).await;
    assert_eq!(world.asked(), 1);
    world.nothing_is_held();
}

/// A retry of a turn calls no tool again, a correction after tools keeps what they found.
#[tokio::test(start_paused = true)]
async fn turns_are_retried_and_corrected_by_themselves() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Arrival {
        days: u8,
    }
    let world = World::new(|n| match n {
        0 => numbers(&[9]),
        1 => status(500, &[], "{}"),
        2 => answer(json!({"content": "In some days."}), "stop", true),
        3 => numbers(&[8]),
        _ => answer(json!({"content": r#"{"days": 3}"#}), "stop", true),
    });
    let palette = Palette::new([order_status_tool()]).unwrap();
    let arrival: Arrival = ask(&world, &palette).answer().await.unwrap();
    assert_eq!(arrival, Arrival { days: 3 });
    assert_eq!(world.asked(), 5);
    let roles = |n: usize| -> Vec<String> {
        let messages = world.body(n)["messages"].as_array().unwrap().clone();
        messages.iter().map(|m| m["role"].as_str().unwrap().chars().take(1).collect()).collect()
    };
    assert_eq!(roles(2).concat(), "uat");
    assert_eq!(roles(3).concat(), "uatau", "corrected");
    assert_eq!(roles(4).concat(), "uatauat", "and after the correction a tool again");
    assert_eq!(results(&world, 4).len(), 2);
    assert!(world.body(4)["response_format"].is_object());
    assert_eq!(world.workflow.context().record().attempts, 7, "five of the model, two tools");
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_cut_or_not_offered_are_errors() {
    let cut = || {
        let call = json!({"id": "1", "function": {"name": "order_status", "arguments": "{\"num"}});
        answer(json!({"content": null, "tool_calls": [call]}), "length", true)
    };
    let world = World::new(move |_| cut());
    let palette = Palette::new([order_status_tool()]).unwrap();
    let (attempts, failure) = failed(ask(&world, &palette).text().await);
    assert_eq!((attempts, world.asked()), (2, 2), "once more at the model's ceiling");
    let said = failure.error.to_string();
    assert!(said.starts_with("the tool calls were cut off at 4000 tokens"), "{said}");
    assert_eq!(world.body(1)["max_tokens"], 4_000);

    let world = World::new(|_| numbers(&[1]));
    let (attempts, failure) = failed(world.call().await);
    assert_eq!(attempts, 1);
    assert!(failure.error.to_string().contains("offer it with `tools`"), "{}", failure.error);
    world.nothing_is_held();
}

/// What a server thought goes back to it with the results.
#[tokio::test(start_paused = true)]
async fn reasoning_goes_back_with_the_results() {
    let world = World::new(|n| match n {
        0 => {
            let function = json!({"name": "order_status", "arguments": "{\"number\":9}"});
            let call = json!({"id": "1", "type": "function", "function": function});
            let said =
                json!({"content": "Let me see.", "reasoning_content": "", "tool_calls": [call]});
            answer(said, "tool_calls", true)
        }
        _ => fine(),
    });
    let palette = Palette::new([order_status_tool()]).unwrap();
    ask(&world, &palette).text().await.unwrap();
    let said = &world.body(1)["messages"][1];
    assert_eq!(said["reasoning_content"], "", "also when it is empty");
    assert_eq!(said["content"], "Let me see.");
}

/// A call that is dropped before it is polled asks nobody, and a clone of it asks by itself.
#[tokio::test(start_paused = true)]
async fn a_question_is_asked_when_it_is_awaited() {
    let world = World::served(catalog(""), |_| async { fine() }, |builder| builder);
    let palette = Palette::new([order_status_tool()]).unwrap();
    let call = ask(&world, &palette);
    drop(call.clone().text());
    assert_eq!(world.asked(), 0);
    assert!(call.text().now_or_never().is_none(), "it has begun");
    world.pass(Span::from_secs(60)).await;
    world.nothing_is_held();
}
