//! A request by Anthropic's messages wire, as the chat request that it stands for.
//!
//! Invariants: the same conversation is the same request by either wire, so that it counts the same
//! tokens and is answered in the same words; lenient to what it does not know, strict about what it
//! needs. The output limit is needed here.
//!
//! Not here: what follows from it (`asked`).

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::asked::{
    BadRequest, Body, CallIn, CalledIn, ContentIn, FunctionIn, JsonSchema, MessageIn, PartIn,
    ResponseFormat, StreamOptions, ToolIn,
};

#[derive(Deserialize)]
struct Request {
    model: Option<String>,
    messages: Option<Vec<Turn>>,
    system: Option<Said>,
    max_tokens: Option<u64>,
    stream: Option<bool>,
    output_config: Option<OutputConfig>,
    tools: Option<Vec<Offer>>,
    tool_choice: Option<Choice>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: Option<Said>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Image {},
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Option<Said>,
        #[serde(default)]
        is_error: bool,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct OutputConfig {
    format: Option<JsonSchema>,
}

#[derive(Deserialize)]
struct Offer {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    input_schema: Value,
}

#[derive(Deserialize)]
struct Choice {
    r#type: String,
    name: Option<String>,
}

/// The chat request that `body` stands for.
pub(super) fn read(body: &[u8]) -> Result<Body, BadRequest> {
    let request: Request = serde_json::from_slice(body)
        .map_err(|_| BadRequest("the body is no messages request in JSON"))?;
    let max_tokens = request.max_tokens.ok_or(BadRequest("`max_tokens` is missing"))?;
    let turns = request.messages.ok_or(BadRequest("`messages` is missing"))?;
    if turns.is_empty() {
        return Err(BadRequest("`messages` must not be empty"));
    }
    let mut messages: Vec<_> = request.system.map_or_else(Vec::new, system);
    turns.into_iter().for_each(|turn| hear(turn, &mut messages));
    Ok(Body {
        model: request.model,
        messages: Some(messages),
        max_tokens: Some(max_tokens),
        max_completion_tokens: None,
        stream: request.stream,
        stream_options: Some(StreamOptions { include_usage: Some(true) }),
        response_format: request
            .output_config
            .and_then(|config| config.format)
            .map(|format| ResponseFormat { json_schema: Some(format) }),
        tools: request.tools.map(|offers| offers.into_iter().map(offer).collect()),
        tool_choice: request.tool_choice.map(choice),
    })
}

/// Each block of what the system says is a message of its own.
fn system(said: Said) -> Vec<MessageIn> {
    let text = |text| MessageIn { content: Some(ContentIn::Text(text)), ..message("system") };
    match said {
        Said::Text(words) => vec![text(words)],
        Said::Blocks(blocks) => blocks
            .into_iter()
            .filter_map(|block| match block {
                Block::Text { text } => Some(text),
                _ => None,
            })
            .map(text)
            .collect(),
    }
}

/// The messages of a turn: what each tool answered, then what was said.
fn hear(turn: Turn, messages: &mut Vec<MessageIn>) {
    let blocks = match turn.content {
        None => Vec::new(),
        Some(Said::Text(text)) => vec![Block::Text { text }],
        Some(Said::Blocks(blocks)) => blocks,
    };
    let (mut parts, mut calls, mut thoughts) = (Vec::new(), Vec::new(), None);
    let only_results =
        !blocks.is_empty() && blocks.iter().all(|block| matches!(block, Block::ToolResult { .. }));
    for block in blocks {
        match block {
            Block::Text { text } => parts.push(PartIn { text: Some(text), image_url: None }),
            Block::Image {} => parts.push(PartIn { text: None, image_url: Some(IgnoredAny) }),
            Block::ToolUse { id, name, input } => {
                let function = CalledIn { name, arguments: input.to_string() };
                calls.push(CallIn { id, function });
            }
            Block::ToolResult { tool_use_id, content, is_error } => {
                let text = content.map(text_of).unwrap_or_default();
                let text = if is_error { format!("Error: {text}") } else { text };
                let content = Some(ContentIn::Text(text));
                let tool_call_id = Some(tool_use_id);
                messages.push(MessageIn { content, tool_call_id, ..message("tool") });
            }
            Block::Thinking { thinking } => {
                thoughts.get_or_insert_with(String::new).push_str(&thinking);
            }
            Block::Other => {}
        }
    }
    if !only_results {
        messages.push(MessageIn {
            role: turn.role,
            content: Some(ContentIn::Parts(parts)),
            tool_call_id: None,
            reasoning_content: thoughts,
            tool_calls: (!calls.is_empty()).then_some(calls),
        });
    }
}

fn text_of(said: Said) -> String {
    match said {
        Said::Text(text) => text,
        Said::Blocks(blocks) => blocks
            .into_iter()
            .filter_map(|block| match block {
                Block::Text { text } => Some(text),
                _ => None,
            })
            .collect(),
    }
}

fn message(role: &str) -> MessageIn {
    MessageIn {
        role: role.to_owned(),
        content: None,
        tool_call_id: None,
        reasoning_content: None,
        tool_calls: None,
    }
}

fn offer(Offer { name, description, input_schema }: Offer) -> ToolIn {
    ToolIn { function: FunctionIn { name, description, parameters: input_schema } }
}

fn choice(Choice { r#type, name }: Choice) -> Value {
    match (&*r#type, name) {
        ("tool", Some(name)) => json!({"type": "function", "function": {"name": name}}),
        ("any", _) => json!("required"),
        (word, _) => json!(word),
    }
}
