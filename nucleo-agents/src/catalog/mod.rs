//! The catalog: which models a deployment has, what they may, and what they cost.
//!
//! A job names what it needs, never a model; the deployment's catalog decides. It is one TOML file,
//! read strictly: an unknown key, a duplicate id, a price without a currency, a pin below its grade
//! are load errors that name file, line and key, all of them at once ([`LoadError`]). Loaded, it is
//! read-only data in the order of the file.
//!
//! ```
//! use nucleo_agents::catalog::{Catalog, Credentials};
//!
//! let text = r#"
//! [providers.house]
//! kind = "loopback"
//!
//! [models.scribe]
//! provider = "house"
//! wire_id = "scribe-1"
//! grade = "small"
//! context = 32_000
//! max_output = 4_000
//! limits = { requests_per_minute = 600, tokens_per_minute = 100_000 }
//! price = { currency = "USD", input = 0.50, output = 1.50 }
//! "#;
//! let catalog = Catalog::parse("models.toml", text)?;
//! let scribe = catalog.model("scribe").expect("it stands above");
//! assert_eq!(&*scribe.accounts[1], "scribe.tokens");
//! let credentials = Credentials::of_process(&catalog);
//! println!("{}", catalog.check(&credentials));
//!
//! let error = Catalog::parse("models.toml", &text.replace("limits", "limit")).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "models.toml:11: models.scribe.limit: unknown key, did you mean `limits`?"
//! );
//! # Ok::<(), nucleo_agents::catalog::LoadError>(())
//! ```
//!
//! Where to look next: `whole` (the catalog itself), `model`, `provider`, `limits` (and their accounts),
//! `price`, `load` (reading it), `credentials` and `callable` (what of it can be used here and now),
//! `report` (the table of `nucleo check`). Choosing is [`crate::picker`]'s.

mod callable;
mod credentials;
mod error;
mod grade;
mod limits;
mod load;
mod model;
mod price;
mod provider;
mod report;
mod whole;

#[cfg(test)]
mod tests;

pub use callable::NotCallable;
pub use credentials::{Credentials, NoKey};
pub use error::{LoadError, Problem, Rule};
pub use grade::{Grade, UnknownGrade};
pub use limits::{AccountSpec, Capacity, Dimension, Limits, Period};
pub use model::{
    Enforced, Faults, LoopbackEntry, ModelEntry, OUTPUT_DEFAULT, Reserve, Settle, Status,
};
pub use price::{PriceEntry, PriceTier, Rates};
pub use provider::{KeySource, ProviderEntry, ProviderKind};
pub use report::{CheckReport, CheckRow};
pub use whole::{Catalog, Quota};
