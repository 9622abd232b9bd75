//! Scripts of the gate under the adaptive profile; the conservative one has its cases.

use std::num::NonZeroU64;

use super::{Ask, MemoryGate, MemoryProfile, Reading, Zone};
use crate::account::Horizon;
use crate::time::{Span, Time};

/// A gate whose limit is 1,024 bytes (a power of two: its shares add up exactly), at an instant.
struct Script {
    gate: MemoryGate,
    now: Time,
    number: u64,
}

impl Script {
    fn new(profile: MemoryProfile) -> Self {
        Self { gate: MemoryGate::new(profile, 0), now: Time::ZERO, number: 0 }
    }

    fn read(&mut self, used: u64) {
        let limit = NonZeroU64::new(1_024).unwrap();
        self.gate.read(Reading::live(used, limit), self.now);
    }

    fn pass(&mut self, ms: u64) {
        self.now = self.now + Span::from_millis(ms);
    }

    /// Lets through as many as may go of `waiting` jobs that state so many bytes; the rest waits.
    fn drain(&mut self, waiting: usize, stated: u64) -> usize {
        for gone in 0..waiting {
            if let Ask::Wait(_) = self.gate.ask(self.now, stated) {
                self.number += 1;
                self.gate.join(waiting - gone, self.number);
                return gone;
            }
            if self.gate.status(self.now).waiting > 0 {
                self.gate.left(self.number);
            }
            self.gate.released(self.now, stated);
        }
        waiting
    }

    fn due(&self, stated: u64) -> Time {
        match self.gate.ask(self.now, stated) {
            Ask::Wait(Horizon::At(at)) => at,
            other => panic!("{other:?} has no instant"),
        }
    }
}

#[test]
fn a_burst_goes_up_to_the_headroom_and_the_rest_waits() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(100);
    assert_eq!(script.drain(3_000, 1), 821);
    assert_eq!(script.gate.status(script.now).zone, Zone::Draining);
    script.pass(100);
    script.read(300);
    assert_eq!(script.drain(2_179, 1), 0, "200 have shown, 621 are expected still");
}

#[test]
fn a_burst_under_the_conservative_profile_goes_whole() {
    let mut script = Script::new(MemoryProfile::Conservative);
    script.read(100);
    assert_eq!(script.drain(3_000, 1), 3_000);
}

#[test]
fn one_completion_lets_a_batch_through_and_at_least_one() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(0);
    assert_eq!(script.drain(100, 100), 9);
    script.pass(100);
    script.read(900);
    script.gate.completed(100);
    assert_eq!(script.drain(91, 100), 1, "no room, and yet one");
    script.pass(100);
    script.read(500);
    script.gate.completed(100);
    assert_eq!(script.drain(90, 100), 3, "one is expected still, and 921 is the room");
}

#[test]
fn a_job_larger_than_the_headroom_goes_when_nothing_else_runs() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(100);
    assert_eq!(script.drain(2, 5_000), 1);
    script.gate.completed(5_000);
    assert_eq!(script.drain(1, 5_000), 1);
}

#[test]
fn ten_calm_seconds_halve_the_penalty_and_the_deadline_knows() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(400);
    assert_eq!(script.drain(1, 100), 1);
    script.read(500);
    assert_eq!(script.drain(1, 100), 1);
    script.pass(1);
    script.read(870);
    let due = script.due(100);
    // 2^44 is past the cap: an hour at first. After 17 halvings the curve alone is left.
    assert!(due <= Time::from_millis(1 + 170_000), "{due}");
    assert!(due > Time::from_millis(60_000), "{due}");
    let before = Time::from_nanos(due.as_nanos() - 1);
    assert!(matches!(script.gate.ask(before, 100), Ask::Wait(Horizon::At(at)) if at == due));
    assert_eq!(script.gate.ask(due, 100), Ask::Go);
    // A percent more begins the calm anew.
    script.pass(60_000);
    script.read(885);
    assert!(script.due(100) > due);
}

#[test]
fn noise_of_less_than_a_percent_is_calm() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(400);
    assert_eq!(script.drain(1, 100), 1);
    assert_eq!(script.drain(1, 100), 1);
    script.pass(1);
    script.read(870);
    let due = script.due(100);
    for used in [871, 873, 869, 876] {
        script.pass(1_000);
        script.read(used);
    }
    script.read(870);
    assert_eq!(script.due(100), due);
}

#[test]
fn the_latch_is_shut_to_everyone() {
    let mut script = Script::new(MemoryProfile::Adaptive);
    script.read(973);
    assert_eq!(script.gate.ask(script.now, 1), Ask::Wait(Horizon::OnEvent));
    script.read(922);
    assert_eq!(script.gate.status(script.now).zone, Zone::Critical);
    script.read(921);
    assert_eq!(script.gate.ask(script.now, 1), Ask::Go);
}
