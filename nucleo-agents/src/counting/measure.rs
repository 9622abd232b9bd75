//! The size of a text, in the figures that every family's estimate is made of.
//!
//! Invariants: one pass over the bytes, no allocation; sizes add up, message by message; the same
//! text always has the same size.
//!
//! The pieces follow how byte-pair vocabularies cut a text before they merge: a word with the blank
//! before it, a group of up to three digits, a run of punctuation, a run of blanks. Their weights,
//! in hundredths of a token, were fitted to the corpus that the parent module names.
//!
//! Not here: turning a size into tokens (`family`).

/// The size of a text or of a list of messages.
///
/// ```
/// use nucleo_agents::counting::{Family, TextSize};
/// let size = TextSize::of_message("Name a colour.").plus(&TextSize::of_message("Blue."));
/// assert_eq!(size.messages(), 2);
/// assert_eq!(Family::Loopback.tokens(&size), (4 + 4) + (2 + 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TextSize {
    bytes: u64,
    /// Units of four bytes, each message rounded up by itself.
    quads: u64,
    /// Weighted pieces, in hundredths of a token.
    pieces: u64,
    messages: u64,
    /// Tool calls and results.
    calls: u64,
    tools: u64,
    /// Forms of answers.
    forms: u64,
    images: u64,
}

/// A word, with the blank before it.
const WORD: u64 = 98;
/// A word that follows another without anything between, as the second in `camelCase`.
const JOINED_WORD: u64 = 42;
/// Each letter of a word past the sixth.
const LONG_LETTER: u64 = 30;
/// Up to three digits.
const DIGITS: u64 = 130;
/// A run of punctuation.
const PUNCTUATION: u64 = 107;
/// Each byte of such a run past the first.
const MORE_PUNCTUATION: u64 = 3;
/// A run of blanks with a line break in it.
const LINE_BREAK: u64 = 84;
/// A run of two blanks or more within a line.
const GAP: u64 = 141;
/// A byte of a character outside ASCII.
const WIDE_BYTE: u64 = 60;
/// A byte of none of these kinds: control characters.
const OTHER: u64 = 100;
/// Letters that a word has for the price of one.
const SHORT_WORD: usize = 6;

impl TextSize {
    /// The size of a bare text, which is no message.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_texts([text])
    }

    /// The size of texts that are counted as one.
    pub(super) fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut size = Self::default();
        for text in texts {
            size.bytes += text.len() as u64;
            size.pieces += pieces(text.as_bytes());
        }
        size.quads = size.bytes.div_ceil(4);
        size
    }

    /// The same, with units of four bytes that are rounded up once for all of its texts.
    pub(super) const fn rounded_once(self) -> Self {
        Self { quads: self.bytes.div_ceil(4), ..self }
    }

    /// The same as a message, with so many tool calls and results, and images.
    pub(super) const fn message(self, calls: u64, images: u64) -> Self {
        Self { messages: 1, calls, images, ..self }
    }

    /// The same as the form of an answer.
    pub(super) const fn form(self) -> Self {
        Self { forms: 1, ..self }
    }

    /// The same as a tool's definition.
    pub(super) const fn tool(self) -> Self {
        Self { tools: 1, ..self }
    }

    /// The size of one message.
    #[must_use]
    pub fn of_message(text: &str) -> Self {
        Self::of_text(text).message(0, 0)
    }

    /// The size of several messages.
    #[must_use]
    pub fn of_messages<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let add = |sum: Self, text| sum.plus(&Self::of_message(text));
        texts.into_iter().fold(Self::default(), add)
    }

    /// Both together.
    #[must_use]
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            quads: self.quads + other.quads,
            pieces: self.pieces + other.pieces,
            messages: self.messages + other.messages,
            calls: self.calls + other.calls,
            tools: self.tools + other.tools,
            forms: self.forms + other.forms,
            images: self.images + other.images,
        }
    }

    /// Bytes of text.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Messages.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Tool calls and results.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// Tools on offer.
    #[must_use]
    pub const fn tools(&self) -> u64 {
        self.tools
    }

    /// Forms that the answer must have.
    #[must_use]
    pub const fn forms(&self) -> u64 {
        self.forms
    }

    /// Images.
    #[must_use]
    pub const fn images(&self) -> u64 {
        self.images
    }

    /// Units of four bytes, each message rounded up by itself.
    pub(super) const fn quads(&self) -> u64 {
        self.quads
    }

    /// Weighted pieces, in hundredths of a token.
    pub(super) const fn pieces(&self) -> u64 {
        self.pieces
    }
}

/// The weights of all pieces of a text together.
fn pieces(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let rest = &bytes[at..];
        let (length, weight) = if first.is_ascii_alphabetic() {
            let length = word(rest);
            let joined = at > 0 && bytes[at - 1].is_ascii_alphabetic();
            let long = length.saturating_sub(SHORT_WORD) as u64 * LONG_LETTER;
            (length, long + if joined { JOINED_WORD } else { WORD })
        } else if first.is_ascii_digit() {
            let length = run(rest, u8::is_ascii_digit);
            (length, length.div_ceil(3) as u64 * DIGITS)
        } else if first.is_ascii_whitespace() {
            let length = run(rest, u8::is_ascii_whitespace);
            let breaks = rest[..length].contains(&b'\n');
            (length, if breaks { LINE_BREAK } else { u64::from(length > 1) * GAP })
        } else if first.is_ascii_punctuation() {
            let length = run(rest, u8::is_ascii_punctuation);
            (length, PUNCTUATION + (length as u64 - 1) * MORE_PUNCTUATION)
        } else if first.is_ascii() {
            (1, OTHER)
        } else {
            let length = run(rest, |byte| !byte.is_ascii());
            (length, length as u64 * WIDE_BYTE)
        };
        sum += weight;
        at += length;
    }
    sum
}

/// The bytes at the start that are of one kind.
fn run(bytes: &[u8], kind: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| kind(byte)).count()
}

/// The letters at the start that make one word: small ones after the first, or all capitals.
fn word(bytes: &[u8]) -> usize {
    let follows = |pair: &&[u8]| match pair[1] {
        b'a'..=b'z' => true,
        b'A'..=b'Z' => pair[0].is_ascii_uppercase(),
        _ => false,
    };
    1 + bytes.windows(2).take_while(follows).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_cut_as_told() {
        for (text, weight) in [
            ("", 0),
            ("word", WORD),
            (" word word", 2 * WORD),
            ("camelCase", WORD + JOINED_WORD),
            ("HTTPServer", WORD + 4 * LONG_LETTER),
            ("counting", WORD + 2 * LONG_LETTER),
            ("1234", 2 * DIGITS),
            ("a, b", 2 * WORD + PUNCTUATION),
            ("a::b", 2 * WORD + PUNCTUATION + MORE_PUNCTUATION),
            ("a\n\n  b", 2 * WORD + LINE_BREAK),
            ("a  b", 2 * WORD + GAP),
            ("\u{1}\u{2}", 2 * OTHER),
            ("日本", 6 * WIDE_BYTE),
        ] {
            assert_eq!(pieces(text.as_bytes()), weight, "{text:?}");
        }
    }

    #[test]
    fn every_byte_counts_and_none_stops_the_count() {
        for byte in 0..=u8::MAX {
            assert!(pieces(&[b'a', byte, byte, b'a']) > 0);
        }
    }
}
