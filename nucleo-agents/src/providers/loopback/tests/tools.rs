//! Tools that the server calls, over real HTTP: what it asks, takes back, and bills.

use serde_json::json;

use super::super::*;
use super::support::{ask, call, priced, serve};
use crate::counting::{Family, TextSize};
use crate::wire::{
    ChatReply, ChatRequest, Hints, Message, Part, ResponseSchema, Role, Stop, Streaming,
    ToolChoice, ToolResult, ToolSpec,
};

fn tools() -> [ToolSpec; 2] {
    let order = json!({"type": "object", "properties": {"order": {"type": "integer", "minimum": 1}},
        "required": ["order"], "additionalProperties": false});
    let open = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    [ToolSpec::new("order_status", "Looks up.", order), ToolSpec::new("say", "Says it.", open)]
}

fn counted(request: &ChatRequest) -> u64 {
    let size = TextSize::of_request(&request.messages, &request.tools);
    let size = request.schema.as_ref().map_or(size, |schema| size.with_schema(schema));
    Family::Loopback.tokens(&size)
}

#[tokio::test]
async fn the_form_of_an_answer_is_billed_as_it_is_counted() {
    let (_server, client) = serve(LoopbackConfig::new([priced()])).await;
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let form = ResponseSchema { name: "Answer".into(), schema: schema.into() };
    let request = ask("words", 200).schema(form).tools(tools());
    let usage = call(&client, &request).await.unwrap().usage.unwrap();
    assert_eq!(usage.input, counted(&request));
}

/// The conversation after `reply`, with a result for each of its calls.
fn answered(request: &ChatRequest, reply: &ChatReply) -> ChatRequest {
    let results = reply.calls.iter().enumerate().map(|(n, call)| match n {
        0 => ToolResult::found(call.id.clone(), "shipped yesterday"),
        _ => ToolResult::error(call.id.clone(), "no such order"),
    });
    let mut messages = request.messages.to_vec();
    messages.extend([reply.to_message(), Message::tool_results(results)]);
    let mut next = request.clone();
    next.messages = messages.into();
    next
}

#[tokio::test]
async fn calls_are_asked_for_taken_back_and_billed() {
    for streaming in [Streaming::Whole, Streaming::Pieces] {
        let (server, client) = serve(LoopbackConfig::new([priced()])).await;
        let text = "Where is it? [call order_status {\"order\": 7}] [call say] [then] [call say]";
        let image =
            Message::of(Role::User, [Part::text(text), Part::image("image/png", vec![7; 9])]);
        let mut request =
            ChatRequest::new("small-1", vec![image], 200).tools(tools()).streaming(streaming);
        let (mut input, mut output) = (0, 0);
        for names in [&["order_status", "say"][..], &["say"], &[]] {
            let reply = call(&client, &request).await.unwrap();
            let called: Vec<_> = reply.calls.iter().map(|call| &*call.name).collect();
            assert_eq!(called, names, "{streaming:?}");
            assert_eq!(reply.stop == Stop::ToolCalls, !names.is_empty());
            let usage = reply.usage.unwrap();
            assert_eq!(usage.input, counted(&request), "{streaming:?} {names:?}");
            (input, output) = (input + usage.input, output + usage.output);
            if names.is_empty() {
                assert!(!reply.text.is_empty());
            } else {
                let bytes: usize = reply.calls.iter().map(|call| call.bytes()).sum();
                assert_eq!(usage.output, (bytes as u64).div_ceil(4), "{streaming:?}");
            }
            request = answered(&request, &reply);
        }
        let ledger = server.ledger();
        assert_eq!((ledger.answered, ledger.requests), (3, 3));
        assert_eq!((ledger.input_tokens, ledger.output_tokens), (input, output));
    }
}

#[tokio::test]
async fn the_same_is_called_whole_and_in_pieces_and_again() {
    let (_server, client) = serve(LoopbackConfig::new([priced()]).seed(5)).await;
    let hints = Hints::NONE.tool_turns(2);
    let whole = ask("words", 500).tools(tools()).hints(hints);
    let first = call(&client, &whole).await.unwrap();
    let pieces = call(&client, &whole.clone().streaming(Streaming::Pieces)).await.unwrap();
    assert_eq!(first.calls, pieces.calls);
    assert!(!first.calls.is_empty());
    let second = call(&client, &answered(&whole, &first)).await.unwrap();
    assert!(!second.calls.is_empty());
    assert_ne!(first.calls[0].id, second.calls[0].id, "an id is of its turn");
    let third = call(&client, &answered(&answered(&whole, &first), &second)).await.unwrap();
    assert_eq!((third.calls.len(), third.stop), (0, Stop::End), "two turns were asked for");
}

#[tokio::test]
async fn a_choice_is_kept_and_nothing_is_called_without_tools() {
    let (_server, client) = serve(LoopbackConfig::new([priced()])).await;
    let marked = ask("[call say]", 500);
    for (request, calls) in [
        (marked.clone(), false),
        (marked.clone().tools(tools()).tool_choice(ToolChoice::None), false),
        (ask("words", 500).tools(tools()), false),
        (ask("words", 500).tools(tools()).tool_choice(ToolChoice::Required), true),
        (ask("words", 500).tools(tools()).tool_choice(ToolChoice::Named("say".into())), true),
    ] {
        let reply = call(&client, &request).await.unwrap();
        assert_eq!(!reply.calls.is_empty(), calls, "{request:?}");
        assert_eq!(reply.text.is_empty(), calls, "{request:?}");
    }
}

#[tokio::test]
async fn calls_past_the_output_limit_are_cut() {
    for streaming in [Streaming::Whole, Streaming::Pieces] {
        let (server, client) = serve(LoopbackConfig::new([priced()])).await;
        let text = "[call say {\"word\": \"a\"}] [call say {\"word\": \"a long word or two\"}]";
        let request = ask(text, 18).tools(tools()).streaming(streaming);
        let reply = call(&client, &request).await.unwrap();
        assert_eq!((reply.stop, reply.calls.len()), (Stop::OutputLimit, 1), "{streaming:?}");
        assert_eq!(server.ledger().output_tokens, 18);
    }
}
