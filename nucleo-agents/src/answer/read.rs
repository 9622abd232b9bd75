//! Reading an answer: find the JSON, judge it, say what is wrong.
//!
//! Invariants: of several JSON values in a text the first that fits is the answer; when none fits,
//! the correction is about the largest, which is most likely what was meant.
//!
//! Not here: finding (`find`), judging (`judge`, `bounds`).

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::correction::inside;
use super::find::find;
use super::judge::judge;
use super::schema::Root;
use super::{AnswerSchema, Correction, bounds};

/// Reads a `T` from a model's text: leniently found, strictly judged.
///
/// Ranges and lengths are the schema's to judge: see [`AnswerSchema::read`].
///
/// ```
/// use nucleo_agents::answer::read;
/// assert_eq!(read::<Vec<u8>>("The numbers are [1, 2, 3,]."), Ok(vec![1, 2, 3]));
/// let correction = read::<Vec<u8>>("[1, 256]").unwrap_err();
/// assert_eq!(correction.to_string(), "`[1]` must be a whole number from 0 to 255");
/// ```
///
/// # Errors
/// [`Correction`]: no JSON, broken JSON, or JSON of another form.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Correction> {
    first_that_fits(text, judge)
}

impl AnswerSchema {
    /// Reads a `T`, the type that this is the schema of, and checks its ranges and lengths.
    ///
    /// # Errors
    /// [`Correction`]: no JSON, broken JSON, or JSON of another form.
    pub fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, Correction> {
        first_that_fits(text, |value| self.read_value(value))
    }

    /// Reads a `T` from JSON, and checks its ranges and lengths.
    pub(crate) fn read_value<T: DeserializeOwned>(&self, value: &Value) -> Result<T, Correction> {
        let content = match self.root {
            Root::Plain => None,
            // A model may well leave the wrapping out.
            Root::Wrapped => value.get(self.wrapped),
            Root::Nothing => Some(&Value::Null),
        };
        let judged = self.judge(content.unwrap_or(value));
        judged.map_err(|correction| match (content, correction) {
            (Some(_), Correction::Misfit { path, rule }) => {
                Correction::Misfit { path: inside(self.wrapped, &path), rule }
            }
            (_, correction) => correction,
        })
    }

    fn judge<T: DeserializeOwned>(&self, value: &Value) -> Result<T, Correction> {
        let read = judge(value)?;
        bounds::check(&self.full, value)?;
        Ok(read)
    }
}

fn first_that_fits<T>(
    text: &str,
    judge: impl Fn(&Value) -> Result<T, Correction>,
) -> Result<T, Correction> {
    let mut about: Option<(usize, Correction)> = None;
    for value in find(text)? {
        match judge(&value) {
            Ok(read) => return Ok(read),
            Err(correction) => {
                let size = value.to_string().len();
                if about.as_ref().is_none_or(|(largest, _)| size > *largest) {
                    about = Some((size, correction));
                }
            }
        }
    }
    Err(about.expect("`find` gives a value or an error").1)
}
