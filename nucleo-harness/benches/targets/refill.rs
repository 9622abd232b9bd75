//! A hundred thousand grants at one instant, with and without as many blocked in front of them.
//!
//! The blocked stand in the very class of those who go, kept by an account of which they ask more
//! than is free; the head is stuck on an account of its own, so nothing of theirs is set aside.
//!
//! Invariants: with and without take turns, each time on a fresh monitor.
//!
//! Not here: delivering the grants (`hold`).

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{Action, Demand, Monitor, Span, Time};

use super::measure::{Samples, Target, Watch, key, row};

const GRANTS: u64 = 100_000;
const ROUNDS: usize = 7;

/// A line of `blocked` that can't go, then of those whose tokens come in a minute.
fn line(blocked: u64) -> Monitor {
    let mut monitor = Monitor::new();
    let stuck = monitor.open("stuck", Permits::new(1));
    let room = monitor.open("room", Permits::new(10 * GRANTS));
    let rate = Rate::per_minute(GRANTS);
    let tokens = monitor.open("tokens", TokenBucket::new(rate).expect("within range"));
    let first = [
        Demand::new(key(1)).need(stuck, 1),
        Demand::new(key(2)).need(stuck, 1),
        Demand::new(key(3)).need(room, 5 * GRANTS),
        Demand::new(key(4)).need(tokens, GRANTS),
    ];
    for demand in first {
        monitor.submit(demand, Time::ZERO);
    }
    while monitor.poll(Time::ZERO).is_some() {}
    for number in 0..blocked {
        let demand = Demand::new(key(10 + number)).need(room, 6 * GRANTS).need(tokens, 1);
        monitor.submit(demand, Time::ZERO);
    }
    for number in 0..GRANTS {
        let demand = Demand::new(key(10 + blocked + number)).need(room, 1).need(tokens, 1);
        monitor.submit(demand, Time::ZERO);
    }
    while monitor.poll(Time::ZERO).is_some() || monitor.poll_timeout() == Some(Time::ZERO) {}
    monitor
}

/// Grants everyone that can go, as the shell does: 64 a lock hold, then the deadline.
fn drain(monitor: &mut Monitor, now: Time) -> u64 {
    let mut granted = 0;
    loop {
        for _ in 0..64 {
            match monitor.poll(now) {
                Some(Action::Admit(_)) => granted += 1,
                Some(Action::Reject(ticket, error)) => panic!("{ticket:?} was refused: {error}"),
                None if monitor.poll_timeout().is_some_and(|at| at <= now) => break,
                None => return granted,
            }
        }
    }
}

pub(crate) fn measure() {
    let watch = Watch::new();
    let [mut alone, mut behind] = [const { Samples::new() }; 2];
    let refilled = Time::ZERO + Span::from_mins(1);
    for _ in 0..ROUNDS {
        for (blocked, samples) in [(0, &mut alone), (GRANTS, &mut behind)] {
            let mut monitor = line(blocked);
            let (span, granted) = watch.time(|| drain(&mut monitor, refilled));
            assert_eq!(granted, GRANTS, "the refill is for all of them");
            samples.push(span);
        }
    }
    let (alone, behind) = (alone.median() / 1e9, behind.median() / 1e9);
    let what = "100,000 grants after a refill, 100,000 blocked in front";
    let measured = format!("{:.0} ns a grant", behind * 1e9 / 1e5);
    row(what, &measured, behind, " s", &Target::AtMost(0.5));
    let what = "the same : without the blocked";
    let measured = format!("{behind:.3} s : {alone:.3} s");
    row(what, &measured, behind / alone, "x", &Target::AtMost(2.0));
}
