//! Elastic window: so many in a window that stretches under pushback, for a server whose limit
//! nobody knows; with a circuit that opens when stretching does not help.
//!
//! At most `n` requests are younger than `width x (1 + t)`. Pushback adds 1 to `t`, up to 9; every
//! third success takes 0.2 off. The third pushback in a row at `t = 9` opens the circuit: everyone is
//! refused for a cooldown, 30 s at first and doubled up to an hour; after it only the head of the line
//! may go, as a *probe*, and its answer closes the circuit or opens it again. A probe that ends
//! without an answer lets the next head probe at once.
//!
//! Invariants: `t` is held in integer tenths, so instants are exact; what is given back drops the
//! newest stamp; stamps that are too old to count under the widest window are forgotten.
//!
//! Not here: known limits (`token_bucket`), who the head is (`admission`).

use std::collections::VecDeque;

use super::token_bucket::RateError;
use crate::account::{Account, AccountState, Horizon, Kind, Reason, Verdict};
use crate::time::{Span, Time};

/// The most that a window may hold: each request in it is remembered.
pub const WINDOW_MAX: u64 = 1_000_000;

/// The widest stretch, in tenths: 9.
const STRETCH_MAX: u64 = 90;
/// What pushback adds, in tenths.
const PUSHBACK: u64 = 10;
/// What every third success takes off, in tenths.
const RELIEF: u64 = 2;
/// So many pushbacks in a row at the widest stretch open the circuit.
const OPENS_AT: u32 = 3;
/// The first cooldown.
const COOLDOWN_MIN: Span = Span::from_secs(30);
/// The longest.
const COOLDOWN_MAX: Span = Span::from_mins(60);

/// Where the circuit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Circuit {
    Closed,
    /// Open until an instant; from then on a probe may go.
    Open {
        until: Time,
        opened: Time,
    },
    /// A probe is under way.
    Probing {
        opened: Time,
    },
}

/// So many in a window that stretches under pushback.
///
/// ```
/// use nucleo_core::limits::ElasticWindow;
/// use nucleo_core::{Account, Horizon, Span, Time, Verdict};
/// let mut window = ElasticWindow::new(2, Span::from_secs(1)).unwrap();
/// window.take(2, Time::ZERO);
/// assert_eq!(window.when(1, Time::ZERO), Horizon::At(Time::from_millis(1_000)));
/// window.verdict(Verdict::Pushback { sent: Time::ZERO, steps: 1 }, Time::ZERO);
/// assert_eq!(window.when(1, Time::ZERO), Horizon::At(Time::from_millis(2_000)));
/// ```
#[derive(Clone, Debug)]
pub struct ElasticWindow {
    capacity: u64,
    width: Span,
    /// When each request went, oldest first.
    stamps: VecDeque<Time>,
    stretch: u64,
    successes: u32,
    /// Pushbacks in a row at the widest stretch.
    hopeless: u32,
    cooldown: Span,
    circuit: Circuit,
    outstanding: u64,
}

impl ElasticWindow {
    /// At most `capacity` in a window of `width`.
    ///
    /// # Errors
    /// [`RateError`] when the capacity is zero or past [`WINDOW_MAX`], or the width is zero.
    pub const fn new(capacity: u64, width: Span) -> Result<Self, RateError> {
        if capacity == 0 || capacity > WINDOW_MAX || width.as_nanos() == 0 {
            return Err(RateError { rate: capacity, burst: capacity });
        }
        Ok(Self {
            capacity,
            width,
            stamps: VecDeque::new(),
            stretch: 0,
            successes: 0,
            hopeless: 0,
            cooldown: COOLDOWN_MIN,
            circuit: Circuit::Closed,
            outstanding: 0,
        })
    }

    /// How far the window is stretched, in tenths: 0 to 90.
    #[must_use]
    pub const fn stretch_tenths(&self) -> u64 {
        self.stretch
    }

    /// The window as it is stretched now: `width x (1 + t)`, exact in tenths.
    const fn window(&self) -> Span {
        let tenths = self.width.as_nanos() as u128 * (10 + self.stretch) as u128;
        // Rounded up: a request is never let go before the window has passed.
        let ns = tenths.div_ceil(10);
        Span::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// How many stamps count at an instant.
    fn counted(&self, now: Time) -> u64 {
        let window = self.window();
        let over = self.stamps.partition_point(|stamp| stamp.saturating_add(window) <= now);
        (self.stamps.len() - over) as u64
    }

    fn half_open(&self, now: Time) -> bool {
        matches!(self.circuit, Circuit::Open { until, .. } if until <= now)
    }

    /// Forgets what can't count any more, however far the window stretches.
    fn forget(&mut self, now: Time) {
        let widest = self.width.saturating_mul(1 + STRETCH_MAX / 10);
        while self.stamps.front().is_some_and(|stamp| stamp.saturating_add(widest) <= now) {
            self.stamps.pop_front();
        }
    }

    fn open(&mut self, now: Time) {
        let until = now.saturating_add(self.cooldown);
        self.circuit = Circuit::Open { until, opened: now };
        self.cooldown = self.cooldown.saturating_mul(2).min(COOLDOWN_MAX);
        self.hopeless = 0;
    }

    fn success(&mut self) {
        self.hopeless = 0;
        if self.circuit != Circuit::Closed {
            self.circuit = Circuit::Closed;
            self.cooldown = COOLDOWN_MIN;
        }
        self.successes += 1;
        if self.successes == 3 {
            self.successes = 0;
            self.stretch = self.stretch.saturating_sub(RELIEF);
        }
    }

    fn pushback(&mut self, sent: Time, now: Time) {
        match self.circuit {
            // One that left before the circuit opened is old news.
            Circuit::Open { opened, .. } | Circuit::Probing { opened } if sent < opened => return,
            Circuit::Open { .. } | Circuit::Probing { .. } => return self.open(now),
            Circuit::Closed => {}
        }
        self.stretch = (self.stretch + PUSHBACK).min(STRETCH_MAX);
        if self.stretch == STRETCH_MAX {
            self.hopeless += 1;
            if self.hopeless == OPENS_AT {
                self.open(now);
            }
        }
    }

    fn give_back(&mut self, amount: u64) {
        let left = self.outstanding.checked_sub(amount);
        self.outstanding = left.expect("elastic window: gave back more than was taken");
    }
}

impl Account for ElasticWindow {
    fn kind(&self) -> Kind {
        Kind::Metered
    }

    fn capacity(&self, _now: Time) -> u64 {
        self.capacity
    }

    fn available(&self, now: Time) -> i128 {
        match self.circuit {
            Circuit::Closed => i128::from(self.capacity) - i128::from(self.counted(now)),
            Circuit::Open { .. } if self.half_open(now) => i128::from(self.capacity),
            Circuit::Open { .. } | Circuit::Probing { .. } => 0,
        }
    }

    fn when(&self, level: i128, now: Time) -> Horizon {
        if self.available(now) >= level {
            return Horizon::At(now);
        }
        match self.circuit {
            Circuit::Open { until, .. } => Horizon::At(until.max(now)),
            Circuit::Probing { .. } => Horizon::OnEvent,
            Circuit::Closed => {
                // So many of the oldest stamps have to go.
                let kept = i128::from(self.capacity) - level;
                let Ok(kept) = usize::try_from(kept) else {
                    return Horizon::OnEvent;
                };
                let last = self.stamps.len().checked_sub(kept + 1);
                let stamp = last.and_then(|at| self.stamps.get(at));
                stamp.map_or(Horizon::OnEvent, |stamp| {
                    Horizon::At(stamp.saturating_add(self.window()).max(now))
                })
            }
        }
    }

    fn state(&self, now: Time) -> AccountState {
        match self.circuit {
            Circuit::Open { until, .. } if now < until => {
                AccountState::Refusing(Reason::CircuitOpen)
            }
            _ => AccountState::Open,
        }
    }

    fn head_only(&self, now: Time) -> bool {
        self.half_open(now)
    }

    fn take(&mut self, amount: u64, now: Time) {
        self.forget(now);
        if self.half_open(now)
            && let Circuit::Open { opened, .. } = self.circuit
        {
            self.circuit = Circuit::Probing { opened };
        }
        for _ in 0..amount {
            self.stamps.push_back(now);
        }
        let outstanding = self.outstanding.checked_add(amount);
        self.outstanding = outstanding.expect("taken of a window past u64::MAX");
    }

    fn settle(&mut self, taken: u64, charged: u64, now: Time) {
        self.give_back(taken);
        self.forget(now);
        for _ in charged..taken {
            self.stamps.pop_back();
        }
    }

    fn roll_back(&mut self, amount: u64, now: Time) {
        self.settle(amount, 0, now);
    }

    fn probe_over(&mut self, now: Time) {
        if let Circuit::Probing { opened } = self.circuit {
            self.circuit = Circuit::Open { until: now, opened };
        }
    }

    fn verdict(&mut self, verdict: Verdict, now: Time) {
        match verdict {
            Verdict::Success => self.success(),
            Verdict::Pushback { sent, .. } => self.pushback(sent, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_millis(s * 1_000)
    }

    fn pushback(window: &mut ElasticWindow, s: u64) {
        window.verdict(Verdict::Pushback { sent: at(s), steps: 1 }, at(s));
    }

    #[test]
    fn stretches_by_one_and_relaxes_by_a_fifth_every_third_success() {
        let mut window = ElasticWindow::new(1, Span::from_secs(10)).unwrap();
        for _ in 0..20 {
            window.verdict(Verdict::Success, at(0));
        }
        assert_eq!(window.stretch_tenths(), 0);
        pushback(&mut window, 1);
        assert_eq!(window.stretch_tenths(), 10);
        for (successes, tenths) in [(1, 8), (3, 6), (3, 4)] {
            (0..successes).for_each(|_| window.verdict(Verdict::Success, at(2)));
            assert_eq!(window.stretch_tenths(), tenths);
        }
    }

    #[test]
    fn the_circuit_opens_probes_and_doubles_its_cooldown() {
        let mut window = ElasticWindow::new(5, Span::from_secs(1)).unwrap();
        for s in 0..10 {
            pushback(&mut window, s);
        }
        assert_eq!(window.state(at(10)), AccountState::Open, "two at the widest stretch");
        pushback(&mut window, 10);
        assert_eq!(window.state(at(39)), AccountState::Refusing(Reason::CircuitOpen));
        assert_eq!(window.when(1, at(20)), Horizon::At(at(40)));
        assert!(window.head_only(at(40)));
        window.take(1, at(40));
        assert_eq!(window.available(at(40)), 0, "one probe at a time");
        window.roll_back(1, at(41));
        window.probe_over(at(41));
        assert!(window.head_only(at(41)), "the next head may probe at once");
        window.take(1, at(41));
        pushback(&mut window, 41);
        assert_eq!(window.when(1, at(42)), Horizon::At(at(101)), "60 s now");
        window.take(1, at(101));
        window.verdict(Verdict::Success, at(102));
        assert!(window.available(at(200)) == 5 && !window.head_only(at(200)));
    }

    #[test]
    fn the_promised_instant_is_exact() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut window = ElasticWindow::new(5, Span::from_nanos(random.u64(1..5_000))).unwrap();
            let mut now = Time::ZERO;
            for _ in 0..60 {
                now = now + Span::from_nanos(random.u64(0..3_000));
                let free = u64::try_from(window.available(now).max(0)).unwrap();
                match random.u8(0..4) {
                    0 if free > 0 => window.take(random.u64(1..=free), now),
                    1 if window.outstanding > 0 => window.settle(1, random.u64(0..2), now),
                    2 => window.verdict(Verdict::Success, now),
                    _ if window.stretch < 80 => {
                        window.verdict(Verdict::Pushback { sent: now, steps: 1 }, now);
                    }
                    _ => {}
                }
                let level = random.i128(1..=5);
                if let Horizon::At(at) = window.when(level, now) {
                    assert!(window.available(at) >= level);
                    let before = Time::from_nanos(at.as_nanos().saturating_sub(1)).max(now);
                    assert!(
                        at == now || window.available(before) < level,
                        "not later than need be"
                    );
                }
            }
        }
    }
}
