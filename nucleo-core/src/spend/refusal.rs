//! The refusal: everything that is needed to see why a call may not spend, and what would help.
//!
//! Invariants: a refusal is data and never changes; its figures are those of the instant of the
//! decision, so for one over the cap `spent + committed + reservation = cap + exceeds_by`; a
//! workflow keeps the first [`REFUSALS_KEPT`] whole and counts the others.
//!
//! Not here: deciding (`ledger`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::scope::{Scope, add};
use super::{ScopeId, ScopeName};
use crate::{Money, Reserved};

/// How many refusals of a workflow are kept whole.
pub const REFUSALS_KEPT: usize = 1_000;

/// Why the money wall let a call not pass; prints as one sentence.
///
/// ```
/// use nucleo_core::spend::{Ask, Decision, Ledger, Price, Rates};
/// use nucleo_core::{Currency, Reserved, WorkflowId};
/// let mut ledger = Ledger::new();
/// let workflow = WorkflowId::from_u128(7);
/// ledger.open_workflow(workflow, "inbox", Some("0.10 USD".parse().unwrap())).unwrap();
/// let price = Price::new(Currency::USD, Rates::new("1".parse()?, "5".parse()?));
/// let ask = Ask::new(workflow, "haiku", Reserved { input: 100_000, output: 4_000 }).price(price);
/// let Decision::Refused(refusal) = ledger.approve(ask) else { panic!("0.12 is over 0.10") };
/// assert_eq!(
///     refusal.to_string(),
///     "workflow inbox has a cap of 0.10 USD, with 0.00 USD spent and 0.00 USD committed to \
///      0 siblings: 0.12 USD more (haiku, 100000 input and at most 4000 output tokens) exceeds \
///      it by 0.02 USD; a cap of 0.12 USD admits it now, and waiting can't help"
/// );
/// # Ok::<(), nucleo_core::spend::PriceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpendRefusal {
    /// Whose cap.
    pub scope: ScopeName,
    /// What is wrong.
    pub reason: RefusalReason,
    /// The cap.
    pub cap: Money,
    /// Booked so far in the scope, in the cap's currency.
    pub spent: Money,
    /// Reserved by the siblings under way.
    pub committed: Money,
    /// How many siblings that is.
    pub siblings: u64,
    /// What this call would commit; `None` without a price.
    pub reservation: Option<Money>,
    /// How far above the cap that would come; `None` unless over the cap.
    pub exceeds_by: Option<Money>,
    /// The catalog's name of the model.
    #[serde(serialize_with = "text")]
    pub model: Arc<str>,
    /// The input tokens that it was priced from.
    pub input_tokens: u64,
    /// The output tokens that it was priced from.
    pub output_tokens: u64,
    /// Whether siblings that settle below their reservations can let it pass.
    pub waiting_helps: bool,
    /// The smallest cap of this scope that admits it now; `None` when no cap of this currency does.
    pub admitted_from_cap: Option<Money>,
}

/// What is wrong with a call that a cap refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalReason {
    /// The sums would come above the cap.
    OverCap,
    /// The model has no price, and none is guessed.
    Unpriced,
    /// The model's price is in another currency, and none is converted.
    OtherCurrency,
}

/// A workflow's refusals: the first ones whole, the others counted.
#[derive(Clone, Debug, Default)]
pub struct RefusalLog {
    kept: Vec<SpendRefusal>,
    further: BTreeMap<(ScopeId, Arc<str>), u64>,
}

impl SpendRefusal {
    /// The refusal of `reservation` by a scope that has a cap.
    pub(super) fn by(scope: &Scope, why: RefusalReason, call: &Refused<'_>) -> Self {
        let cap = scope.cap.expect("only a cap refuses");
        let sum = scope.sum(cap.currency());
        let money = |pico| Money::from_pico(pico, cap.currency());
        let over = match (why, call.reservation) {
            (RefusalReason::OverCap, Some(mine)) => {
                Some(add(add(sum.spent, sum.committed), mine.pico()))
            }
            _ => None,
        };
        Self {
            scope: scope.name.clone(),
            reason: why,
            cap,
            spent: money(sum.spent),
            committed: money(sum.committed),
            siblings: sum.siblings,
            reservation: call.reservation,
            exceeds_by: over.map(|total| money(total - cap.pico())),
            model: Arc::clone(call.model),
            input_tokens: call.tokens.input,
            output_tokens: call.tokens.output,
            waiting_helps: call.waiting_helps,
            admitted_from_cap: over.map(money),
        }
    }
}

/// The call's side of a refusal.
pub(super) struct Refused<'a> {
    pub(super) reservation: Option<Money>,
    pub(super) model: &'a Arc<str>,
    pub(super) tokens: Reserved,
    pub(super) waiting_helps: bool,
}

impl fmt::Display for SpendRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} has a cap of {}", self.scope, self.cap)?;
        match (self.reason, self.reservation) {
            (RefusalReason::OtherCurrency, Some(mine)) => {
                let (own, cap) = (mine.currency(), self.cap.currency());
                write!(f, ", and {} is priced in {own}, which is never converted: ", self.model)?;
                write!(f, "set the cap in {own}, or use a model that is priced in {cap}")
            }
            (RefusalReason::OverCap, Some(mine)) => self.fmt_over_cap(f, mine),
            (_, _) => {
                write!(f, ", and {} has no price: give it one, or run it without a cap", self.model)
            }
        }
    }
}

impl SpendRefusal {
    fn fmt_over_cap(&self, f: &mut fmt::Formatter<'_>, mine: Money) -> fmt::Result {
        let Self { spent, committed, siblings, model, input_tokens, output_tokens, .. } = self;
        let plural = if *siblings == 1 { "" } else { "s" };
        write!(
            f,
            ", with {spent} spent and {committed} committed to {siblings} sibling{plural}: "
        )?;
        write!(
            f,
            "{mine} more ({model}, {input_tokens} input and at most {output_tokens} output "
        )?;
        f.write_str("tokens)")?;
        if let (Some(over), Some(cap)) = (self.exceeds_by, self.admitted_from_cap) {
            write!(f, " exceeds it by {over}; a cap of {cap} admits it now")?;
        }
        match (&self.scope.id, self.waiting_helps) {
            (_, true) => f.write_str(", and waiting for the siblings to settle can help"),
            (ScopeId::Day(_), false) => f.write_str(", and only tomorrow can help"),
            (_, false) => f.write_str(", and waiting can't help"),
        }?;
        match &self.scope.id {
            ScopeId::Day(zone) => write!(f, ": the next day begins at midnight in {zone}"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for SpendRefusal {}

impl RefusalLog {
    /// The first [`REFUSALS_KEPT`], in order of time.
    #[must_use]
    pub fn kept(&self) -> &[SpendRefusal] {
        &self.kept
    }

    /// How many more there were, by scope and model.
    pub fn further(&self) -> impl Iterator<Item = (&ScopeId, &str, u64)> {
        self.further.iter().map(|((scope, model), count)| (scope, &**model, *count))
    }

    /// How many there were in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.kept.len() as u64 + self.further.values().sum::<u64>()
    }

    pub(super) fn note(&mut self, refusal: &SpendRefusal) {
        if self.kept.len() < REFUSALS_KEPT {
            self.kept.push(refusal.clone());
            return;
        }
        let key = (refusal.scope.id.clone(), Arc::clone(&refusal.model));
        *self.further.entry(key).or_default() += 1;
    }
}

fn text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}
