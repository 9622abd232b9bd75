//! One Rust file, taken apart: what is code, what is comment, what is test, line by line.
//!
//! A small lexer, not a parser: it knows comments, strings, raw strings, character literals and
//! lifetimes, so that a brace in a string counts as nothing. String contents are blanked in `code`
//! and still make a line count as code.
//!
//! Not here: what the checks demand (`sizes`, `imports`, `words`).

/// A file of the workspace; `path` is relative to its root, with forward slashes.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) lines: Vec<Line>,
}

/// One line, split into its code (strings blanked) and its comment text.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) code: String,
    pub(crate) comment: String,
    /// Something other than comment and white space stands here.
    pub(crate) is_code: bool,
    /// Inside an inline `#[cfg(test)] mod`.
    pub(crate) is_test: bool,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let mut lines = Lexer::new(text).run();
        mark_inline_tests(&mut lines);
        Self { path: path.to_owned(), lines }
    }

    /// The whole file is a test, a bench or an example.
    pub(crate) fn is_test_file(&self) -> bool {
        let in_folder = ["/tests/", "/benches/", "/examples/"];
        self.path.starts_with("examples/")
            || in_folder.iter().any(|folder| self.path.contains(folder))
            || self.file_name() == "tests.rs"
            || self.path.ends_with("_tests.rs")
    }

    pub(crate) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn code_lines(&self) -> usize {
        self.lines.iter().filter(|line| line.is_code).count()
    }
}

/// The line that closes the first brace opened at or after `(line, column)`.
///
/// `None` when a semicolon outside brackets comes first (a declaration), or the file ends.
pub(crate) fn closing_line(lines: &[Line], line: usize, column: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (number, text) in lines.iter().enumerate().skip(line) {
        let skip = if number == line { column } else { 0 };
        for character in text.code.chars().skip(skip) {
            match character {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                '{' => braces += 1,
                '}' => {
                    braces = braces.checked_sub(1)?;
                    if braces == 0 {
                        return Some(number);
                    }
                }
                ';' if braces == 0 && brackets == 0 => return None,
                _ => {}
            }
        }
    }
    None
}

fn mark_inline_tests(lines: &mut [Line]) {
    for start in 0..lines.len() {
        let attribute = lines[start].code.trim();
        if !attribute.starts_with("#[cfg(test)]") && !attribute.starts_with("#[cfg(all(test") {
            continue;
        }
        let Some(end) = closing_line(lines, start, 0) else {
            continue;
        };
        for line in &mut lines[start..=end] {
            line.is_test = true;
        }
    }
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    /// How many block comments are open.
    BlockComment(usize),
    Text,
    /// How many `#` close the raw string.
    RawText(usize),
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
    state: State,
    line: Line,
    lines: Vec<Line>,
}

impl Lexer {
    fn new(text: &str) -> Self {
        let characters = text.chars().collect();
        Self { characters, at: 0, state: State::Code, line: Line::default(), lines: Vec::new() }
    }

    fn run(mut self) -> Vec<Line> {
        while let Some(character) = self.peek(0) {
            if character == '\n' {
                self.end_line();
                self.at += 1;
                continue;
            }
            match self.state {
                State::Code => self.code(character),
                State::LineComment => self.comment(character),
                State::BlockComment(depth) => self.block_comment(character, depth),
                State::Text => self.text(character),
                State::RawText(hashes) => self.raw_text(character, hashes),
            }
        }
        if !self.line.code.is_empty() || !self.line.comment.is_empty() {
            self.end_line();
        }
        self.lines
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn end_line(&mut self) {
        if matches!(self.state, State::LineComment) {
            self.state = State::Code;
        }
        self.lines.push(std::mem::take(&mut self.line));
    }

    fn code(&mut self, character: char) {
        match (character, self.peek(1)) {
            ('/', Some('/')) => self.enter(State::LineComment, 0),
            ('/', Some('*')) => self.enter(State::BlockComment(1), 2),
            ('"', _) => {
                self.push('"');
                self.enter(State::Text, 1);
            }
            ('r', Some('"' | '#')) if self.raw_text_hashes().is_some() => {
                let hashes = self.raw_text_hashes().expect("the guard found a raw string");
                self.push('"');
                self.enter(State::RawText(hashes), hashes + 2);
            }
            ('\'', _) => self.quote(),
            _ => {
                self.push(character);
                self.at += 1;
            }
        }
    }

    fn enter(&mut self, state: State, consumed: usize) {
        self.state = state;
        self.at += consumed;
    }

    fn push(&mut self, character: char) {
        self.line.is_code |= !character.is_whitespace();
        self.line.code.push(character);
    }

    fn comment(&mut self, character: char) {
        self.line.comment.push(character);
        self.at += 1;
    }

    fn block_comment(&mut self, character: char, depth: usize) {
        match (character, self.peek(1)) {
            ('*', Some('/')) if depth == 1 => self.enter(State::Code, 2),
            ('*', Some('/')) => self.enter(State::BlockComment(depth - 1), 2),
            ('/', Some('*')) => self.enter(State::BlockComment(depth + 1), 2),
            _ => self.comment(character),
        }
    }

    fn text(&mut self, character: char) {
        match (character, self.peek(1)) {
            ('"', _) => {
                self.push('"');
                self.enter(State::Code, 1);
            }
            // An escaped line end still ends the line.
            ('\\', Some(escaped)) if escaped != '\n' => self.blank(2),
            _ => self.blank(1),
        }
    }

    fn raw_text(&mut self, character: char, hashes: usize) {
        let closes = character == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'));
        if closes {
            self.push('"');
            self.enter(State::Code, hashes + 1);
        } else {
            self.blank(1);
        }
    }

    /// Skips `consumed` characters of a literal; they count as code without being any.
    fn blank(&mut self, consumed: usize) {
        self.line.is_code |= self.peek(0).is_some_and(|character| !character.is_whitespace());
        self.line.code.push(' ');
        self.at += consumed;
    }

    /// `r"` and `r#"` open a raw string unless the `r` ends a longer word (`br"` is one, too).
    fn raw_text_hashes(&self) -> Option<usize> {
        let is_word = |character: char| character.is_alphanumeric() || character == '_';
        let mut before = self.characters[..self.at].iter().rev().copied();
        let prefix = before.next().filter(|character| is_word(*character));
        let starts_word = match prefix {
            None => true,
            Some('b' | 'c') => !before.next().is_some_and(is_word),
            Some(_) => false,
        };
        let hashes = self.characters[self.at + 1..].iter().take_while(|c| **c == '#').count();
        (starts_word && self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    /// A character literal is blanked; a lifetime is code.
    fn quote(&mut self) {
        let length = match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                let rest = self.characters[self.at + 3..].iter();
                rest.take_while(|c| **c != '\'').count() + 4
            }
            (Some(_), Some('\'')) => 3,
            _ => 1,
        };
        self.push('\'');
        self.at += length;
    }
}
