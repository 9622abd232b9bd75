//! The ledger behind its lock: the local spend gate.
//!
//! Invariants: every input is one lock hold that also hands out the outcomes it caused; wakers are
//! called, and foreign values dropped, after it; nothing here awaits. Plain futures and wakers, no
//! runtime: the lock is `crate::sync::Mutex`, so that a model checker can schedule it.
//!
//! A panic inside the ledger is our bug: it is caught here, marks the ledger defective, and fails
//! every waiter and every later ask with the cause. Settlements after it are not counted.
//!
//! Not here: the law (`nucleo_core::spend`), the future of one ask (`approve`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use nucleo_core::spend::{
    AlreadyOpen, Ask, Booked, Booking, CommitmentId, Ledger, Of, Outcome, Position, RefusalLog,
    ScopeId, Totals, UnknownScope, WaitId, WorkflowClosing,
};
use nucleo_core::{Money, WorkflowId};

use super::approve::Approve;
use super::gate::CommitmentHolder;
use super::{Approval, SpendError, SpendGate};
use crate::admission::panic_text;
use crate::sync::Mutex;

/// The money of all workflows of one process. Cheap to clone; clones are the same ledger.
///
/// ```
/// use nucleo_core::WorkflowId;
/// use nucleo_core::spend::ScopeId;
/// use nucleo_harness::spend::CostLedger;
/// let ledger = CostLedger::new();
/// let workflow = WorkflowId::from_u128(7);
/// ledger.open_workflow(workflow, "inbox", Some("5 USD".parse()?))?;
/// ledger.set_cap(ScopeId::Workflow(workflow), Some("6 USD".parse()?))?;
/// let position = ledger.position(&ScopeId::Workflow(workflow)).unwrap();
/// assert_eq!(position.cap.unwrap().to_string(), "6.00 USD");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CostLedger {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
}

/// What the lock guards.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) ledger: Ledger,
    pub(super) waits: BTreeMap<WaitId, Wait>,
    defect: Option<Arc<str>>,
}

/// A seat in the line, kept until its owner takes the outcome or leaves.
#[derive(Debug)]
pub(super) enum Wait {
    Pending(Waker),
    Decided(Outcome),
}

impl CostLedger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a workflow under a name for people, with its cap if it has one; only an open one can
    /// spend.
    ///
    /// # Errors
    /// [`AlreadyOpen`] when it is.
    pub fn open_workflow(
        &self,
        workflow: WorkflowId,
        name: impl Into<Arc<str>>,
        cap: Option<Money>,
    ) -> Result<(), AlreadyOpen> {
        let name = name.into();
        self.shared.enter(|state| state.ledger.open_workflow(workflow, name, cap)).unwrap_or(Ok(()))
    }

    /// Closes a workflow: its waiters are told, its memory is given back with its last commitment,
    /// its totals stay a while. `None` when it isn't open.
    pub fn close_workflow(&self, workflow: WorkflowId) -> Option<WorkflowClosing> {
        self.shared.enter(|state| state.ledger.close_workflow(workflow)).ok().flatten()
    }

    /// Sets or lifts a cap, while running: work under way isn't touched, waiters are decided anew.
    ///
    /// # Errors
    /// [`UnknownScope`] for a workflow that isn't open.
    pub fn set_cap(&self, scope: ScopeId, cap: Option<Money>) -> Result<(), UnknownScope> {
        self.shared.enter(|state| state.ledger.set_cap(scope, cap)).unwrap_or(Ok(()))
    }

    /// Counts money that an earlier process spent in a scope.
    ///
    /// # Errors
    /// [`UnknownScope`] when the scope isn't configured.
    pub fn carry_over(&self, scope: &ScopeId, spent: Money) -> Result<(), UnknownScope> {
        self.shared.enter(|state| state.ledger.carry_over(scope, spent)).unwrap_or(Ok(()))
    }

    /// The next day of a zone begins; the label, such as `2026-03-29`, is for refusals.
    pub fn begin_day(&self, zone: &str, label: impl Into<Arc<str>>) {
        let label = label.into();
        let _ = self.shared.enter(|state| state.ledger.begin_day(zone, label));
    }

    /// Forgets a user's, key's or day's scope: its cap, and what was spent.
    ///
    /// # Panics
    /// For a workflow: that is closed.
    pub fn forget(&self, scope: &ScopeId) {
        assert!(!matches!(scope, ScopeId::Workflow(_)), "a workflow is closed, not forgotten");
        let _ = self.shared.enter(|state| state.ledger.forget(scope));
    }

    /// Approves nothing any more, and tells every waiter so. What is under way settles as ever.
    pub fn stop(&self) {
        let _ = self.shared.enter(|state| state.ledger.shut_down());
    }

    /// Where a scope stands; `None` when it isn't configured.
    #[must_use]
    pub fn position(&self, scope: &ScopeId) -> Option<Position> {
        self.read(|ledger| ledger.position(scope))
    }

    /// The totals of a name; `None` when nothing was counted under it.
    #[must_use]
    pub fn totals(&self, of: Of<'_>) -> Option<Totals> {
        self.read(|ledger| ledger.totals(of).cloned())
    }

    /// Every user's totals, by name.
    #[must_use]
    pub fn users(&self) -> Vec<(String, Totals)> {
        self.read(|ledger| owned(ledger.users()))
    }

    /// Every model's totals, by name.
    #[must_use]
    pub fn models(&self) -> Vec<(String, Totals)> {
        self.read(|ledger| owned(ledger.models()))
    }

    /// Every agent's totals, by name.
    #[must_use]
    pub fn agents(&self) -> Vec<(String, Totals)> {
        self.read(|ledger| owned(ledger.agents()))
    }

    /// The refusals of an open workflow, noted by the gate itself.
    #[must_use]
    pub fn refusals(&self, workflow: WorkflowId) -> Option<RefusalLog> {
        self.read(|ledger| ledger.refusals(workflow).cloned())
    }

    /// Attempts that hold a commitment.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.read(Ledger::under_way)
    }

    fn read<R>(&self, look: impl FnOnce(&Ledger) -> R) -> R {
        look(&self.shared.state.lock().ledger)
    }
}

impl SpendGate for CostLedger {
    fn approve(&self, ask: Ask) -> Approval {
        Box::pin(Approve::new(Arc::clone(&self.shared), ask))
    }
}

impl CommitmentHolder for Shared {
    fn settle(&self, commitment: u64, booking: Booking) -> Booked {
        self.enter(|state| state.ledger.settle(CommitmentId::from_bits(commitment), booking))
            .unwrap_or(Booked { cost: None, overspent: None })
    }

    fn release(&self, commitment: u64) {
        let _ = self.enter(|state| state.ledger.release(CommitmentId::from_bits(commitment)));
    }
}

impl Shared {
    /// Runs an input under the lock, hands out what it decided, and wakes those it decided on.
    ///
    /// # Errors
    /// [`SpendError::Defective`] when the ledger met a bug of its own, now or before.
    pub(super) fn enter<R>(&self, input: impl FnOnce(&mut State) -> R) -> Result<R, SpendError> {
        let mut wakers = Vec::new();
        let result = self.state.lock().run(input, &mut wakers);
        wakers.into_iter().for_each(Waker::wake);
        result
    }
}

impl State {
    fn run<R>(
        &mut self,
        input: impl FnOnce(&mut Self) -> R,
        wakers: &mut Vec<Waker>,
    ) -> Result<R, SpendError> {
        if let Some(cause) = &self.defect {
            return Err(SpendError::Defective(Arc::clone(cause)));
        }
        let run = catch_unwind(AssertUnwindSafe(|| {
            let result = input(self);
            self.hand_out(wakers);
            result
        }));
        run.map_err(|payload| {
            let cause: Arc<str> = panic_text(payload.as_ref()).into();
            self.defect = Some(Arc::clone(&cause));
            let pending = std::mem::take(&mut self.waits).into_values();
            wakers.extend(pending.filter_map(|wait| match wait {
                Wait::Pending(waker) => Some(waker),
                Wait::Decided(_) => None,
            }));
            SpendError::Defective(cause)
        })
    }

    /// Puts each outcome on its seat, and collects the waker that sat there.
    fn hand_out(&mut self, wakers: &mut Vec<Waker>) {
        while let Some((id, outcome)) = self.ledger.poll() {
            let seat = self.waits.insert(id, Wait::Decided(outcome));
            match seat {
                Some(Wait::Pending(waker)) => wakers.push(waker),
                other => unreachable!("an outcome without a waiter: {other:?}"),
            }
        }
    }
}

fn owned<'a>(totals: impl Iterator<Item = (&'a str, &'a Totals)>) -> Vec<(String, Totals)> {
    totals.map(|(name, totals)| (name.to_owned(), totals.clone())).collect()
}
