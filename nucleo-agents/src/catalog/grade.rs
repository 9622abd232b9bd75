//! Grades: how capable a model has to be.
//!
//! Invariants: the order of the variants is the order of the grades; a grade in a request is a
//! floor, so a model of a higher grade always serves it.
//!
//! Not here: which model serves a grade ([`crate::picker`]).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How capable a model has to be, from the least to the most.
///
/// ```
/// use nucleo_agents::catalog::Grade;
/// assert!(Grade::Small < Grade::Large);
/// assert_eq!("small".parse(), Ok(Grade::Small));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Sorting, extracting, short rewrites.
    Micro,
    /// Everyday work in volume.
    Small,
    /// Work that needs several steps of thought.
    Medium,
    /// Hard work.
    Large,
    /// Harder still.
    Xl,
    /// The most capable there is, whatever it costs.
    Mega,
}

/// A word that names no grade.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no grade: write micro, small, medium, large, xl or mega")]
pub struct UnknownGrade(pub String);

impl Grade {
    /// All of them, lowest first.
    pub const ALL: [Self; 6] =
        [Self::Micro, Self::Small, Self::Medium, Self::Large, Self::Xl, Self::Mega];

    /// The word used in catalogs, commands and output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Micro => "micro",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::Xl => "xl",
            Self::Mega => "mega",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Grade {
    type Err = UnknownGrade;
    fn from_str(text: &str) -> Result<Self, UnknownGrade> {
        Self::ALL
            .into_iter()
            .find(|grade| grade.name() == text)
            .ok_or_else(|| UnknownGrade(text.to_owned()))
    }
}
