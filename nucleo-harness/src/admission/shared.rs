//! The monitor behind its lock: every input runs the line before it leaves.
//!
//! One lock, held for a decision and never for I/O, a waker, a drop of foreign code or an await.
//! Wakers are collected under it and called after it. A pass ends after [`GRANTS_A_PASS`] decisions:
//! the rest is *owed*, and done by the next to enter or by the timer task, whichever is first.
//!
//! A panic inside the monitor is our bug: it is caught here, marks the monitor defective, and fails
//! every waiter and every later call with the cause, so that nobody hangs and nothing unwinds out of
//! a drop.
//!
//! Not here: the futures (`admit`), the timer task (`runtime::timer`), the rule (`nucleo-core`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;

use nucleo_core::{Action, AdmitError, Monitor, Time};
use smallvec::SmallVec;

use super::heard::{Batch, EVENTS_A_PASS, Heard, LimiterEvents, trace};
use super::seats::Seats;
use crate::runtime::{Bell, Clock};
use crate::sync::Mutex;

/// How many decisions one lock hold makes at most.
const GRANTS_A_PASS: usize = 64;

/// What the lock guards.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) monitor: Monitor,
    pub(crate) seats: Seats,
    /// The instant the timer task sleeps until; `None` while nothing is due by the clock.
    armed: Option<Time>,
    /// A pass ended early: there may be more to decide.
    owed: bool,
    defect: Option<Arc<str>>,
    pub(crate) sampling: Sampling,
}

/// Whether memory is being sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// Nobody samples it.
    Never,
    /// The sampler sleeps until its bell rings.
    Asleep,
    /// The sampler reads on.
    Awake,
}

/// The monitor, its lock, its clock, and the bell of the timer task.
#[derive(Debug)]
pub(crate) struct Shared {
    core: Mutex<Core>,
    clock: Arc<dyn Clock>,
    /// Rung when the timer task has to look again, and at the end.
    bell: Bell,
    /// Rung when the sampler has to read memory again, and at the end.
    sampler: Bell,
    heard: Mutex<Heard>,
}

/// Wakers to call once the lock is free.
type Wakers = SmallVec<[Waker; 8]>;

impl Shared {
    pub(crate) fn new(monitor: Monitor, clock: Arc<dyn Clock>) -> Self {
        let core = Core {
            monitor,
            seats: Seats::default(),
            armed: None,
            owed: false,
            defect: None,
            sampling: Sampling::Never,
        };
        Self {
            core: Mutex::new(core),
            clock,
            bell: Bell::default(),
            sampler: Bell::default(),
            heard: Mutex::default(),
        }
    }

    /// Runs an input under the lock and then the line, and wakes whoever can go.
    ///
    /// # Errors
    /// [`AdmitError::Defective`] when the monitor met a bug of its own, now or before.
    pub(crate) fn enter<R>(
        &self,
        input: impl FnOnce(&mut Core, Time) -> R,
    ) -> Result<R, AdmitError> {
        self.enter_then(input, |_, result| result)
    }

    /// As [`Shared::enter`], with a look at the outcome in the same lock hold.
    pub(crate) fn enter_then<R, S>(
        &self,
        input: impl FnOnce(&mut Core, Time) -> R,
        after: impl FnOnce(&mut Core, R) -> S,
    ) -> Result<S, AdmitError> {
        let mut wakers = Wakers::new();
        let (mut ring, mut wake_sampler) = (false, false);
        let mut batch = Batch::new();
        let result = {
            let mut core = self.core.lock();
            if let Some(cause) = &core.defect {
                return Err(AdmitError::Defective { cause: Arc::clone(cause) });
            }
            // Under the lock, so that time and order of entry agree.
            let now = self.clock.now();
            let pass = catch_unwind(AssertUnwindSafe(|| {
                let result = input(&mut core, now);
                core.run_line(now, &mut wakers);
                ring = core.arm();
                wake_sampler = core.wakes_sampler();
                batch.extend(core.monitor.events());
                after(&mut core, result)
            }));
            pass.map_err(|payload| core.fail(&panic_text(payload.as_ref()), &mut wakers))
        };
        for waker in wakers {
            waker.wake();
        }
        if ring {
            self.bell.ring();
        }
        if wake_sampler {
            self.sampler.ring();
        }
        if !batch.is_empty() {
            trace(&batch);
            self.heard.lock().hear(batch);
        }
        result
    }

    /// Runs the line, and says when the clock may bring something.
    pub(crate) fn turn(&self) -> Option<Time> {
        // Disarmed first, so that the line's new deadline is armed without ringing our own bell.
        self.enter_then(|core, _| core.armed = Some(Time::ZERO), |core, ()| core.due()).ok()?
    }

    /// Keeps the latest `most` limiter events from now on, for [`Shared::take_events`].
    pub(crate) fn listen(&self, most: usize) {
        self.touch(|core| core.monitor.keep_events(EVENTS_A_PASS));
        self.heard.lock().listen(most);
    }

    pub(crate) fn take_events(&self) -> LimiterEvents {
        self.heard.lock().take()
    }

    /// Touches the seats under the lock, also of a defective monitor, without running the line.
    pub(crate) fn touch<R>(&self, look: impl FnOnce(&mut Core) -> R) -> R {
        look(&mut self.core.lock())
    }

    /// Reads under the lock without running the line.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&Core) -> R) -> R {
        look(&self.core.lock())
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) const fn sampler(&self) -> &Bell {
        &self.sampler
    }

    pub(crate) const fn bell(&self) -> &Bell {
        &self.bell
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.bell.ring();
        self.sampler.ring();
    }
}

impl Core {
    /// Whether memory has to be read again; the sampler sleeps until it has.
    pub(crate) fn keeps_sampling(&mut self) -> bool {
        let matters = self.monitor.memory_matters();
        self.sampling = if matters { Sampling::Awake } else { Sampling::Asleep };
        matters
    }

    /// Says whether the sampler sleeps and has to wake.
    fn wakes_sampler(&mut self) -> bool {
        let wakes = self.sampling == Sampling::Asleep && self.monitor.memory_matters();
        if wakes {
            self.sampling = Sampling::Awake;
        }
        wakes
    }

    fn run_line(&mut self, now: Time, wakers: &mut Wakers) {
        self.owed = false;
        for _ in 0..GRANTS_A_PASS {
            let Some(action) = self.monitor.poll(now) else {
                return;
            };
            let ticket = action.ticket();
            let outcome = match action {
                Action::Admit(admitted) => Ok(admitted),
                Action::Reject(_, error) => Err(error),
            };
            wakers.extend(self.seats.decide(ticket, outcome));
        }
        self.owed = true;
    }

    /// When the line has to be run again without an input.
    fn due(&mut self) -> Option<Time> {
        let due = if self.owed { Some(Time::ZERO) } else { self.monitor.poll_timeout() };
        self.armed = due;
        due
    }

    /// Says whether the timer task has to hear of an earlier deadline.
    fn arm(&mut self) -> bool {
        let before = self.armed;
        let due = if self.owed { Some(Time::ZERO) } else { self.monitor.poll_timeout() };
        match (due, before) {
            (Some(due), Some(before)) if due >= before => false,
            (Some(due), _) => {
                self.armed = Some(due);
                true
            }
            // A deadline that is no more is slept through, harmlessly.
            (None, _) => false,
        }
    }

    fn fail(&mut self, text: &str, wakers: &mut Wakers) -> AdmitError {
        let cause: Arc<str> = text.into();
        tracing::error!(%cause, "admission is defective");
        let error = AdmitError::Defective { cause: Arc::clone(&cause) };
        self.defect = Some(cause);
        wakers.extend(self.seats.fail_all(&error));
        error
    }
}

/// What a panic said.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
