//! Tables and fields of the document, with their paths.
//!
//! Invariants: a table is opened with the keys it may have, so no other key passes unseen; a field
//! is taken by a method that names its type, and what has another type is a problem on that field;
//! fields come in the order of the file.
//!
//! Not here: what the fields mean (one file per table of the catalog).

use toml::de::{DeTable, DeValue};

use super::near::nearest;
use super::problems::Problems;
use crate::catalog::Rule;

/// A table whose keys were checked.
pub(super) struct Section<'a> {
    path: String,
    table: &'a DeTable<'a>,
}

/// One value and the path of its key.
pub(super) struct Field<'a> {
    pub(super) path: String,
    value: &'a DeValue<'a>,
}

/// The path of `key` inside `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        format!("\"{}\"", key.escape_debug())
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

impl<'a> Section<'a> {
    /// The document itself.
    pub(super) fn root(
        problems: &mut Problems<'_>,
        table: &'a DeTable<'a>,
        allowed: &[&str],
    ) -> Self {
        let section = Self::marked(problems, String::new(), table);
        section.check_keys(problems, allowed);
        section
    }

    fn marked(problems: &mut Problems<'_>, path: String, table: &'a DeTable<'a>) -> Self {
        for key in table.keys() {
            problems.mark(join(&path, key.get_ref()), key.span().start);
        }
        Self { path, table }
    }

    fn check_keys(&self, problems: &mut Problems<'_>, allowed: &[&str]) {
        for field in self.fields() {
            let (key, field) = field;
            if allowed.contains(&key) {
                continue;
            }
            // A key pasted under another name would be shown by its value alone; keep to the name.
            let secret = allowed.contains(&"api_key_env") && SECRET_WORDS.contains(&key);
            let near = nearest(key, allowed.iter().copied()).map(str::to_owned);
            let allowed = allowed.iter().map(|&word| word.to_owned()).collect();
            let rule =
                if secret { Rule::SecretInCatalog } else { Rule::UnknownKey { near, allowed } };
            problems.push(&field.path, rule);
        }
    }

    /// All fields, in the order of the file.
    fn fields(&self) -> Vec<(&'a str, Field<'a>)> {
        let mut keys: Vec<_> = self.table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        let field = |(key, value): (&'a toml::Spanned<_>, &'a toml::Spanned<_>)| {
            let key: &'a std::borrow::Cow<'a, str> = key.get_ref();
            (&**key, Field { path: join(&self.path, key), value: value.get_ref() })
        };
        keys.into_iter().map(field).collect()
    }

    /// The keys, in the order of the file.
    pub(super) fn keys(&self) -> Vec<&'a str> {
        self.fields().into_iter().map(|(key, _)| key).collect()
    }

    /// A field that may be missing.
    pub(super) fn optional(&self, key: &str) -> Option<Field<'a>> {
        let value = self.table.get(key)?.get_ref();
        Some(Field { path: join(&self.path, key), value })
    }

    /// A field that must be there.
    pub(super) fn required(&self, problems: &mut Problems<'_>, key: &str) -> Option<Field<'a>> {
        let field = self.optional(key);
        if field.is_none() {
            problems.push(&join(&self.path, key), Rule::Missing);
        }
        field
    }

    /// A table of named entries (`[models.ID]`): each name, checked, with its value.
    pub(super) fn named(&self, problems: &mut Problems<'_>, key: &str) -> Vec<(String, Field<'a>)> {
        let Some(section) = self.optional(key).and_then(|field| field.any_table(problems)) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (name, field) in section.fields() {
            if is_name(name) {
                entries.push((name.to_owned(), field));
            } else {
                problems.push(&field.path, Rule::BadName);
            }
        }
        entries
    }

    /// The names in a table of named entries, whatever is wrong with the entries themselves.
    pub(super) fn names(&self, key: &str) -> Vec<String> {
        match self.optional(key).map(|field| field.value) {
            Some(DeValue::Table(table)) => {
                let section = Section { path: String::new(), table };
                section.keys().into_iter().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl<'a> Field<'a> {
    fn wrong(&self, problems: &mut Problems<'_>, expected: &'static str) {
        problems.push(&self.path, Rule::WrongType { expected, found: type_name(self.value) });
    }

    fn any_table(&self, problems: &mut Problems<'_>) -> Option<Section<'a>> {
        let DeValue::Table(table) = self.value else {
            self.wrong(problems, "a table");
            return None;
        };
        Some(Section::marked(problems, self.path.clone(), table))
    }

    /// A table that may have the `allowed` keys.
    pub(super) fn table(
        &self,
        problems: &mut Problems<'_>,
        allowed: &[&str],
    ) -> Option<Section<'a>> {
        let section = self.any_table(problems)?;
        section.check_keys(problems, allowed);
        Some(section)
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Text that is not empty.
    pub(super) fn text(&self, problems: &mut Problems<'_>) -> Option<&'a str> {
        let DeValue::String(text) = self.value else {
            self.wrong(problems, "text");
            return None;
        };
        if text.trim().is_empty() {
            problems.push(&self.path, Rule::Empty);
            return None;
        }
        Some(text)
    }

    /// A whole number from `min` to `max`.
    pub(super) fn number(&self, problems: &mut Problems<'_>, min: u64, max: u64) -> Option<u64> {
        let DeValue::Integer(integer) = self.value else {
            self.wrong(problems, "a whole number");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let number = number.filter(|number| (min..=max).contains(number));
        if number.is_none() {
            problems.push(&self.path, Rule::OutOfRange { min, max });
        }
        number
    }

    /// The text of a decimal number, as written but for `_` and a leading plus.
    pub(super) fn decimal(&self, problems: &mut Problems<'_>) -> Option<&'a str> {
        let text = match self.value {
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            DeValue::Float(float) => float.as_str(),
            _ => {
                self.wrong(problems, "a decimal number");
                return None;
            }
        };
        Some(text.strip_prefix('+').unwrap_or(text))
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(
        &self,
        problems: &mut Problems<'_>,
        words: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(problems)?;
        let found = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
        if found.is_none() {
            let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            problems.push(&self.path, unknown_word(text, &allowed));
        }
        found
    }

    /// The values of a list, each with the path of its place.
    pub(super) fn list(&self, problems: &mut Problems<'_>) -> Option<Vec<Field<'a>>> {
        let DeValue::Array(values) = self.value else {
            self.wrong(problems, "a list");
            return None;
        };
        let mut fields = Vec::new();
        for (index, value) in values.iter().enumerate() {
            let path = format!("{}[{index}]", self.path);
            problems.mark(path.clone(), value.span().start);
            fields.push(Field { path, value: value.get_ref() });
        }
        Some(fields)
    }
}

/// The rule that `word` breaks by not being one of `allowed`.
pub(super) fn unknown_word(word: &str, allowed: &[&str]) -> Rule {
    Rule::UnknownWord {
        word: word.to_owned(),
        near: nearest(word, allowed.iter().copied()).map(str::to_owned),
        allowed: allowed.iter().map(|&word| word.to_owned()).collect(),
    }
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    (1..=128).contains(&name.len()) && name.chars().all(allowed)
}

/// Keys under which people write their key into a file.
const SECRET_WORDS: &[&str] = &["api_key", "apikey", "key", "token", "secret", "password"];

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
