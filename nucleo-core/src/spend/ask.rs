//! What the ledger is asked, and what it answers.
//!
//! Invariants: all of it is inert data; an [`Ask`] carries the price, so that the reservation and
//! every later booking come from one and the same, and can't disagree.
//!
//! Not here: the decision (`ledger`), the refusal's figures (`refusal`).

use std::sync::Arc;

use super::{CommitmentId, Price, ScopeId, SpendRefusal, WaitId};
use crate::{AttemptKey, Money, Reserved, Usage, WorkflowId};

/// One attempt asks for its money.
///
/// ```
/// use nucleo_core::spend::{Ask, NearCap, Price, Rates};
/// use nucleo_core::{Currency, Reserved, WorkflowId};
/// let price = Price::new(Currency::USD, Rates::new("1".parse()?, "5".parse()?));
/// let ask = Ask::new(WorkflowId::from_u128(7), "haiku", Reserved { input: 1_000, output: 4_096 })
///     .price(price)
///     .agent("triage")
///     .near_cap(NearCap::WaitForSiblings);
/// assert_eq!(ask.reservation().unwrap().to_string(), "0.02148 USD");
/// # Ok::<(), nucleo_core::spend::PriceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ask {
    /// Which attempt of which job: the idempotency key of a gate that decides elsewhere.
    pub attempt: AttemptKey,
    /// Whose cap it meets first.
    pub workflow: WorkflowId,
    /// Who it is for: a scope of its own where one is configured, and a total.
    pub user: Option<Arc<str>>,
    /// Further scopes, such as a key and a day; those not configured count for nothing.
    pub scopes: Vec<ScopeId>,
    /// The catalog's name of the model.
    pub model: Arc<str>,
    /// The agent's name; may be empty.
    pub agent: Arc<str>,
    /// Input estimated high, and the output limit that is sent.
    pub tokens: Reserved,
    /// `None` is an unpriced model: refused under a cap, counted as unpriced without one.
    pub price: Option<Arc<Price>>,
    /// What to do when only siblings' commitments keep it out.
    pub near_cap: NearCap,
}

/// What an attempt does when only its siblings' commitments keep it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NearCap {
    /// It is refused at once: what a direct submission gets.
    #[default]
    Refuse,
    /// It waits, first come first served, until enough settled, or until nothing can help.
    WaitForSiblings,
}

/// What [`Ledger::approve`](super::Ledger::approve) says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an approved commitment is given back by `settle` or `release`"]
pub enum Decision {
    /// The money is committed in every scope.
    Approved(CommitmentId),
    /// It waits for siblings, holding nothing; [`Ledger::poll`](super::Ledger::poll) will tell.
    Waiting(WaitId),
    /// The law doesn't hold, and this call won't wait.
    Refused(Box<SpendRefusal>),
    /// Nothing is approved any more.
    Stopped(Stop),
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The money is committed in every scope.
    Approved(CommitmentId),
    /// No settlement of siblings can let it pass any more.
    Refused(Box<SpendRefusal>),
    /// Nothing is approved any more.
    Stopped(Stop),
}

/// Why nothing is approved any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The whole ledger was shut down.
    #[error("the ledger is shut down: nothing more is approved")]
    ShutDown,
    /// The workflow was never opened, or has been closed.
    #[error("{0} isn't open: open a workflow before it spends, and close it after its last call")]
    WorkflowClosed(WorkflowId),
}

/// What an attempt owes in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// What the response says that it used, whatever became of the response.
    Actual(Usage),
    /// What was reported before the answer broke off: an estimate.
    SoFar(Usage),
    /// It was sent and nothing is known: the whole reservation, as an estimate.
    Reservation,
}

/// What a settlement booked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// What was added to the spent money; `None` when the model has no price.
    pub cost: Option<Money>,
    /// Set when the bill was above the reservation: worth an event.
    pub overspent: Option<Overspent>,
}

/// A provider billed more than was reserved; the difference is booked, and bounded by this call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{model} billed {cost}, above the {reservation} reserved for it: its token count is above \
     ours, or it doesn't keep to the output limit"
)]
pub struct Overspent {
    /// Which attempt.
    pub attempt: AttemptKey,
    /// The catalog's name of the model.
    pub model: Arc<str>,
    /// What was committed.
    pub reservation: Money,
    /// What was booked.
    pub cost: Money,
}

impl Ask {
    /// An unpriced ask that doesn't wait, of no user and an unnamed agent.
    #[must_use]
    pub fn new(workflow: WorkflowId, model: impl Into<Arc<str>>, tokens: Reserved) -> Self {
        Self {
            attempt: AttemptKey::default(),
            workflow,
            user: None,
            scopes: Vec::new(),
            model: model.into(),
            agent: Arc::from(""),
            tokens,
            price: None,
            near_cap: NearCap::Refuse,
        }
    }

    /// Names the attempt.
    #[must_use]
    pub fn attempt(self, attempt: AttemptKey) -> Self {
        Self { attempt, ..self }
    }

    /// Sets the price.
    #[must_use]
    pub fn price(self, price: impl Into<Arc<Price>>) -> Self {
        Self { price: Some(price.into()), ..self }
    }

    /// Names the user.
    #[must_use]
    pub fn user(self, user: impl Into<Arc<str>>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// Names the agent.
    #[must_use]
    pub fn agent(self, agent: impl Into<Arc<str>>) -> Self {
        Self { agent: agent.into(), ..self }
    }

    /// Adds a scope.
    #[must_use]
    pub fn scope(mut self, scope: ScopeId) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Says what to do when only siblings keep it out.
    #[must_use]
    pub fn near_cap(self, near_cap: NearCap) -> Self {
        Self { near_cap, ..self }
    }

    /// The most that a call within the reserved tokens can cost; `None` without a price.
    #[must_use]
    pub fn reservation(&self) -> Option<Money> {
        self.price.as_ref().map(|price| price.dearest(&self.tokens))
    }
}

impl Booking {
    /// The tokens that it counts, given what was reserved.
    #[must_use]
    pub const fn usage(&self, reserved: &Reserved) -> Usage {
        match self {
            Self::Actual(usage) | Self::SoFar(usage) => *usage,
            Self::Reservation => Usage {
                input: reserved.input,
                output: reserved.output,
                cache_write: 0,
                cache_read: 0,
                reasoning: 0,
            },
        }
    }

    /// Whether it is a guess.
    #[must_use]
    pub const fn is_estimate(&self) -> bool {
        !matches!(self, Self::Actual(_))
    }
}
