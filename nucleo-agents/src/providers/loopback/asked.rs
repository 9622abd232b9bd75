//! A chat request as the server reads it, boiled down to the little it needs.
//!
//! Invariants: lenient to fields it does not know, strict about what it needs; after this nothing
//! refers to the request's bytes, so a request under way costs a few hundred bytes.
//!
//! Not here: the answer (`answer`), quotas (`quota`).

use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::deck::ODD;
use super::prose::Prose;
use super::tokens::{TOKENS_A_MESSAGE, text_tokens};
use crate::providers::openai::OUTPUT_TOKENS_HINT;
use crate::wire::Streaming;

/// What is wanted.
#[derive(Debug)]
pub(super) struct Asked {
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
struct Body {
    model: Option<String>,
    messages: Option<Vec<MessageIn>>,
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    response_format: Option<ResponseFormat>,
}

#[derive(Deserialize)]
struct MessageIn {
    role: String,
    content: Option<ContentIn>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ContentIn {
    Text(String),
    Parts(Vec<PartIn>),
}

#[derive(Deserialize)]
struct PartIn {
    text: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct ResponseFormat {
    json_schema: Option<JsonSchema>,
}

#[derive(Deserialize)]
struct JsonSchema {
    schema: Option<Value>,
}

impl Asked {
    /// What `body` asks.
    pub(super) fn read(body: &[u8], headers: &HeaderMap, seed: u64) -> Result<Self, BadRequest> {
        let body: Body = serde_json::from_slice(body)
            .map_err(|_| BadRequest("the body is no chat request in JSON"))?;
        let model = body.model.ok_or(BadRequest("`model` is missing"))?;
        let messages = body.messages.ok_or(BadRequest("`messages` is missing"))?;
        let max_output = body.max_completion_tokens.or(body.max_tokens).unwrap_or(OUTPUT_UNSTATED);
        if messages.is_empty() || max_output == 0 {
            return Err(BadRequest("`messages` and the output limit must not be empty or zero"));
        }
        let mut hash = mix(seed, model.as_bytes());
        let mut input_tokens = 0;
        let mut last_text = String::new();
        for message in messages {
            last_text = message.content.map(ContentIn::into_text).unwrap_or_default();
            input_tokens += text_tokens(last_text.len()) + TOKENS_A_MESSAGE;
            hash = mix(mix(hash, message.role.as_bytes()), last_text.as_bytes());
        }
        let wished = headers.get(OUTPUT_TOKENS_HINT).and_then(|value| value.to_str().ok());
        let told = body.stream_options.and_then(|options| options.include_usage) == Some(true);
        Ok(Self {
            model,
            input_tokens,
            max_output,
            output_wished: wished.and_then(|text| text.parse().ok()),
            streaming: if body.stream == Some(true) { Streaming::Pieces } else { Streaming::Whole },
            usage_in_stream: if told { UsageInStream::Told } else { UsageInStream::Untold },
            hash,
            prose: Prose::about(&last_text, hash),
            schema: body.response_format.and_then(|format| format.json_schema?.schema),
            last_text,
        })
    }
}

impl ContentIn {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
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
