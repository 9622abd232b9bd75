//! Where time comes from: the only file that reads a clock or sleeps.
//!
//! Everything else takes a [`Time`]. The real clock is tokio's, so that a paused runtime is a
//! deterministic world; [`ManualClock`] stands still until it is told.
//!
//! Invariants: a clock never goes back; a sleep may end late, so whoever sleeps reads `now` after.
//!
//! Not here: deadlines (`nucleo-core`), timeouts (`attempt`).

use std::fmt;
use std::sync::Mutex;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use nucleo_core::{Span, Time};

/// Reads time, and sleeps until an instant.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now, since the clock's origin.
    fn now(&self) -> Time;

    /// Ends at `at` or later.
    ///
    /// # Cancel safety
    /// Dropping it ends the sleep; nothing else is lost.
    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()>;

    /// The time of day since the Unix epoch, for calendars and for dates that a server sends; never
    /// for a decision about order.
    fn wall(&self) -> Span;
}

/// Tokio's clock, with its origin at the construction.
#[derive(Clone, Debug)]
pub struct TokioClock {
    origin: tokio::time::Instant,
    wall: Span,
}

impl TokioClock {
    /// A clock that starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn start() -> Self {
        Self::at(since_epoch(SystemTime::now()))
    }

    /// A clock that starts now, at this time of day (since the Unix epoch) whatever the system's is:
    /// for worlds that are to be the same every time.
    #[must_use]
    pub fn at(wall: Span) -> Self {
        Self { origin: tokio::time::Instant::now(), wall }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Time {
        Time::ZERO.saturating_add(Span::from(self.origin.elapsed()))
    }

    fn sleep_until(&self, at: Time) -> BoxFuture<'static, ()> {
        // Tokio's own far future: an instant that does not exist is never reached.
        let far = Span::from_mins(60 * 24 * 365 * 30);
        let until = self.origin + at.since(Time::ZERO).min(far).to_std();
        Box::pin(tokio::time::sleep_until(until))
    }

    fn wall(&self) -> Span {
        self.wall.saturating_add(Span::from(self.origin.elapsed()))
    }
}

/// A clock that stands still until it is told: for tests that need no runtime.
#[derive(Debug, Default)]
pub struct ManualClock {
    now: Mutex<Time>,
}

impl ManualClock {
    /// A clock at its origin.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward.
    ///
    /// # Panics
    /// When an earlier move panicked while it held the clock, which it can't.
    pub fn advance(&self, span: Span) {
        let mut now = self.now.lock().expect("moving the clock can't panic");
        *now = now.saturating_add(span);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        *self.now.lock().expect("moving the clock can't panic")
    }

    fn sleep_until(&self, _at: Time) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn wall(&self) -> Span {
        self.now().since(Time::ZERO)
    }
}

/// The system's time of day, for those who have no runtime's clock at hand.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub fn system_wall() -> SystemTime {
    SystemTime::now()
}

/// A time of day (since the Unix epoch) as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(wall: Span) -> String {
    // The last instant that the form has.
    let end = Span::from_secs(253_402_300_799);
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + wall.min(end).to_std())
}

/// A time of day as a span; zero before 1970.
fn since_epoch(time: SystemTime) -> Span {
    Span::from(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
