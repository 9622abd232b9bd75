//! Tool calls that come back: whole, in pieces of every kind, and those that are none.

use serde_json::{Value, json};

use super::*;
use crate::wire::ToolCall;

fn calls(reply: Result<ChatReply, CallFailure>) -> Vec<(String, String, Value)> {
    let call =
        |call: ToolCall| (call.id.to_string(), call.name.to_string(), (*call.arguments).clone());
    let reply = reply.unwrap();
    assert_eq!(reply.stop, Stop::ToolCalls);
    reply.calls.into_iter().map(call).collect()
}

fn called(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
    (id.into(), name.into(), arguments)
}

#[test]
fn calls_of_a_whole_answer() {
    let (reply, heard) =
        answered(200, "application/json", include_str!("../fixtures/tools_whole.json"));
    assert_eq!(reply.as_ref().unwrap().text, "");
    assert_eq!(
        calls(reply),
        [
            called("call_a1", "order_status", json!({"order": 7, "deep": {"list": [1, null]}})),
            called("call_b2", "today", json!({})),
        ]
    );
    assert_eq!(heard, "leaving head=200 usage=90+40", "a call is no text");
}

#[test]
fn calls_of_a_streamed_answer() {
    let body = include_str!("../fixtures/tools_stream.txt");
    let (reply, heard) = streamed(body);
    assert_eq!(reply.as_ref().unwrap().text, "Let me see.");
    let expected = [
        called("call_a1", "order_status", json!({"order": 7})),
        called("call_b2", "order_status", json!({"order": "ü"})),
    ];
    assert_eq!(calls(reply), expected);
    assert_eq!(heard, "leaving head=200 `Let me see.` usage=50+30");
}

#[test]
fn a_stream_of_calls_cut_anywhere_is_no_answer() {
    let body = include_str!("../fixtures/tools_stream.txt");
    let finish = body.find(r#""finish_reason":"tool_calls""#).unwrap();
    let finish = finish + body[finish..].find("\n\n").unwrap() + 2;
    for bytes in 0..body.len() {
        let (reply, _) = play(move || {
            let head = Response::builder().header("content-type", "text/event-stream");
            let cut = Err(TransportError::broken(BrokenAt::InBody, "reset"));
            let pieces = vec![Ok(body.as_bytes()[..bytes].to_vec().into()), cut];
            Ok(head.body(BodyStream::pieces(pieces)).unwrap())
        });
        assert_eq!(reply.is_ok(), bytes >= finish, "after {bytes}");
        assert!(reply.is_err() || calls(reply).len() == 2, "after {bytes}");
    }
}

/// One event of a stream for each list of pieces, with the pieces' own way to number them.
fn in_pieces(pieces: &[Value], finish: &str) -> Result<ChatReply, CallFailure> {
    let mut body = String::new();
    for piece in pieces {
        let event = json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
        body.push_str(&format!("data: {event}\n\n"));
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    body.push_str(&format!("data: {end}\n\ndata: [DONE]\n\n"));
    streamed(Box::leak(body.into_boxed_str())).0
}

#[test]
fn pieces_are_put_together_however_they_are_numbered() {
    let first = json!({"index": 0, "id": "a", "function": {"name": "n", "arguments": "{\"x\""}});
    let rest = |more: Value| {
        let mut piece = json!({"index": 0, "function": {"arguments": ":1}"}});
        piece.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        piece
    };
    let unnumbered = |mut piece: Value| {
        piece.as_object_mut().unwrap().remove("index");
        piece
    };
    let one = [called("a", "n", json!({"x": 1}))];
    for (pieces, what) in [
        (vec![first.clone(), rest(json!({}))], "once"),
        (vec![first.clone(), rest(json!({"id": "a"}))], "the id again"),
        (vec![first.clone(), rest(json!({"id": ""}))], "an empty id"),
        (vec![first.clone(), rest(json!({"id": "fresh"}))], "a fresh id with every piece"),
        (
            vec![
                first.clone(),
                rest(json!({"id": "a", "function": {"name": "n", "arguments": ":1}"}})),
            ],
            "the name again",
        ),
        (
            vec![first.clone(), rest(json!({"function": {"name": null, "arguments": ":1}"}}))],
            "a name of null",
        ),
        (vec![unnumbered(first.clone()), unnumbered(rest(json!({})))], "no index"),
    ] {
        assert_eq!(calls(in_pieces(&pieces, "tool_calls")), one, "{what}");
    }
    let whole = |index: Value, id: &str, x: u64| {
        let arguments = json!({"x": x}).to_string();
        json!({"index": index, "id": id, "function": {"name": "n", "arguments": arguments}})
    };
    let two = [called("a", "n", json!({"x": 1})), called("b", "n", json!({"x": 2}))];
    for (first, second) in [(json!(0), json!(1)), (json!(0), json!(0)), (json!(null), json!(null))]
    {
        let pieces = [whole(first, "a", 1), whole(second, "b", 2)];
        assert_eq!(calls(in_pieces(&pieces, "tool_calls")), two);
    }
    let interleaved = [
        first.clone(),
        json!({"index": 5, "id": "b", "function": {"name": "n"}}),
        rest(json!({})),
        json!({"index": 5, "function": {"arguments": {"x": 2}}}),
    ];
    assert_eq!(calls(in_pieces(&interleaved, "stop")), two, "and the usual end after calls");
}

/// A whole answer with these calls.
fn whole(message: Value, finish: &str) -> Result<ChatReply, CallFailure> {
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4});
    let body = json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage});
    answered(200, "application/json", Box::leak(body.to_string().into_boxed_str())).0
}

#[test]
fn an_essential_that_a_call_lacks_is_named() {
    for (call, names) in [
        (json!({"id": "1"}), "`name` in a tool call"),
        (json!({"id": "1", "function": {"arguments": "{}"}}), "`name` in a tool call"),
        (json!({"id": "1", "function": {"name": ""}}), "`name` in a tool call"),
        (json!({"function": {"name": "n", "arguments": "{}"}}), "`id` in a tool call"),
        (json!({"id": null, "function": {"name": "n"}}), "`id` in a tool call"),
        (
            json!({"id": "1", "function": {"name": "n", "arguments": "{\"x\": "}}),
            "valid JSON in the `arguments`",
        ),
        (
            json!({"id": "1", "function": {"name": "n", "arguments": "{} or so"}}),
            "valid JSON in the `arguments`",
        ),
    ] {
        let good = json!({"index": 0, "id": "0", "function": {"name": "n", "arguments": "{}"}});
        let mut call = call;
        call["index"] = json!(1);
        let message = json!({"content": "text", "tool_calls": [good, call]});
        for result in [whole(message, "tool_calls"), in_pieces(&[good, call.clone()], "tool_calls")]
        {
            let failure = result.unwrap_err();
            assert_eq!((failure.name(), failure.ends_at()), ("unreadable", EndsAt::FullAnswer));
            assert!(failure.to_string().contains(names), "{call}: {failure}");
        }
    }
    for message in [
        json!({"content": null}),
        json!({"content": ""}),
        json!({"content": null, "tool_calls": []}),
        json!({"content": null, "tool_calls": null}),
        json!({"content": null, "function_call": {"name": "n", "arguments": "{}"}}),
    ] {
        let failure = whole(message.clone(), "tool_calls").unwrap_err();
        assert!(failure.to_string().contains("`tool_calls`"), "{message}: {failure}");
        assert_eq!(failure.usage().unwrap().total(), 7);
    }
    let said = whole(json!({"content": "text"}), "tool_calls").unwrap();
    assert_eq!((&*said.text, said.calls.len()), ("text", 0), "text is an answer");
}

#[test]
fn calls_that_the_output_limit_cut_are_left_out() {
    let good = json!({"id": "0", "function": {"name": "n", "arguments": "{}"}});
    let cut = json!({"id": "1", "function": {"name": "n", "arguments": "{\"x\": "}});
    let message = json!({"content": null, "tool_calls": [good, cut]});
    for result in [whole(message, "length"), in_pieces(&[good, cut], "length")] {
        let reply = result.unwrap();
        assert_eq!((reply.stop, reply.calls.len()), (Stop::OutputLimit, 1));
    }
}

#[test]
fn arguments_in_every_form() {
    for (arguments, read) in [
        (json!("{\"x\":1}"), json!({"x": 1})),
        (json!({"x": 1}), json!({"x": 1})),
        (json!(" \n"), json!({})),
        (json!("null"), json!({})),
        (json!(null), json!({})),
        (json!("[1]"), json!([1])),
    ] {
        let call = json!({"id": "1", "function": {"name": "n", "arguments": arguments}});
        let reply = whole(json!({"content": null, "tool_calls": [call]}), "stop");
        assert_eq!(calls(reply), [called("1", "n", read)], "{arguments}");
    }
}

#[test]
fn reasoning_is_kept_for_its_server() {
    let call = json!({"id": "1", "function": {"name": "n", "arguments": "{}"}});
    let message = json!({"content": null, "tool_calls": [call], "reasoning_content": "thought"});
    let reply = whole(message, "tool_calls").unwrap();
    let [reasoning] = &reply.reasoning[..] else { panic!("{reply:?}") };
    assert_eq!((&*reasoning.by, &*reasoning.data), ("openai-compatible h", &json!("thought")));
    let body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"tho\"}}]}\n\n\
         data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"ught\",\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let reply = streamed(body).0.unwrap();
    assert_eq!(reply.reasoning[..], *std::slice::from_ref(reasoning));
    let odd = json!({"content": "x", "reasoning_content": {"a": 1}});
    assert_eq!(whole(odd, "stop").unwrap().reasoning, [], "in another form it costs nothing");
}
