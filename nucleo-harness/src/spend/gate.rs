//! What a spend gate is, and what it gives.
//!
//! Invariants: a [`Commitment`] has one owner and ends once: settled, or released by its drop;
//! neither awaits, so an attempt can end anywhere; dropping an [`Approval`] leaves nothing behind.
//!
//! Not here: the local gate (`ledger`), asking several (`gates`).

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use nucleo_core::WorkflowId;
use nucleo_core::spend::{Ask, Booked, Booking, SpendRefusal, Stop};
use smallvec::SmallVec;

/// A decision about one ask. Dropping it leaves the gate's line, or gives back what it was given.
pub type Approval = Pin<Box<dyn Future<Output = Result<Commitment, SpendError>> + Send>>;

/// Asked for the money of each attempt, after it is priced and before it goes to admission.
///
/// A gate decides at the first poll, and is pending only while it makes its caller wait. When
/// several are registered, those that hold something for an ask give it back while another is
/// pending, and are asked again after it: so at most one of them may decide elsewhere, in another
/// process, and take its time.
///
/// ```
/// use std::sync::Arc;
/// use nucleo_core::spend::{Ask, Booked, Booking};
/// use nucleo_harness::spend::{Approval, Commitment, CommitmentHolder, SpendError, SpendGate};
///
/// /// Lets everything pass and prints what it came to.
/// #[derive(Debug)]
/// struct Printer;
///
/// #[derive(Debug)]
/// struct Printed;
///
/// impl CommitmentHolder for Printed {
///     fn settle(&self, _: u64, booking: Booking) -> Booked {
///         println!("{booking:?}");
///         Booked { cost: None, overspent: None }
///     }
///     fn release(&self, _: u64) {}
/// }
///
/// impl SpendGate for Printer {
///     fn approve(&self, _: Ask) -> Approval {
///         Box::pin(std::future::ready(Ok(Commitment::new(Arc::new(Printed), 0))))
///     }
/// }
/// ```
pub trait SpendGate: Send + Sync + fmt::Debug {
    /// Decides whether an attempt may spend its reservation, and commits it.
    ///
    /// # Cancel safety
    /// Dropping the approval leaves the line; nothing stays committed.
    fn approve(&self, ask: Ask) -> Approval;
}

/// What stands behind a commitment. Each commitment ends by exactly one of the two calls, in
/// whatever thread; neither may block.
pub trait CommitmentHolder: Send + Sync + fmt::Debug {
    /// Books what an attempt owes in place of what was committed.
    fn settle(&self, commitment: u64, booking: Booking) -> Booked;

    /// Gives back what was committed: nothing is owed.
    fn release(&self, commitment: u64);
}

/// The money of one approved attempt. Dropping it gives the money back.
///
/// ```
/// use nucleo_core::spend::{Ask, Booking, Price, Rates, ScopeId};
/// use nucleo_core::{Currency, Reserved, Usage, WorkflowId};
/// use nucleo_harness::spend::{CostLedger, SpendGate};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let ledger = CostLedger::new();
/// let workflow = WorkflowId::from_u128(7);
/// ledger.open_workflow(workflow, "inbox", Some("0.03 USD".parse()?))?;
/// let price = Price::new(Currency::USD, Rates::new("1".parse()?, "5".parse()?));
/// let ask = Ask::new(workflow, "haiku", Reserved { input: 1_000, output: 4_000 }).price(price);
///
/// let commitment = ledger.approve(ask.clone()).await?;
/// assert!(ledger.approve(ask.clone()).await.is_err(), "0.042 is over 0.03");
/// drop(commitment);
/// let commitment = ledger.approve(ask).await?;
/// let booked = commitment.settle(Booking::Actual(Usage { input: 900, ..Usage::default() }));
/// assert_eq!(booked.cost.unwrap().to_string(), "0.0009 USD");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping a commitment gives its money back"]
#[derive(Debug)]
pub struct Commitment {
    parts: SmallVec<[Part; 1]>,
}

/// One gate's share of it.
#[derive(Debug)]
struct Part {
    holder: Arc<dyn CommitmentHolder>,
    id: u64,
}

/// Why an attempt got no commitment.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpendError {
    /// A cap refuses it; the gate has noted that already.
    #[error(transparent)]
    Refused(Box<SpendRefusal>),
    /// The ledger was stopped.
    #[error("the runtime is shutting down: no more money is approved")]
    ShutDown,
    /// The workflow isn't open.
    #[error("{}", Stop::WorkflowClosed(*.0))]
    WorkflowClosed(WorkflowId),
    /// The ledger met a bug of its own, and approves nothing any more.
    #[error("the ledger is defective and approves nothing any more, please report it: {0}")]
    Defective(Arc<str>),
    /// A gate of yours could not decide.
    #[error("the spend gate {gate} could not decide: {message}")]
    Gate {
        /// Its name.
        gate: Arc<str>,
        /// What it says.
        message: Arc<str>,
    },
}

const _: () = assert!(size_of::<SpendError>() <= 48);

impl Commitment {
    /// A commitment of a gate, which knows it by `id`.
    pub fn new(holder: Arc<dyn CommitmentHolder>, id: u64) -> Self {
        Self { parts: SmallVec::from_iter([Part { holder, id }]) }
    }

    /// Books what the attempt owes, in place of the reservation. Never waits.
    ///
    /// Of several gates' answers, the first that knows a cost is told.
    pub fn settle(mut self, booking: Booking) -> Booked {
        let mut told = Booked { cost: None, overspent: None };
        for Part { holder, id } in std::mem::take(&mut self.parts) {
            let booked = holder.settle(id, booking);
            if told.cost.is_none() {
                told = booked;
            }
        }
        told
    }

    /// Both as one: they end together.
    pub(super) fn and(mut self, mut other: Self) -> Self {
        self.parts.append(&mut other.parts);
        self
    }
}

impl Drop for Commitment {
    fn drop(&mut self) {
        for Part { holder, id } in self.parts.drain(..) {
            holder.release(id);
        }
    }
}

impl From<Stop> for SpendError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::ShutDown => Self::ShutDown,
            Stop::WorkflowClosed(workflow) => Self::WorkflowClosed(workflow),
        }
    }
}
