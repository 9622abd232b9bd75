//! The size of a request: its messages and the tools it offers.
//!
//! What counts as text: of a message its texts, of a call id, name and input as JSON, of a result the
//! id and what the model reads, of reasoning its JSON; of a tool its name, description and schema as
//! JSON; of the form of an answer its name and schema. Each tool result is a message by itself, because it is on most wires. An image counts by the
//! piece: what it costs depends on its pixels, which nobody here looks at, so each family has one
//! figure, what the largest image costs there.
//!
//! Invariants: whatever is sent is counted, once; more of anything never makes a size less.
//!
//! Not here: from sizes to tokens (`family`).

use super::TextSize;
use crate::wire::{Message, Part, ResponseSchema, ToolSpec};

impl TextSize {
    /// The size of a request with these messages and tools, and without a form for the answer
    /// ([`TextSize::with_schema`]).
    ///
    /// ```
    /// use nucleo_agents::counting::{Family, TextSize};
    /// use nucleo_agents::wire::{Message, Part, Role, ToolResult};
    /// let image = Message::of(Role::User, [Part::text("What is it?"), Part::image_url("http://h")]);
    /// let size = TextSize::of_request(&[image], &[]);
    /// assert_eq!(Family::Loopback.tokens(&size), 1_000 + 3 + 4);
    /// let results = [ToolResult::found("c1", "12345"), ToolResult::found("c2", "1")];
    /// let size = TextSize::of_request(&[Message::tool_results(results)], &[]);
    /// assert_eq!(Family::Loopback.tokens(&size), (2 + 4) + (1 + 4));
    /// ```
    #[must_use]
    pub fn of_request(messages: &[Message], tools: &[ToolSpec]) -> Self {
        let messages = messages.iter().map(of_message);
        let tools = tools.iter().map(of_tool);
        messages.chain(tools).fold(Self::default(), |sum, size| sum.plus(&size))
    }

    /// The same with a form that the answer must have: providers show it to the model, and bill it.
    #[must_use]
    pub fn with_schema(&self, schema: &ResponseSchema) -> Self {
        let text = Self::of_texts([&*schema.name, &*schema.schema.to_string()]);
        self.plus(&text.form())
    }
}

fn of_message(message: &Message) -> TextSize {
    let mut sum = TextSize::default();
    let mut said = TextSize::default();
    let (mut calls, mut images, mut results) = (0, 0, 0);
    for part in message.parts() {
        let size = match part {
            Part::Text(text) => TextSize::of_text(text),
            Part::ToolCall(call) => {
                calls += 1;
                TextSize::of_texts([&*call.id, &*call.name, &*call.arguments.to_string()])
            }
            Part::Reasoning(reasoning) => TextSize::of_text(&reasoning.data.to_string()),
            Part::Image(_) => {
                images += 1;
                continue;
            }
            Part::ToolResult(result) => {
                results += 1;
                let texts = TextSize::of_texts([&*result.id, &*result.as_text()]);
                sum = sum.plus(&texts.message(1, 0));
                continue;
            }
        };
        said = said.plus(&size);
    }
    if results < message.parts().len() || results == 0 {
        sum = sum.plus(&said.rounded_once().message(calls, images));
    }
    sum
}

fn of_tool(tool: &ToolSpec) -> TextSize {
    let parameters = tool.parameters.to_string();
    TextSize::of_texts([&*tool.name, &*tool.description, &*parameters]).tool()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Family;
    use super::*;
    use crate::wire::{Reasoning, Role, ToolCall, ToolResult};

    fn tokens(family: Family, messages: &[Message]) -> u64 {
        family.tokens(&TextSize::of_request(messages, &[]))
    }

    #[test]
    fn plain_messages_count_as_their_texts() {
        let texts = ["", "12345", "1", "日本"];
        let messages = texts.map(Message::user);
        let size = TextSize::of_request(&messages, &[]);
        assert_eq!(size, TextSize::of_messages(texts));
        let parts = Message::of(Role::User, [Part::text("123"), Part::text("45")]);
        assert_eq!(tokens(Family::Loopback, &[parts]), 2 + 4, "rounded up once");
    }

    #[test]
    fn every_part_counts_in_every_family() {
        let call = ToolCall::new("id", "name", json!({"a": 1}));
        let plain = Message::of(Role::Assistant, [Part::text("text")]);
        for more in [
            Part::text("more"),
            Part::from(call),
            ToolResult::found("id", "found").into(),
            Reasoning::new("by", json!("thought")).into(),
            Part::image_url("u"),
        ] {
            let longer = Message::of(Role::Assistant, [Part::text("text"), more.clone()]);
            for family in Family::ALL {
                let counted = tokens(family, std::slice::from_ref(&longer));
                assert!(
                    counted > tokens(family, std::slice::from_ref(&plain)),
                    "{family} {more:?}"
                );
            }
        }
    }

    #[test]
    fn an_error_counts_as_it_is_sent() {
        let found = Message::tool_results([ToolResult::found("", "12345")]);
        let error = Message::tool_results([ToolResult::error("", "12345")]);
        assert_eq!(tokens(Family::Loopback, &[found]), 2 + 4);
        assert_eq!(tokens(Family::Loopback, &[error]), 3 + 4, "`Error: ` is seven bytes");
    }

    #[test]
    fn the_form_of_an_answer_counts() {
        let schema = ResponseSchema { name: "n".into(), schema: json!({"a": 1}).into() };
        let plain = TextSize::of_request(&[Message::user("1234")], &[]);
        let size = plain.with_schema(&schema);
        assert_eq!(Family::Loopback.tokens(&size), Family::Loopback.tokens(&plain) + 2);
        for family in Family::ALL {
            assert!(family.tokens(&size) > family.tokens(&plain), "{family}");
        }
    }

    #[test]
    fn tools_count_beside_messages() {
        let tool = ToolSpec::new("name", "what it does", json!({"type": "object"}));
        let size = TextSize::of_request(&[Message::user("1234")], &[tool.clone(), tool.clone()]);
        let each = (tool.bytes() as u64).div_ceil(4) + 4;
        assert_eq!(Family::Loopback.tokens(&size), 1 + 4 + 2 * each);
        assert_eq!((size.messages(), size.tools()), (1, 2));
    }
}
