//! The report of `nucleo check`: one line a model, what it is and whether it can be called.
//!
//! Invariants: rows stand in the order of the file; no key appears; the table needs no colours and
//! no terminal.
//!
//! Not here: the decision itself (`callable`).

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::{AccountSpec, Catalog, Credentials, Grade, ModelEntry, NotCallable};

/// What a catalog offers here and now. Prints as a table, serialises as JSON.
///
/// ```
/// use nucleo_agents::catalog::{Catalog, Credentials};
/// let report = Catalog::loopback().check(&Credentials::default());
/// assert_eq!(report.callable(), report.models.len());
/// ```
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckReport {
    /// The catalog's name.
    pub catalog: Arc<str>,
    /// One row a model.
    pub models: Vec<CheckRow>,
}

/// One model in a [`CheckReport`].
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckRow {
    /// The model.
    pub id: Arc<str>,
    /// Its grade.
    pub grade: Grade,
    /// Its provider.
    pub provider: Arc<str>,
    /// The provider's own name of it.
    pub wire_id: Arc<str>,
    /// Tokens it can hold.
    pub context: u64,
    /// Tokens it can give.
    pub max_output: u64,
    /// Its limits, one account each.
    pub limits: Vec<AccountSpec>,
    /// Its price per million tokens of input and output, if it has one.
    pub price: Option<String>,
    /// Why it can't be called; `None` when it can.
    pub not_callable: Option<NotCallable>,
}

impl Catalog {
    /// What this catalog offers with these credentials.
    #[must_use]
    pub fn check(&self, credentials: &Credentials) -> CheckReport {
        let accounts = self.accounts();
        let row = |model: &Arc<ModelEntry>| CheckRow {
            id: Arc::clone(&model.id),
            grade: model.grade,
            provider: Arc::clone(&model.provider),
            wire_id: Arc::clone(&model.wire_id),
            context: model.context,
            max_output: model.max_output,
            limits: accounts
                .iter()
                .filter(|spec| model.accounts.contains(&spec.name))
                .cloned()
                .collect(),
            price: price(model),
            not_callable: self.entry_callable(model, credentials).err(),
        };
        CheckReport { catalog: self.name().into(), models: self.models().map(row).collect() }
    }
}

/// As in `1.00 in, 5.00 out USD`.
fn price(model: &ModelEntry) -> Option<String> {
    let price = model.price.as_ref()?;
    let number = |amount| {
        let text = price.per_million(amount).to_string();
        text.split(' ').next().unwrap_or_default().to_owned()
    };
    let (input, output) = (number(price.base.input), number(price.base.output));
    Some(format!("{input} in, {output} out {}", price.currency))
}

impl CheckReport {
    /// How many models can be called.
    #[must_use]
    pub fn callable(&self) -> usize {
        self.models.iter().filter(|row| row.not_callable.is_none()).count()
    }
}

impl CheckRow {
    fn cells(&self) -> [String; 9] {
        let limits: Vec<String> = self.limits.iter().map(AccountSpec::to_string).collect();
        let or = |text: String, none: &str| {
            if text.is_empty() { none.to_owned() } else { text }
        };
        [
            self.id.to_string(),
            self.grade.to_string(),
            self.provider.to_string(),
            self.wire_id.to_string(),
            self.context.to_string(),
            self.max_output.to_string(),
            or(limits.join(", "), "none"),
            or(self.price.clone().unwrap_or_default(), "none"),
            self.not_callable.as_ref().map_or_else(|| "yes".to_owned(), |why| format!("no: {why}")),
        ]
    }
}

const HEADINGS: [&str; 9] = [
    "model",
    "grade",
    "provider",
    "wire id",
    "context",
    "max output",
    "limits",
    "price per million",
    "callable",
];

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEADINGS.map(str::to_owned)];
        rows.extend(self.models.iter().map(CheckRow::cells));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: [usize; 9] = std::array::from_fn(|column| width(column).unwrap_or_default());
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(widths) {
                line += &format!("{cell:width$}  ");
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        write!(f, "{} of {} models can be called", self.callable(), self.models.len())
    }
}
