//! A foreign account: a user's own, behind the same contract.
//!
//! It is the only foreign code that runs inside the monitor, so it is kept at arm's length: what it
//! has is read at stated moments (when it says that it changed, when something was taken or came back,
//! when time has passed) and remembered, so the search never calls it; every call is caught. When it
//! panics, the one waiter that asks is refused with the account's name, and the next one asks anew.
//!
//! Invariants: a panic of it never leaves here; it takes last of all accounts that are asked, and
//! first of all that are taken from, so that its refusal leaves nothing half-taken.
//!
//! Not here: who waits (`admission`), telling that it changed (`nucleo-harness`, `AccountHandle`).

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::account::{Account, AccountState, Horizon, Kind, Verdict};
use crate::time::Time;

/// A user's own account.
///
/// ```
/// use nucleo_core::limits::{Foreign, Permits};
/// use nucleo_core::Monitor;
/// let mut monitor = Monitor::new();
/// // Any type that keeps the contract of `Account` will do.
/// let licences = monitor.open("licences", Foreign::new(Permits::new(3)));
/// assert_eq!(&**monitor.name(licences), "licences");
/// ```
pub struct Foreign {
    account: Box<dyn Account>,
    kind: Kind,
    /// What it had when it was last asked; without end after a fault, so that somebody asks.
    seen: i128,
    fault: Option<Arc<str>>,
    faults: u64,
}

impl Foreign {
    /// An account of the user's. It has to be `Send`, and to answer at once: it is called under the
    /// monitor's lock.
    #[must_use]
    pub fn new(account: impl Account + 'static) -> Self {
        let account: Box<dyn Account> = Box::new(account);
        let kind = caught(|| account.kind()).unwrap_or(Kind::Held);
        let mut foreign = Self { account, kind, seen: 0, fault: None, faults: 0 };
        foreign.refresh(Time::ZERO);
        foreign
    }

    /// Asks what it has; says whether that has grown.
    pub(crate) fn refresh(&mut self, now: Time) -> bool {
        let before = self.seen;
        self.seen = match caught(|| self.account.available(now)) {
            Ok(available) => available,
            Err(cause) => {
                self.failed(cause);
                i128::MAX
            }
        };
        self.seen > before
    }

    /// The fault that the present asker is refused with, if there is one.
    pub(crate) fn take_fault(&mut self) -> Option<Arc<str>> {
        self.fault.take()
    }

    /// Takes, unless it panics.
    pub(crate) fn try_take(&mut self, amount: u64, now: Time) -> Result<(), Arc<str>> {
        let taken = caught(|| self.account.take(amount, now));
        self.faults += u64::from(taken.is_err());
        self.refresh(now);
        taken
    }

    /// How often it panicked.
    #[must_use]
    pub const fn faults(&self) -> u64 {
        self.faults
    }

    fn failed(&mut self, cause: Arc<str>) {
        self.faults += 1;
        self.fault = Some(cause);
    }

    /// Runs a change; a panic is counted, and concerns nobody who asks.
    fn change(&mut self, now: Time, change: impl FnOnce(&mut dyn Account)) {
        if caught(|| change(&mut *self.account)).is_err() {
            self.faults += 1;
        }
        self.refresh(now);
    }
}

fn caught<R>(call: impl FnOnce() -> R) -> Result<R, Arc<str>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| text(payload.as_ref()).into())
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let said = payload.downcast_ref::<&str>().copied();
    said.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

impl Account for Foreign {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn capacity(&self, now: Time) -> u64 {
        // After a panic somebody has to ask, to be refused with it.
        caught(|| self.account.capacity(now)).unwrap_or(u64::MAX)
    }

    fn available(&self, _now: Time) -> i128 {
        self.seen
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        if self.seen >= level {
            return Horizon::At(now);
        }
        match caught(|| self.account.when(level, now)) {
            // What it has is read anew when time has passed: strictly later, or it would be asked for ever.
            Ok(Horizon::At(at)) => Horizon::At(at.max(Time::from_nanos(now.as_nanos() + 1))),
            Ok(Horizon::OnEvent) | Err(_) => Horizon::OnEvent,
        }
    }

    fn state(&self, now: Time) -> AccountState {
        caught(|| self.account.state(now)).unwrap_or(AccountState::Open)
    }

    fn head_only(&self, now: Time) -> bool {
        caught(|| self.account.head_only(now)).unwrap_or(false)
    }

    fn probe_over(&mut self, now: Time) {
        self.change(now, |account| account.probe_over(now));
    }

    fn take(&mut self, amount: u64, now: Time) {
        // The monitor calls `try_take`; whoever calls this has nobody to refuse.
        let _ = self.try_take(amount, now);
    }

    fn settle(&mut self, taken: u64, charged: u64, now: Time) {
        self.change(now, |account| account.settle(taken, charged, now));
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        self.change(now, |account| account.roll_back(amount, now));
    }

    fn verdict(&mut self, verdict: Verdict, now: Time) {
        self.change(now, |account| account.verdict(verdict, now));
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign")
            .field("kind", &self.kind)
            .field("seen", &self.seen)
            .field("faults", &self.faults)
            .finish_non_exhaustive()
    }
}
