//! Plain sentences made of the question's own words, of an exact length.
//!
//! Invariants: the text follows from the words and the seed alone; it is ASCII, so bytes are
//! characters and a token is four of them; what is kept of a question is a few short words, so
//! thousands of answers under way stay small.
//!
//! Not here: JSON answers (`schema`).

use fastrand::Rng;

/// A source of sentences.
#[derive(Clone, Debug)]
pub(super) struct Prose {
    words: Vec<Box<str>>,
    rng: Rng,
    ready: String,
    left_in_sentence: u8,
}

impl Prose {
    /// Sentences of the words of `question`.
    pub(super) fn about(question: &str, seed: u64) -> Self {
        let mut words: Vec<Box<str>> = Vec::new();
        for word in question.split(|c: char| !c.is_ascii_alphanumeric()).take(LOOKED_AT_MAX) {
            let word = word.to_ascii_lowercase();
            let usable = (2..=16).contains(&word.len());
            if usable && words.len() < KEPT_MAX && !words.iter().any(|kept| **kept == *word) {
                words.push(word.into());
            }
        }
        if words.is_empty() {
            words.extend(["this", "is", "an", "answer"].map(Into::into));
        }
        Self { words, rng: Rng::with_seed(seed), ready: String::new(), left_in_sentence: 0 }
    }

    /// The next `bytes` of it.
    pub(super) fn next(&mut self, bytes: usize) -> String {
        while self.ready.len() < bytes {
            self.add_word();
        }
        let rest = self.ready.split_off(bytes);
        std::mem::replace(&mut self.ready, rest)
    }

    /// One word, for a field of a JSON answer.
    pub(super) fn word(&mut self) -> &str {
        let place = self.rng.usize(0..self.words.len());
        &self.words[place]
    }

    pub(super) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    fn add_word(&mut self) {
        let opens = self.left_in_sentence == 0;
        if opens {
            self.left_in_sentence = self.rng.u8(4..12);
        }
        let place = self.rng.usize(0..self.words.len());
        let word = &self.words[place];
        if opens {
            let (first, rest) = word.split_at(1);
            self.ready.push_str(&first.to_ascii_uppercase());
            self.ready.push_str(rest);
        } else {
            self.ready.push_str(word);
        }
        self.left_in_sentence -= 1;
        self.ready.push_str(if self.left_in_sentence == 0 { ". " } else { " " });
    }
}

const LOOKED_AT_MAX: usize = 400;
const KEPT_MAX: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_the_same_however_it_is_cut() {
        let whole = Prose::about("Why is the sky blue?", 3).next(400);
        let mut cut = Prose::about("Why is the sky blue?", 3);
        let pieces: String = (0..40).map(|_| cut.next(10)).collect();
        assert_eq!(whole, pieces);
        assert_ne!(whole, Prose::about("Why is the sky blue?", 4).next(400));
        assert!(whole.contains("sky") && whole.is_ascii());
    }

    #[test]
    fn a_question_without_words_is_answered_too() {
        assert_eq!(Prose::about("¿… ñ?", 1).next(64).len(), 64);
    }
}
