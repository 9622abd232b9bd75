//! Families of vocabularies: from the size of a text to tokens.
//!
//! Invariants: a family is a pure function of the size; it never returns less for more pieces; the
//! overhead of messages is part of it.
//!
//! Not here: measuring (`measure`), which family an entry has (`catalog`: its provider's kind, or
//! its `counter`).

use std::fmt;

use serde::Serialize;

use super::TextSize;

/// A family of vocabularies that count alike.
///
/// ```
/// use nucleo_agents::counting::{Family, count};
/// assert_eq!(count(Family::Loopback, "Blue whales sing."), 5);
/// assert!(count(Family::Openai, "Blue whales sing.") >= 4);
/// assert_eq!(count(Family::Bytes, "Blue"), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Family {
    /// OpenAI's vocabularies: measured.
    Openai,
    /// Anthropic's: not published, the measure with a quarter on top.
    Anthropic,
    /// Any other byte-pair vocabulary: not measured, the same quarter on top.
    Other,
    /// The loopback server's own rule, exact: a token per four bytes begun, four per message and per
    /// tool, none for the form of an answer, a thousand per image.
    Loopback,
    /// A token a byte: a bound for every vocabulary that is built on bytes.
    Bytes,
}

/// Tokens of one message's frame: role, separators. OpenAI's is three, and one for a name.
const MESSAGE: u64 = 4;
/// Tokens of a request's frame: the reply is primed with three.
const REQUEST: u64 = 3;
/// Tokens around a tool call or a result.
const CALL: u64 = 12;
/// Tokens around a tool's definition, or the form of an answer.
const TOOL: u64 = 12;
/// What tells the model how to call tools, once a request that has any.
const TOOLS_OPENAI: u64 = 24;
/// Anthropic's is 159 to 530 tokens in the vendor's own table, by model and choice, and was seen at
/// 935; others have theirs in a template.
const TOOLS_OTHER: u64 = 1_000;
/// The same where the form of an answer becomes the one tool that must be called: 235 to 340 tokens.
const FORM_ANTHROPIC: u64 = 350;
/// What families that nobody measured get on top, in hundredths.
const UNMEASURED: u64 = 125;

impl Family {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Openai, Self::Anthropic, Self::Other, Self::Loopback, Self::Bytes];

    /// The word used in catalogs, as in `counter = "loopback"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Other => "other",
            Self::Loopback => "loopback",
            Self::Bytes => "bytes",
        }
    }

    /// Tokens of a text or of a request of this size, all frames included.
    #[must_use]
    pub const fn tokens(self, size: &TextSize) -> u64 {
        let text = match self {
            Self::Openai => size.pieces().div_ceil(100),
            Self::Anthropic | Self::Other => (size.pieces() * UNMEASURED).div_ceil(10_000),
            Self::Loopback => size.quads(),
            Self::Bytes => size.bytes(),
        };
        text + self.frames(size) + size.images() * self.image()
    }

    /// What an image costs at most.
    ///
    /// `openai`: 1,536 patches at 2.46 tokens, its dearest model of that kind; those that count tiles
    /// stay below, but for `gpt-4o-mini`, which charges up to 48,169: give it `counter = "bytes"`.
    /// `anthropic`: 4,784 patches, what its finest models see. `other`: four tiles of 1,601, the most
    /// that open models are known to take. `bytes`: the most of all these.
    #[must_use]
    pub const fn image(self) -> u64 {
        match self {
            Self::Openai => 3_800,
            Self::Anthropic => 4_800,
            Self::Other => 6_500,
            Self::Loopback => 1_000,
            Self::Bytes => 48_200,
        }
    }

    /// Tokens of what stands around the texts.
    const fn frames(self, size: &TextSize) -> u64 {
        let messages = size.messages() * MESSAGE;
        if let Self::Loopback = self {
            return messages + size.tools() * MESSAGE;
        }
        let request = if size.messages() > 0 { REQUEST } else { 0 };
        let instruction = match (self, size.tools(), size.forms()) {
            (_, 0, 0) | (Self::Openai | Self::Other, 0, _) => 0,
            (Self::Openai, _, _) => TOOLS_OPENAI,
            (_, 0, _) => FORM_ANTHROPIC,
            (_, _, _) => TOOLS_OTHER,
        };
        let framed = size.calls() * CALL + (size.tools() + size.forms()) * TOOL;
        messages + request + framed + instruction
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Tokens of a bare text.
#[must_use]
pub fn count(family: Family, text: &str) -> u64 {
    family.tokens(&TextSize::of_text(text))
}

/// Tokens of a request with these messages, frames included.
///
/// ```
/// use nucleo_agents::counting::{Family, count_messages};
/// assert_eq!(count_messages(Family::Loopback, ["12345", "1"]), (2 + 4) + (1 + 4));
/// ```
#[must_use]
pub fn count_messages<'a>(family: Family, texts: impl IntoIterator<Item = &'a str>) -> u64 {
    family.tokens(&TextSize::of_messages(texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of our own with their o200k and cl100k counts, the larger of the two.
    const COUNTED: &[(&str, u64)] = &[
        (include_str!("corpus/prose.md"), 258),
        (include_str!("corpus/code.rs.txt"), 207),
        (include_str!("corpus/table.csv"), 126),
        (include_str!("corpus/record.json"), 115),
    ];

    #[test]
    fn the_estimate_errs_high_by_a_fifth_at_most() {
        for (text, counted) in COUNTED {
            let found = count(Family::Openai, text);
            assert!(found >= *counted, "{found} for {counted}: {text:.40}");
            assert!(found * 100 <= counted * 120, "{found} for {counted}: {text:.40}");
        }
    }

    #[test]
    fn families_that_nobody_measured_get_a_quarter_on_top() {
        let text = "The quick brown fox jumps over the lazy dog. ".repeat(100);
        let measured = count(Family::Openai, &text);
        assert_eq!(count(Family::Anthropic, &text), (measured * 5).div_ceil(4));
        assert_eq!(count(Family::Other, &text), count(Family::Anthropic, &text));
        assert!(count(Family::Bytes, &text) > 3 * measured);
    }

    #[cfg(feature = "loopback")]
    #[test]
    fn the_loopbacks_rule_is_the_servers_own() {
        use crate::providers::loopback::count_tokens;
        let texts = ["", "1234", "12345", "äöü", "日本語のテキスト"];
        for end in 0..=texts.len() {
            let texts = || texts[..end].iter().copied();
            assert_eq!(count_messages(Family::Loopback, texts()), count_tokens(texts()));
        }
    }

    #[test]
    fn nothing_costs_nothing_and_an_empty_message_its_frame() {
        for family in Family::ALL {
            assert_eq!(count(family, ""), 0);
        }
        assert_eq!(count_messages(Family::Loopback, [""]), 4);
        assert_eq!(count_messages(Family::Openai, [""]), 7);
    }
}
