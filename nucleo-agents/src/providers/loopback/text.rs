//! What an answer says: words, JSON, or tool calls, by the token.
//!
//! Invariants: its length is known before its work begins; whole or in pieces it says the same.
//!
//! Not here: when it is sent (`serving`, `flow`), the bytes around it (`answer`).

use fastrand::Rng;
use serde_json::{Value, json};

use super::asked::Asked;
use super::calls::Calls;
use super::config::LoopbackModel;
use super::prose::Prose;
use super::schema;
use super::tokens::{BYTES_A_TOKEN, text_tokens};

/// Where it comes from.
#[derive(Debug)]
pub(super) enum Text {
    /// Made as it is sent.
    Prose(Prose),
    /// Made before: JSON.
    Ready { text: String, sent: usize },
    /// No words.
    Calls(Calls),
}

/// What will be said, how many tokens that is, and why it ends there.
pub(super) fn plan(
    model: &LoopbackModel,
    draws: &mut Rng,
    asked: &mut Asked,
) -> (Text, u64, &'static str) {
    let (least, most) = model.output_tokens;
    let drawn = draws.u64(least..=most);
    if let Some(calls) = asked.calls.take() {
        let whole = calls.tokens();
        let finish = if whole > asked.max_output { "length" } else { "tool_calls" };
        return (Text::Calls(calls), whole.min(asked.max_output), finish);
    }
    let mut prose = asked.prose.clone();
    let Some(wanted) = &asked.schema else {
        let wished = asked.output_wished.unwrap_or(drawn).max(1);
        let finish = if wished > asked.max_output { "length" } else { "stop" };
        return (Text::Prose(prose), wished.min(asked.max_output), finish);
    };
    let mut text = schema::satisfy(wanted, &mut prose).to_string();
    let wished =
        asked.output_wished.unwrap_or(0).min(asked.max_output).saturating_mul(BYTES_A_TOKEN);
    let padding = usize::try_from(wished).unwrap_or(usize::MAX).saturating_sub(text.len());
    // White space after a JSON value is part of no value: the length is met, the answer unchanged.
    text.extend(std::iter::repeat_n(' ', padding));
    let whole = text_tokens(text.len());
    let finish = if whole > asked.max_output { "length" } else { "stop" };
    (Text::Ready { text, sent: 0 }, whole.min(asked.max_output), finish)
}

impl Text {
    /// The delta of the next `tokens` of it.
    pub(super) fn delta(&mut self, tokens: u64) -> Value {
        match self {
            Self::Calls(calls) => json!({"tool_calls": calls.pieces(bytes_of(tokens))}),
            _ => json!({"content": self.words(tokens)}),
        }
    }

    /// The message of its first `tokens`.
    pub(super) fn message(&mut self, tokens: u64) -> Value {
        match self {
            Self::Calls(calls) => {
                let calls = calls.first(bytes_of(tokens));
                json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": calls})
            }
            _ => json!({"role": "assistant", "content": self.words(tokens), "refusal": null}),
        }
    }

    fn words(&mut self, tokens: u64) -> String {
        let bytes = bytes_of(tokens);
        match self {
            Self::Prose(prose) => prose.next(bytes),
            Self::Ready { text, sent } => {
                let end = sent.saturating_add(bytes).min(text.len());
                let piece = text[*sent..end].to_owned();
                *sent = end;
                piece
            }
            Self::Calls(_) => String::new(),
        }
    }
}

fn bytes_of(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(BYTES_A_TOKEN)).expect("fits in memory")
}
