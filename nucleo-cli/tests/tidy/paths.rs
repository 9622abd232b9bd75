//! Every path that a file names: `use` trees spelled out, and `a::b` where it stands in code.
//!
//! Comments and strings are not seen (the lexer took them out), so an example in a doc comment may
//! name what the code may not. Aliases are dropped: `use a::b as c` names `a::b`.
//!
//! Not here: which paths are allowed (`imports`).

use crate::source::Source;

/// A path as written, and the line (from 0) it starts at.
#[derive(Debug, PartialEq)]
pub(crate) struct Named {
    pub(crate) line: usize,
    pub(crate) segments: Vec<String>,
}

impl Named {
    pub(crate) fn starts_with(&self, prefix: &[&str]) -> bool {
        self.segments.len() >= prefix.len()
            && self.segments.iter().zip(prefix).all(|(segment, wanted)| segment == wanted)
    }

    pub(crate) fn root(&self) -> &str {
        &self.segments[0]
    }

    /// The first segment that is not `crate`, `self` or `super`.
    pub(crate) fn first_module(&self) -> Option<&str> {
        let is_anchor = |segment: &str| matches!(segment, "crate" | "self" | "super");
        is_anchor(self.root())
            .then(|| self.segments.iter().map(String::as_str).find(|s| !is_anchor(s)))
            .flatten()
    }

    pub(crate) fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// All paths of `source`, in the order they stand there.
pub(crate) fn named_in(source: &Source) -> Vec<Named> {
    Reader { tokens: tokens(source), at: 0, named: Vec::new() }.run()
}

#[derive(Debug, PartialEq)]
enum Token {
    Word(String),
    Joint,
    Mark(char),
}

fn tokens(source: &Source) -> Vec<(usize, Token)> {
    let mut tokens = Vec::new();
    for (number, line) in source.lines.iter().enumerate() {
        let mut characters = line.code.chars().peekable();
        while let Some(character) = characters.next() {
            let token = match character {
                c if c.is_whitespace() => continue,
                c if c.is_alphanumeric() || c == '_' => {
                    let mut word = String::from(c);
                    while let Some(c) = characters.next_if(|c| c.is_alphanumeric() || *c == '_') {
                        word.push(c);
                    }
                    Token::Word(word)
                }
                ':' if characters.next_if_eq(&':').is_some() => Token::Joint,
                c => Token::Mark(c),
            };
            tokens.push((number, token));
        }
    }
    tokens
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
    named: Vec<Named>,
}

impl Reader {
    fn run(mut self) -> Vec<Named> {
        while let Some((line, token)) = self.tokens.get(self.at) {
            let line = *line;
            match token {
                // `impl Trait + use<'a>` names no path.
                Token::Word(word) if word == "use" && !self.is_next(&Token::Mark('<')) => {
                    self.at += 1;
                    self.tree(line, &[]);
                }
                Token::Word(_) => self.inline(line),
                _ => self.at += 1,
            }
        }
        self.named
    }

    fn is_next(&self, wanted: &Token) -> bool {
        self.tokens.get(self.at + 1).is_some_and(|(_, token)| token == wanted)
    }

    fn word(&self, at: usize) -> Option<String> {
        match self.tokens.get(at) {
            Some((_, Token::Word(word))) => Some(word.clone()),
            _ => None,
        }
    }

    /// `a::b::c` in code; one word alone is no path.
    fn inline(&mut self, line: usize) {
        let mut segments = Vec::new();
        while let Some(word) = self.word(self.at) {
            segments.push(word);
            self.at += 1;
            let joined = self.tokens.get(self.at).is_some_and(|(_, t)| *t == Token::Joint);
            if !joined || self.word(self.at + 1).is_none() {
                break;
            }
            self.at += 1;
        }
        if segments.len() > 1 {
            self.named.push(Named { line, segments });
        }
    }

    /// One branch of a `use` tree, up to the `,`, `}` or `;` that ends it.
    fn tree(&mut self, line: usize, prefix: &[String]) {
        let mut segments = prefix.to_vec();
        while let Some((at_line, token)) = self.tokens.get(self.at) {
            let at_line = *at_line;
            match token {
                Token::Word(word) if word == "as" => self.at += 1,
                Token::Word(word) if word == "self" && !segments.is_empty() => {}
                Token::Word(word) => segments.push(word.clone()),
                Token::Mark('*') => segments.push("*".to_owned()),
                Token::Mark('{') => {
                    self.group(at_line, &segments);
                    return;
                }
                Token::Mark(',' | '}' | ';') => break,
                Token::Joint | Token::Mark(_) => {}
            }
            self.at += 1;
        }
        if !segments.is_empty() {
            self.named.push(Named { line, segments });
        }
    }

    fn group(&mut self, line: usize, prefix: &[String]) {
        let mut line = line;
        self.at += 1;
        while let Some((at_line, token)) = self.tokens.get(self.at) {
            line = line.max(*at_line);
            match token {
                Token::Mark('}') => {
                    self.at += 1;
                    return;
                }
                Token::Mark(',') => self.at += 1,
                Token::Mark(';') => return,
                _ => self.tree(line, prefix),
            }
        }
    }
}
