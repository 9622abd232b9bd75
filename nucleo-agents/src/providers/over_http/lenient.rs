//! Numbers and fields that may be malformed: they count as absent, and cost nothing around them.
//!
//! Invariants: no number that is not whole, negative or too large to be exact is taken for another.
//!
//! Not here: what they mean (each wire's `usage`).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A number of tokens: a whole number, also when written as `12.0`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(value.as_u64().or_else(|| whole(value.as_f64()?))))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
fn whole(number: f64) -> Option<u64> {
    ((0.0..9e15).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// A field whose malformed value counts as absent: it must not cost the answer around it.
pub(crate) fn lenient<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}
