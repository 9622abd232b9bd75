//! A chat request as the server reads it, boiled down to the little it needs.
//!
//! Invariants: lenient to fields it does not know, strict about what it needs; after this nothing
//! refers to the request's bytes, so a request under way costs a few hundred bytes.
//!
//! Not here: the answer (`answer`), quotas (`quota`).

use http::HeaderMap;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::asked_messages;
use super::calls::{Calls, Demand, Offered};
use super::deck::ODD;
use super::form::Form;
use super::prose::Prose;
use super::tokens::{TOKENS_A_MESSAGE, TOKENS_AN_IMAGE, text_tokens};
use crate::providers::over_http::{OUTPUT_TOKENS_HINT, TOOL_TURNS_HINT};
use crate::wire::Streaming;

/// What is wanted.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) form: Form,
    pub(super) model: String,
    pub(super) input_tokens: u64,
    pub(super) max_output: u64,
    pub(super) output_wished: Option<u64>,
    pub(super) streaming: Streaming,
    pub(super) usage_in_stream: UsageInStream,
    /// Of the question and the server's seed.
    pub(super) hash: u64,
    pub(super) prose: Prose,
    pub(super) schema: Option<Value>,
    /// The tools it is to be answered with, before any words.
    pub(super) calls: Option<Calls>,
    /// The last message, for marked faults; dropped before the work begins.
    pub(super) last_text: String,
}

/// Whether a streamed answer ends with its usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UsageInStream {
    Told,
    Untold,
}

/// A request that is no chat request: what is wrong, for a 400.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadRequest(pub(super) &'static str);

#[derive(Deserialize)]
pub(super) struct Body {
    pub(super) model: Option<String>,
    pub(super) messages: Option<Vec<MessageIn>>,
    pub(super) max_tokens: Option<u64>,
    pub(super) max_completion_tokens: Option<u64>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) response_format: Option<ResponseFormat>,
    pub(super) tools: Option<Vec<ToolIn>>,
    pub(super) tool_choice: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct ToolIn {
    pub(super) function: FunctionIn,
}

#[derive(Deserialize)]
pub(super) struct FunctionIn {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) parameters: Value,
}

#[derive(Deserialize)]
pub(super) struct MessageIn {
    pub(super) role: String,
    pub(super) content: Option<ContentIn>,
    pub(super) tool_call_id: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) tool_calls: Option<Vec<CallIn>>,
}

#[derive(Deserialize)]
pub(super) struct CallIn {
    pub(super) id: String,
    pub(super) function: CalledIn,
}

#[derive(Deserialize)]
pub(super) struct CalledIn {
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ContentIn {
    Text(String),
    Parts(Vec<PartIn>),
}

#[derive(Deserialize)]
pub(super) struct PartIn {
    pub(super) text: Option<String>,
    pub(super) image_url: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct ResponseFormat {
    pub(super) json_schema: Option<JsonSchema>,
}

#[derive(Deserialize)]
pub(super) struct JsonSchema {
    #[serde(default)]
    pub(super) name: String,
    pub(super) schema: Option<Value>,
}

impl Asked {
    /// What `body` asks.
    pub(super) fn read(
        form: Form,
        body: &[u8],
        headers: &HeaderMap,
        seed: u64,
    ) -> Result<Self, BadRequest> {
        let body = match form {
            Form::Chat => serde_json::from_slice(body)
                .map_err(|_| BadRequest("the body is no chat request in JSON"))?,
            Form::Messages => asked_messages::read(body)?,
        };
        Self::of(form, body, headers, seed)
    }

    fn of(form: Form, body: Body, headers: &HeaderMap, seed: u64) -> Result<Self, BadRequest> {
        let model = body.model.ok_or(BadRequest("`model` is missing"))?;
        let messages = body.messages.ok_or(BadRequest("`messages` is missing"))?;
        let max_output = body.max_completion_tokens.or(body.max_tokens).unwrap_or(OUTPUT_UNSTATED);
        if messages.is_empty() || max_output == 0 {
            return Err(BadRequest("`messages` and the output limit must not be empty or zero"));
        }
        let mut talk = Talk { hash: mix(seed, model.as_bytes()), ..Talk::default() };
        messages.into_iter().for_each(|message| talk.hear(message));
        let offered: Vec<_> =
            body.tools.into_iter().flatten().map(|tool| talk.offer(tool)).collect();
        let answer = body.response_format.and_then(|format| format.json_schema);
        talk.input_tokens += answer.as_ref().map_or(0, JsonSchema::tokens);
        let hinted =
            headers.get(TOOL_TURNS_HINT).and_then(|value| value.to_str().ok()?.parse().ok());
        let demand = talk.demand(body.tool_choice.as_ref(), hinted.unwrap_or(0));
        let Talk { hash, input_tokens, last_text, user_text, turns, .. } = talk;
        let prose = Prose::about(&last_text, hash);
        let calls = Calls::plan(&user_text, turns, &offered, &demand, &mut prose.clone());
        let wished = headers.get(OUTPUT_TOKENS_HINT).and_then(|value| value.to_str().ok());
        let told = body.stream_options.and_then(|options| options.include_usage) == Some(true);
        Ok(Self {
            form,
            model,
            input_tokens,
            max_output,
            output_wished: wished.and_then(|text| text.parse().ok()),
            streaming: if body.stream == Some(true) { Streaming::Pieces } else { Streaming::Whole },
            usage_in_stream: if told { UsageInStream::Told } else { UsageInStream::Untold },
            hash,
            prose,
            schema: answer.and_then(|answer| answer.schema),
            calls,
            last_text,
        })
    }
}

impl JsonSchema {
    fn tokens(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.to_string().len());
        text_tokens(self.name.len() + schema)
    }
}

/// A conversation as it is read.
#[derive(Default)]
struct Talk {
    hash: u64,
    input_tokens: u64,
    last_text: String,
    /// What the user said last.
    user_text: String,
    /// Turns of tool calls since then.
    turns: usize,
    /// And in all.
    turns_in_all: usize,
}

impl Talk {
    fn hear(&mut self, message: MessageIn) {
        let images = message.content.as_ref().map_or(0, ContentIn::images);
        let text = message.content.map(ContentIn::into_text).unwrap_or_default();
        self.hash = mix(mix(self.hash, message.role.as_bytes()), text.as_bytes());
        let mut bytes = text.len();
        let calls = message.tool_calls.unwrap_or_default();
        if message.role == "user" {
            (self.user_text, self.turns) = (text.clone(), 0);
        } else if !calls.is_empty() {
            self.turns += 1;
            self.turns_in_all += 1;
        }
        let of_calls = calls
            .into_iter()
            .flat_map(|call| [call.id, call.function.name, call.function.arguments]);
        let others = message.tool_call_id.into_iter().chain(message.reasoning_content);
        for more in of_calls.chain(others) {
            self.hash = mix(self.hash, more.as_bytes());
            bytes += more.len();
        }
        self.input_tokens += text_tokens(bytes) + TOKENS_A_MESSAGE + images * TOKENS_AN_IMAGE;
        self.last_text = text;
    }

    fn offer(&mut self, tool: ToolIn) -> Offered {
        let FunctionIn { name, description, parameters } = tool.function;
        let bytes = name.len() + description.len() + parameters.to_string().len();
        self.input_tokens += text_tokens(bytes) + TOKENS_A_MESSAGE;
        Offered { name, parameters }
    }

    fn demand(&self, choice: Option<&Value>, turns: usize) -> Demand {
        let named = choice.and_then(|choice| choice["function"]["name"].as_str());
        match (choice.and_then(Value::as_str), named) {
            (Some("none"), _) => Demand::Forbidden,
            (_, Some(name)) => Demand::Named(name.to_owned()),
            (Some("required"), _) => Demand::Any,
            _ if self.turns_in_all < turns => Demand::Any,
            _ => Demand::Nothing,
        }
    }
}

impl ContentIn {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }

    fn images(&self) -> u64 {
        match self {
            Self::Text(_) => 0,
            Self::Parts(parts) => {
                parts.iter().filter(|part| part.image_url.is_some()).count() as u64
            }
        }
    }
}

/// What a server allows when the request states no limit.
const OUTPUT_UNSTATED: u64 = 4_096;

/// Mixes `bytes` and their length into `state`, eight bytes at a time.
fn mix(state: u64, bytes: &[u8]) -> u64 {
    let step = |state: u64, word: u64| (state ^ word).wrapping_mul(ODD).rotate_left(29);
    let state = step(state, bytes.len() as u64);
    bytes.chunks(8).fold(state, |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        step(state, u64::from_le_bytes(word))
    })
}
