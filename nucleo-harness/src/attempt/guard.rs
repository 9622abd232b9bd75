//! The owner of what an attempt holds, from its grant to its settlement.
//!
//! Invariants: it settles exactly once: by [`Guard::settle`], or, when the attempt's task is dropped
//! with its runtime, by its own drop, from what was reported until then. Money is booked before the
//! handle resolves, and so are the accounts, unless a thread still works with them (`held`).
//!
//! Not here: the table itself (`table`).

use std::sync::Arc;

use nucleo_core::spend::Booking;
use nucleo_core::{AccountId, Money, Need, Reason, Span, Time, Usage, Verdict};
use smallvec::SmallVec;

use super::binding::{Binding, Counts};
use super::granted::Meter;
use super::held::Held;
use super::signal::{Ended, Failure, Signal};
use super::table::{Sums, row};
use crate::admission::Ending;
use crate::spend::Commitment;

/// One binding, its commitment and what was reported of it.
#[derive(Debug)]
pub(crate) struct Leg {
    pub(crate) binding: Binding,
    pub(crate) commitment: Commitment,
    pub(crate) meter: Meter,
}

impl Leg {
    /// Replaces the commitment by what is owed.
    fn book(self, booking: Booking) -> Bill {
        let booked = self.commitment.settle(booking);
        if let Some(overspent) = &booked.overspent {
            tracing::warn!(%overspent, "a bill above its reservation");
        }
        Bill {
            usage: booking.usage(&self.binding.tokens),
            cost: booked.cost,
            estimated: booking.is_estimate(),
            unpriced: booked.cost.is_none(),
        }
    }
}

/// A grant and its legs.
#[derive(Debug)]
pub(crate) struct Guard {
    held: Option<(Arc<Held>, SmallVec<[Leg; 1]>)>,
    /// What is held besides the bindings' accounts.
    besides: SmallVec<[Need; 2]>,
    work: Meter,
}

/// What one leg came to.
#[derive(Debug, Default)]
pub(crate) struct Bill {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Money>,
    pub(crate) estimated: bool,
    pub(crate) unpriced: bool,
}

/// What was booked in the end, leg by leg.
pub(crate) type Bills = SmallVec<[Bill; 1]>;

/// What the end of an attempt came to.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) bills: Bills,
    /// The models of the bindings that failed as the attempt did.
    pub(crate) blamed: SmallVec<[Arc<str>; 1]>,
}

/// How the attempt ended, as the guard needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdicts<'f> {
    Success,
    Failed(&'f Failure),
    /// Cancelled, timed out, panicked, dropped.
    CutOff,
}

impl Guard {
    pub(crate) const fn new(
        held: Arc<Held>,
        besides: SmallVec<[Need; 2]>,
        work: Meter,
        legs: SmallVec<[Leg; 1]>,
    ) -> Self {
        Self { held: Some((held, legs)), besides, work }
    }

    /// Settles accounts and money.
    pub(crate) fn settle(mut self, verdicts: Verdicts<'_>) -> Settled {
        self.end(verdicts)
    }

    fn end(&mut self, verdicts: Verdicts<'_>) -> Settled {
        let Some((held, legs)) = self.held.take() else {
            return Settled::default();
        };
        let blamed = blamed(&legs, verdicts);
        let legs_sent = legs.iter().any(|leg| leg.meter.read().sent.is_some());
        if !legs_sent && self.work.read().sent.is_none() {
            held.end(None);
            // Nothing is owed: the commitments are released as they drop.
            return Settled { bills: Bills::new(), blamed };
        }
        let mut ending = Ending::default();
        let mut sums = Sums::default();
        self.besides.iter().for_each(|need| sums.add(need.account, need.amount));
        let mut owed = SmallVec::<[(Leg, Option<Booking>); 1]>::new();
        let now = self.work.now();
        for leg in legs {
            let reported = leg.meter.read();
            let ended = ended(reported.sent, reported.ended, verdicts);
            let row = row(ended, reported.usage, &leg.binding);
            row.charges.of(&leg.binding).for_each(|(account, charged)| sums.add(account, charged));
            if is_concerned(ended, verdicts) {
                pace(&mut ending, &leg.binding, verdicts, reported.sent, now);
            }
            owed.push((leg, row.booking));
        }
        ending.settlement = sums.settlement();
        held.end(Some(ending));
        let bills = owed.into_iter().filter_map(|(leg, booking)| Some(leg.book(booking?)));
        Settled { bills: bills.collect(), blamed }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.end(Verdicts::CutOff);
    }
}

/// Where a leg ended: what the failure says, unless the meter knows better.
fn ended(sent: Option<Time>, known: Option<Ended>, verdicts: Verdicts<'_>) -> Ended {
    if sent.is_none() {
        return Ended::Unsent;
    }
    match (verdicts, known) {
        (Verdicts::Failed(failure), None) => failure.ended,
        (_, Some(ended)) => ended,
        (Verdicts::Success, None) => Ended::InFull,
        (Verdicts::CutOff, None) => Ended::Incomplete,
    }
}

/// The models of the legs that ended where the failure did.
fn blamed(legs: &[Leg], verdicts: Verdicts<'_>) -> SmallVec<[Arc<str>; 1]> {
    let Verdicts::Failed(_) = verdicts else {
        return SmallVec::new();
    };
    let failed = legs.iter().filter(|leg| {
        let reported = leg.meter.read();
        is_concerned(ended(reported.sent, reported.ended, verdicts), verdicts)
    });
    failed.map(|leg| Arc::clone(&leg.binding.model)).collect()
}

/// Whether the end of the attempt says something about this leg: of several, only those are blamed
/// that ended where the failure did.
fn is_concerned(ended: Ended, verdicts: Verdicts<'_>) -> bool {
    match verdicts {
        Verdicts::Failed(failure) => failure.ended == ended,
        Verdicts::Success | Verdicts::CutOff => true,
    }
}

/// What the end says about the accounts' pace.
fn pace(
    ending: &mut Ending,
    binding: &Binding,
    verdicts: Verdicts<'_>,
    sent: Option<Time>,
    now: Time,
) {
    let Some(sent) = sent else {
        return;
    };
    let (verdict, retry_after, drain) = match verdicts {
        Verdicts::Success => (Some(Verdict::Success), None, false),
        Verdicts::CutOff => (None, None, false),
        Verdicts::Failed(failure) => match failure.signal {
            Signal::RateLimited { retry_after } => {
                (Some(Verdict::Pushback { sent, steps: 1 }), retry_after, retry_after.is_none())
            }
            Signal::Overloaded { retry_after } => {
                (Some(Verdict::Pushback { sent, steps: 3 }), retry_after, false)
            }
            Signal::Transient { retry_after } => (None, retry_after, false),
            // The model answered; what it said is another matter.
            Signal::Truncated | Signal::Correction => (Some(Verdict::Success), None, false),
            _ => (None, None, false),
        },
    };
    if let Verdicts::Failed(Failure { signal: Signal::OutOfCredit, .. }) = verdicts {
        // Waiting does not help, and neither does asking again.
        ending.close = Some(Reason::OutOfCredit);
    }
    ending.verdict = verdict;
    ending.park_until = retry_after.map(|span: Span| now.saturating_add(span));
    ending.drain = drain;
    for bucket in buckets(binding) {
        // Twice would be two steps for one answer.
        if !ending.buckets.contains(&bucket) {
            ending.buckets.push(bucket);
        }
    }
}

/// The accounts of a binding that a pace concerns: its buckets, not its calls at once.
fn buckets(binding: &Binding) -> impl Iterator<Item = AccountId> + '_ {
    let paced = binding.accounts.iter().filter(|counted| counted.counts != Counts::Calls);
    paced.map(|counted| counted.account)
}
