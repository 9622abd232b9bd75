//! Tool calls that come back: whole, or in pieces that are put together by their index.
//!
//! Servers differ in how they number the pieces. Most tell id and name once and send the arguments in
//! pieces under one index; some leave the index out, some send all calls under the same one and tell
//! them apart by id and name, some send a fresh id with every piece. So a piece begins a call when
//! its index is new, or when it has both a name and an id that the call there does not have; any
//! other piece goes on with the call there.
//!
//! Invariants: a call is whole or it is none: what has no id, no name or no JSON as arguments is told
//! by name; after the output limit such a call was cut, and is left out. Arguments that are absent or
//! null are an empty object, as of a tool that takes none.
//!
//! Not here: whether the arguments fit the tool (`tool`).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::{Stop, ToolCall};

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(super) struct CallIn {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionIn>,
}

#[derive(Deserialize)]
struct FunctionIn {
    name: Option<String>,
    /// JSON in a string; of some servers the JSON itself.
    arguments: Option<Value>,
}

/// The calls of an answer, as far as they have come.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Partial>,
    /// Which call a piece of this index goes on with.
    places: std::collections::BTreeMap<u64, usize>,
}

#[derive(Default)]
struct Partial {
    id: String,
    name: String,
    arguments: Arguments,
}

enum Arguments {
    Text(String),
    Whole(Value),
}

impl Calls {
    /// The calls of a whole answer: each of the list is one.
    pub(super) fn whole(calls: impl IntoIterator<Item = CallIn>) -> Self {
        let mut all = Self::default();
        for call in calls {
            all.calls.push(Partial::default());
            all.add(all.calls.len() - 1, call);
        }
        all
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes a piece of a stream.
    pub(super) fn take(&mut self, piece: CallIn) {
        let known = match piece.index {
            Some(index) => self.places.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let place = match known {
            Some(place) if !self.calls[place].is_followed_by(&piece) => place,
            _ => {
                self.calls.push(Partial::default());
                self.calls.len() - 1
            }
        };
        if let Some(index) = piece.index {
            self.places.insert(index, place);
        }
        self.add(place, piece);
    }

    fn add(&mut self, place: usize, piece: CallIn) {
        let call = &mut self.calls[place];
        let FunctionIn { name, arguments } =
            piece.function.unwrap_or(FunctionIn { name: None, arguments: None });
        if let Some(id) = piece.id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let Some(name) = name.filter(|_| call.name.is_empty()) {
            call.name = name;
        }
        match (arguments, &mut call.arguments) {
            (None | Some(Value::Null), _) => {}
            (Some(Value::String(piece)), Arguments::Text(text)) => text.push_str(&piece),
            (Some(piece), arguments) => *arguments = Arguments::Whole(piece),
        }
    }

    /// All of them, or the essential that one lacks.
    pub(super) fn finish(self, stop: &Stop) -> Result<Vec<ToolCall>, &'static str> {
        let calls = self.calls.into_iter().map(Partial::finish);
        if *stop == Stop::OutputLimit {
            return Ok(calls.filter_map(Result::ok).collect());
        }
        calls.collect()
    }
}

impl Partial {
    /// Whether a piece under the same index is the beginning of another call.
    fn is_followed_by(&self, piece: &CallIn) -> bool {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.as_ref().and_then(|function| function.name.as_deref());
        let begins = !id.is_empty() && !name.unwrap_or_default().is_empty();
        begins && !self.id.is_empty() && self.id != id
    }

    fn finish(self) -> Result<ToolCall, &'static str> {
        if self.name.is_empty() {
            return Err("`name` in a tool call");
        }
        if self.id.is_empty() {
            return Err("`id` in a tool call");
        }
        let arguments = match self.arguments {
            Arguments::Whole(arguments) => arguments,
            Arguments::Text(text) if text.trim().is_empty() => Value::Null,
            Arguments::Text(text) => serde_json::from_str(&text)
                .map_err(|_| "valid JSON in the `arguments` of a tool call")?,
        };
        let arguments = if arguments.is_null() { Value::Object(Map::new()) } else { arguments };
        Ok(ToolCall::new(self.id, self.name, arguments))
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}
