//! A prompt's template: text in which `{{field}}` stands for a field of the input line.
//!
//! A name may lead into objects, `{{customer.name}}`. A string is written as it is, anything else as
//! JSON. A `{{` that opens no place is an error where the template is read, so that a typo is not sent
//! a thousand times; a `}}` by itself is text, as it is in every JSON example.
//!
//! Invariants: what a line's fields hold is never read as a template.
//!
//! Not here: reading lines (`input`).

use serde_json::Value;

/// A template, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Place(Vec<String>),
}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("line {line}: `{{{{` without `}}}}`; a place reads {{{{field}}}}")]
    Open { line: usize },
    #[error(
        "line {line}: `{name}` is no field's name: letters, digits, `_`, `-`, and `.` to go inside"
    )]
    Name { line: usize, name: String },
}

/// A field that a line lacks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line has no field `{0}`, which the prompt asks for")]
pub(crate) struct MissingField(pub(crate) String);

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            let line = 1 + text[..text.len() - rest.len() + at].matches('\n').count();
            parts.push(Part::Text(rest[..at].to_owned()));
            let inside = &rest[at + 2..];
            let end = inside.find("}}").ok_or(TemplateError::Open { line })?;
            let name = inside[..end].trim();
            let path: Vec<String> = name.split('.').map(str::to_owned).collect();
            let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            if path.iter().any(|word| word.is_empty() || !word.chars().all(plain)) {
                let name = name.chars().take(NAME_CHARS_SHOWN).collect();
                return Err(TemplateError::Name { line, name });
            }
            parts.push(Part::Place(path));
            rest = &inside[end + 2..];
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self { parts })
    }

    /// The prompt for one line.
    pub(crate) fn fill(&self, fields: &Value) -> Result<String, MissingField> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Place(path) => {
                    let found = path.iter().try_fold(fields, |value, word| value.get(word));
                    match found.ok_or_else(|| MissingField(path.join(".")))? {
                        Value::String(string) => text.push_str(string),
                        other => text.push_str(&other.to_string()),
                    }
                }
            }
        }
        Ok(text)
    }
}

/// A `}}` may follow far below: the rest of the file is no name.
const NAME_CHARS_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fills_places_and_leaves_fields_alone() {
        let template = Template::parse("Sort {{ mail.text }} of {{n}}: {{tags}}.").unwrap();
        let line = json!({"mail": {"text": "{{n}} is literal"}, "n": 7, "tags": ["a"]});
        assert_eq!(template.fill(&line).unwrap(), r#"Sort {{n}} is literal of 7: ["a"]."#);
        assert_eq!(template.fill(&json!({"n": 1})), Err(MissingField("mail.text".to_owned())));
    }

    #[test]
    fn tells_the_line_of_a_typo() {
        assert_eq!(Template::parse("a\nb {{c"), Err(TemplateError::Open { line: 2 }));
        let name = "two words".to_owned();
        assert_eq!(Template::parse("{{two words}}"), Err(TemplateError::Name { line: 1, name }));
    }
}
