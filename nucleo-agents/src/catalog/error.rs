//! What is wrong with a catalog: all of it at once, one problem a line.
//!
//! Invariants: each problem names file, line, key and what to write instead; nothing that could be
//! a secret is echoed; problems stand in the order of their lines.
//!
//! Not here: finding the problems (`load`).

use std::fmt;
use std::io;
use std::sync::Arc;

use super::Grade;

/// A catalog that can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file could not be read.
    #[error("the catalog {file} can't be read")]
    Unreadable {
        /// The file.
        file: Arc<str>,
        /// Why.
        source: io::Error,
    },
    /// It was read, and this is wrong with it.
    #[error("{}", Lines(.0))]
    Invalid(Vec<Problem>),
}

/// One thing that is wrong with a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file's name, as it was given.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The key, with the tables it is in; empty when the text is no TOML.
    pub key: String,
    /// What is wrong, and what would be right.
    pub rule: Rule,
}

/// The rule that a catalog breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// Not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// A key for the second time.
    #[error("stands here for the second time")]
    Duplicate,
    /// A key that nobody reads.
    #[error("unknown key{}", Suggestion(.near.as_deref(), .allowed))]
    UnknownKey {
        /// The key that was probably meant.
        near: Option<String>,
        /// The keys that are read.
        allowed: Vec<String>,
    },
    /// A key in the catalog itself.
    #[error(
        "a key never stands in a catalog: name its variable (api_key_env) or file (api_key_file)"
    )]
    SecretInCatalog,
    /// A required key that is not there.
    #[error("is missing")]
    Missing,
    /// A value of another type.
    #[error("must be {expected}, not {found}")]
    WrongType {
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A number out of its range.
    #[error("must be a whole number from {min} to {max}")]
    OutOfRange {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A word that is not among those allowed.
    #[error("`{word}` is not allowed here{}", Suggestion(.near.as_deref(), .allowed))]
    UnknownWord {
        /// The word.
        word: String,
        /// The one that was probably meant.
        near: Option<String>,
        /// Those allowed.
        allowed: Vec<String>,
    },
    /// A name that nothing in the catalog has.
    #[error("there is no {kind} `{name}` in this catalog{}", Suggestion(.near.as_deref(), .known))]
    UnknownReference {
        /// Provider, quota or model.
        kind: &'static str,
        /// The name.
        name: String,
        /// The one that was probably meant.
        near: Option<String>,
        /// Those there are.
        known: Vec<String>,
    },
    /// A name of characters that names don't have.
    #[error("a name is 1 to 128 letters, digits and `-_.:/@`")]
    BadName,
    /// No name of an environment variable.
    #[error("must be the name of an environment variable: letters, digits and `_`")]
    BadVariable,
    /// Empty text.
    #[error("must not be empty")]
    Empty,
    /// Not an address.
    #[error(
        "must be an address like `https://host/v1`: http or https, a host, no user, password or query"
    )]
    BadUrl,
    /// Two sources of a key.
    #[error("give api_key_env or api_key_file, not both")]
    TwoKeySources,
    /// Limits of its own and a shared quota.
    #[error("give limits or quota, not both")]
    LimitsAndQuota,
    /// A key without effect.
    #[error("has no effect without {needs}")]
    NoEffect {
        /// What would give it one.
        needs: &'static str,
    },
    /// No time zone's name.
    #[error("must be a time zone, as in `UTC` or `Europe/Zurich`")]
    BadZone,
    /// More output than the model holds.
    #[error("{max_output} tokens of output don't fit a context of {context}")]
    OutputOverContext {
        /// The output.
        max_output: u64,
        /// The context.
        context: u64,
    },
    /// A range whose ends are the wrong way round.
    #[error("must be two whole numbers, the smaller first, as in `[80, 200]`")]
    BadRange,
    /// Faults of more than all requests.
    #[error("faults add up to {sum} of 1000 requests")]
    TooManyFaults {
        /// Their sum.
        sum: u64,
    },
    /// A price without a currency.
    #[error("a price needs its currency, as in `currency = \"USD\"`")]
    PriceWithoutCurrency,
    /// Not a currency.
    #[error("`{0}` is not a currency: write its three capital letters, as in `USD`")]
    BadCurrency(String),
    /// A price that can't be held exactly.
    #[error("`{0}` is not exact: write a plain decimal number with at most six decimals")]
    PriceNotExact(String),
    /// A price that nobody asks.
    #[error(
        "{0} is outside 0.001 to 1000: prices are per million tokens, not per token or per thousand"
    )]
    PriceOutsideBand(String),
    /// Tiers out of order.
    #[error("tiers must rise: {above} does not come after {before}")]
    TiersOutOfOrder {
        /// This tier's bound.
        above: u64,
        /// The bound before it.
        before: u64,
    },
    /// A pin below its grade.
    #[error("`{model}` is of grade {has}, below {needs}")]
    PinBelowGrade {
        /// The pinned model.
        model: String,
        /// Its grade.
        has: Grade,
        /// The grade of the pin.
        needs: Grade,
    },
    /// A pin for the second time.
    #[error("`{0}` is pinned twice")]
    PinTwice(String),
    /// A quota and a model of one name.
    #[error("a model has this name too, so their accounts would share theirs: rename one")]
    QuotaNamedLikeModel,
    /// A closed entry without a reason.
    #[error("closed needs its reason: `status = {{ closed = \"why\" }}`")]
    ClosedWithoutReason,
    /// The loopback's own table on another provider's model.
    #[error("only a model of a loopback provider has one")]
    NotLoopback,
    /// A burst that no request fits.
    #[error(
        "{account} can hold {most}, less than the {reservation} that `{model}` reserves by default: \
         raise the limit or its burst_s, or lower max_output"
    )]
    BurstBelowReservation {
        /// The account.
        account: Arc<str>,
        /// The most it can hold.
        most: u64,
        /// What one request reserves.
        reservation: u64,
        /// The entry.
        model: Arc<str>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.rule.fmt(f)
    }
}

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

/// The word that was probably meant, or else all that would do.
struct Suggestion<'a>(Option<&'a str>, &'a [String]);

impl fmt::Display for Suggestion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0, self.1) {
            (Some(near), _) => write!(f, ", did you mean `{near}`?"),
            (None, []) => Ok(()),
            (None, all) => write!(f, "; there is {}", all.join(", ")),
        }
    }
}
