//! Several gates, asked in order, as one.
//!
//! Invariants: nothing is held while any of them makes the caller wait; a refusal by one gives back
//! what the others committed; what comes out is one commitment, in the order of the gates.
//!
//! A wait at one gate is followed by asking all the others anew, for they gave back: what the wait
//! brought is kept meanwhile, since asking doesn't wait. A round in which nobody waits ends it.
//!
//! Not here: deciding (`ledger`).

use std::sync::Arc;
use std::task::Poll;

use futures_util::poll;
use nucleo_core::spend::Ask;

use super::{Approval, Commitment, SpendError, SpendGate};

/// Gates in the order in which they are asked.
///
/// ```
/// use std::sync::Arc;
/// use nucleo_harness::spend::{CostLedger, Gates};
/// let (process, department) = (CostLedger::new(), CostLedger::new());
/// let gates = Gates::new(Arc::new(process)).then(Arc::new(department));
/// ```
#[derive(Clone, Debug)]
pub struct Gates {
    gates: Arc<[Arc<dyn SpendGate>]>,
}

impl Gates {
    /// One gate.
    #[must_use]
    pub fn new(gate: Arc<dyn SpendGate>) -> Self {
        Self { gates: Arc::from([gate]) }
    }

    /// One more, asked after those before.
    #[must_use]
    pub fn then(self, gate: Arc<dyn SpendGate>) -> Self {
        Self { gates: self.gates.iter().cloned().chain([gate]).collect() }
    }
}

impl SpendGate for Gates {
    fn approve(&self, ask: Ask) -> Approval {
        match &*self.gates {
            [only] => only.approve(ask),
            _ => Box::pin(approve_all(Arc::clone(&self.gates), ask)),
        }
    }
}

async fn approve_all(gates: Arc<[Arc<dyn SpendGate>]>, ask: Ask) -> Result<Commitment, SpendError> {
    let mut waited = None;
    loop {
        match ask_each(&gates, &ask, waited.take()).await? {
            Round::All(commitments) => {
                let joined = commitments.into_iter().flatten().reduce(Commitment::and);
                return Ok(joined.expect("there are gates, and each has committed"));
            }
            Round::Waits(at, approval) => waited = Some((at, approval.await?)),
        }
    }
}

enum Round {
    /// Every gate's commitment, in their order.
    All(Vec<Option<Commitment>>),
    /// This one makes us wait; nothing is held.
    Waits(usize, Approval),
}

/// Asks each gate but the one that has just been waited for; returns at the first that waits, or
/// refuses, and drops what the others gave.
async fn ask_each(
    gates: &[Arc<dyn SpendGate>],
    ask: &Ask,
    waited: Option<(usize, Commitment)>,
) -> Result<Round, SpendError> {
    let mut held: Vec<Option<Commitment>> = gates.iter().map(|_| None).collect();
    if let Some((at, commitment)) = waited {
        held[at] = Some(commitment);
    }
    for (at, gate) in gates.iter().enumerate() {
        if held[at].is_some() {
            continue;
        }
        let mut approval = gate.approve(ask.clone());
        match poll!(&mut approval) {
            Poll::Ready(commitment) => held[at] = Some(commitment?),
            Poll::Pending => return Ok(Round::Waits(at, approval)),
        }
    }
    Ok(Round::All(held))
}
