//! Typed answers: the schema that is sent, and reading what comes back.
//!
//! A type's JSON schema ([`schema_of`]) is narrowed to the subset that OpenAI's strict mode takes,
//! so the provider itself keeps the model to it where it can. What comes back is *read leniently*
//! (code fences, prose around, trailing commas, a byte order mark) and *judged strictly*: by serde
//! for types, missing fields and unknown variants, and by the schema for ranges and lengths. What
//! does not hold becomes a [`Correction`]: a sentence for the model that names field and rule. It
//! never echoes a value, so nothing that a conversation said returns as an instruction or a log line.
//!
//! ```
//! use nucleo_agents::answer::schema_of;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Triage {
//!     category: String,
//!     #[schemars(range(min = 1, max = 5))]
//!     urgency: u8,
//! }
//!
//! let schema = schema_of::<Triage>();
//! let text = "Here you are:\n```json\n{\"category\": \"bill\", \"urgency\": 4,}\n```";
//! let triage: Triage = schema.read(text)?;
//! assert_eq!((triage.category.as_str(), triage.urgency), ("bill", 4));
//!
//! let correction = schema.read::<Triage>(r#"{"category": "bill", "urgency": 9}"#).err().unwrap();
//! assert_eq!(correction.to_string(), "`urgency` must be at most 5");
//! # Ok::<(), nucleo_agents::answer::Correction>(())
//! ```
//!
//! Not here: asking again with the correction (the runtime), plain text answers (the text itself).

mod bounds;
mod correction;
mod find;
mod judge;
mod misfit;
mod read;
mod schema;

#[cfg(test)]
mod tests;

pub use correction::Correction;
pub use read::read;
pub(crate) use schema::input_schema_of;
pub use schema::{AnswerSchema, SchemaMode, schema_of};
