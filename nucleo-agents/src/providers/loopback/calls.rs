//! The tool calls that the server answers with, on request.
//!
//! Asked for by the last user message, with `[call NAME]` or `[call NAME {"its": "input"}]`; by the
//! header `x-nucleo-tool-turns: N`, for N turns; or by a `tool_choice` that demands a call. Several
//! markers are calls of one turn, those after a `[then]` are the next turn's. What a marker says is
//! called, whether there is such a tool or not. What is not said is drawn from the seed and the
//! conversation: one to three of the tools on offer, with inputs that satisfy their schemas. A
//! request without tools, or with the choice `none`, is answered in words.
//!
//! Invariants: the calls follow from the conversation and the seed alone; their length is that of
//! ids, names and arguments together; a piece cuts no character.
//!
//! Not here: reading the request (`asked`), when a piece is sent (`flow`).

use serde_json::{Value, json};

use super::prose::Prose;
use super::schema;
use super::tokens::text_tokens;

/// A tool on offer.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) parameters: Value,
}

/// What calls are asked for, besides markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    Nothing,
    Any,
    Named(String),
    Forbidden,
}

/// Calls on their way out.
#[derive(Debug)]
pub(super) struct Calls {
    calls: Vec<Call>,
    sent: usize,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// Most calls of one turn that nobody named.
const DRAWN_MAX: usize = 3;

impl Calls {
    /// The calls of this turn, if it has any: the `turn`-th since the user spoke last, from zero.
    pub(super) fn plan(
        said: &str,
        turn: usize,
        offered: &[Offered],
        demand: &Demand,
        prose: &mut Prose,
    ) -> Option<Self> {
        if offered.is_empty() || *demand == Demand::Forbidden {
            return None;
        }
        let marked = said.split(THEN).nth(turn).map(markers).unwrap_or_default();
        let named: Vec<(String, Option<Value>)> = match demand {
            _ if !marked.is_empty() => marked,
            Demand::Named(name) => vec![(name.clone(), None)],
            Demand::Any => {
                let many = prose.rng().usize(1..=DRAWN_MAX);
                let mut draw = || offered[prose.rng().usize(0..offered.len())].name.clone();
                (0..many).map(|_| (draw(), None)).collect()
            }
            Demand::Nothing | Demand::Forbidden => return None,
        };
        let id = prose.rng().u64(..);
        let call = |(number, (name, arguments)): (usize, (String, Option<Value>))| {
            let tool = offered.iter().find(|tool| tool.name == name);
            let satisfied = || tool.map(|tool| schema::satisfy(&tool.parameters, prose));
            let arguments = arguments.or_else(satisfied).unwrap_or_else(|| json!({}));
            let id = format!("call_{id:016x}_{number}");
            Call { id, name, arguments: arguments.to_string() }
        };
        Some(Self { calls: named.into_iter().enumerate().map(call).collect(), sent: 0 })
    }

    /// The tokens of all of them.
    pub(super) fn tokens(&self) -> u64 {
        text_tokens(self.calls.iter().map(Call::bytes).sum())
    }

    /// The next `bytes` of them, as a stream's pieces.
    pub(super) fn pieces(&mut self, bytes: usize) -> Value {
        let (from, to) = (self.sent, self.sent.saturating_add(bytes));
        self.sent = to;
        let mut pieces = Vec::new();
        for (index, (start, call)) in self.placed().enumerate() {
            if (from..to).contains(&start) {
                let function = json!({"name": call.name, "arguments": ""});
                let head = json!({"index": index, "id": call.id, "type": "function", "function": function});
                pieces.push(head);
            }
            let (from, to) = (call.cut(start, from), call.cut(start, to));
            if from < to {
                let function = json!({"arguments": call.arguments[from..to]});
                pieces.push(json!({"index": index, "function": function}));
            }
        }
        pieces.into()
    }

    /// The first `bytes` of them, whole.
    pub(super) fn first(&self, bytes: usize) -> Value {
        let begun = self.placed().filter(|(start, _)| *start < bytes);
        let call = |(start, call): (usize, &Call)| {
            let arguments = &call.arguments[..call.cut(start, bytes)];
            let function = json!({"name": call.name, "arguments": arguments});
            json!({"id": call.id, "type": "function", "function": function})
        };
        begun.map(call).collect()
    }

    /// Each call with the byte where it begins.
    fn placed(&self) -> impl Iterator<Item = (usize, &Call)> {
        self.calls.iter().scan(0, |next, call| {
            let start = *next;
            *next += call.bytes();
            Some((start, call))
        })
    }
}

impl Call {
    fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + self.arguments.len()
    }

    /// Where in the arguments byte `at` of all calls is, if this one begins at `start`.
    fn cut(&self, start: usize, at: usize) -> usize {
        let head = start + self.id.len() + self.name.len();
        let mut cut = at.saturating_sub(head).min(self.arguments.len());
        while !self.arguments.is_char_boundary(cut) {
            cut -= 1;
        }
        cut
    }
}

/// The names and inputs of the `[call …]` markers in a text.
fn markers(text: &str) -> Vec<(String, Option<Value>)> {
    let marker = |rest: &str| {
        let name_end = rest.find(|c: char| c == ']' || c.is_whitespace())?;
        let (name, rest) = rest.split_at(name_end);
        let input = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next();
        (!name.is_empty()).then(|| (name.to_owned(), input.and_then(Result::ok)))
    };
    text.split(MARKER).skip(1).filter_map(marker).collect()
}

const MARKER: &str = "[call ";
const THEN: &str = "[then]";

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(names: &[&str]) -> Vec<Offered> {
        let parameters =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let tool = |name: &&str| Offered { name: (*name).into(), parameters: parameters.clone() };
        names.iter().map(tool).collect()
    }

    fn plan(said: &str, turn: usize, demand: &Demand) -> Vec<(String, String)> {
        let calls =
            Calls::plan(said, turn, &offered(&["a", "b"]), demand, &mut Prose::about("", 3));
        let call = |call: Call| (call.name, call.arguments);
        calls.map_or_else(Vec::new, |calls| calls.calls.into_iter().map(call).collect())
    }

    #[test]
    fn markers_name_the_calls_of_each_turn() {
        let said = "Do [call a {\"n\": 7}] and [call nobody] now. [then] [call b {\"x\": \"]ü\"}]";
        let call = |name: &str, input: &str| (name.to_owned(), input.to_owned());
        assert_eq!(
            plan(said, 0, &Demand::Nothing),
            [call("a", r#"{"n":7}"#), call("nobody", "{}")]
        );
        assert_eq!(plan(said, 1, &Demand::Nothing), [call("b", r#"{"x":"]ü"}"#)]);
        assert_eq!(plan(said, 2, &Demand::Nothing), []);
        assert_eq!(plan(said, 0, &Demand::Forbidden), []);
        assert_eq!(plan("[call ] [call", 0, &Demand::Nothing), []);
        let drawn = plan("[call a]", 0, &Demand::Nothing);
        assert!(serde_json::from_str::<Value>(&drawn[0].1).unwrap()["n"].is_i64());
    }

    #[test]
    fn what_is_not_named_is_drawn() {
        let any = plan("words", 5, &Demand::Any);
        assert!((1..=DRAWN_MAX).contains(&any.len()));
        assert_eq!(any, plan("words", 5, &Demand::Any), "from the seed alone");
        assert_eq!(plan("words", 0, &Demand::Named("b".into()))[0].0, "b");
        assert_eq!(plan("words", 0, &Demand::Nothing), []);
    }

    #[test]
    fn pieces_of_any_length_are_the_whole() {
        let said = "[call a {\"x\": \"äöü日本\"}] [call b {}]";
        let plan = || {
            let mut prose = Prose::about("", 3);
            Calls::plan(said, 0, &offered(&["a", "b"]), &Demand::Nothing, &mut prose).unwrap()
        };
        let whole = plan().first(usize::MAX);
        for bytes in 1..80 {
            let mut calls = plan();
            let mut sent: Vec<Value> = Vec::new();
            for _ in 0..80_usize.div_ceil(bytes) {
                for piece in calls.pieces(bytes).as_array().unwrap() {
                    let index = usize::try_from(piece["index"].as_u64().unwrap()).unwrap();
                    if let Some(call) = sent.get_mut(index) {
                        let text = call["function"]["arguments"].as_str().unwrap().to_owned();
                        let more = piece["function"]["arguments"].as_str().unwrap();
                        call["function"]["arguments"] = json!(text + more);
                    } else {
                        let mut call = piece.clone();
                        call.as_object_mut().unwrap().remove("index");
                        sent.push(call);
                    }
                }
            }
            assert_eq!(json!(sent), whole, "{bytes} bytes a piece");
        }
    }
}
