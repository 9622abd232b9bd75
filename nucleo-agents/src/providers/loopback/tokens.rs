//! The loopback's own way to count tokens, and a prompt of a wanted count.
//!
//! Invariants: a stated function of the bytes alone, so that a test can say beforehand what a call
//! will use; `prompt_of_tokens(n)` counts exactly `n` for every `n` above [`TOKENS_A_MESSAGE`].
//!
//! Not here: estimates for real vocabularies (`counting`).

/// What a message costs beside its text.
pub const TOKENS_A_MESSAGE: u64 = 4;

/// What an image costs, whatever its size.
pub const TOKENS_AN_IMAGE: u64 = 1_000;

/// The input tokens of messages with these texts: of each, its bytes / 4 rounded up, and
/// [`TOKENS_A_MESSAGE`].
///
/// ```
/// use nucleo_agents::providers::loopback::count_tokens;
/// assert_eq!(count_tokens(["four", "five5"]), (1 + 4) + (2 + 4));
/// ```
#[must_use]
pub fn count_tokens<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    texts.into_iter().map(|text| text_tokens(text.len()) + TOKENS_A_MESSAGE).sum()
}

/// The tokens of a text of so many bytes, as output.
pub(super) const fn text_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_A_TOKEN)
}

/// A text that, as the only message, counts `tokens` input tokens; the empty text, which counts
/// [`TOKENS_A_MESSAGE`], when fewer are wanted. `number` makes texts of one length differ.
///
/// ```
/// use nucleo_agents::providers::loopback::{count_tokens, prompt_of_tokens};
/// for tokens in [5, 6, 100, 12_345] {
///     assert_eq!(count_tokens([&*prompt_of_tokens(tokens, 7)]), tokens);
/// }
/// ```
#[must_use]
pub fn prompt_of_tokens(tokens: u64, number: u64) -> String {
    let bytes = tokens.saturating_sub(TOKENS_A_MESSAGE).saturating_mul(BYTES_A_TOKEN);
    let bytes = usize::try_from(bytes).expect("a prompt that fits in memory");
    let mut text = format!("row {number} ");
    text.reserve_exact(bytes.saturating_sub(text.len()));
    while text.len() < bytes {
        text.push_str(FILLER);
    }
    text.truncate(bytes);
    text
}

const FILLER: &str =
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor ";
pub(super) const BYTES_A_TOKEN: u64 = 4;
