//! Bytes a parked waiter: the monitor's, the shell's, and the future's.
//!
//! What is resident before and after a million of them are parked, since counting allocations needs
//! an allocator of one's own. Nothing is freed in between, or what is freed would be handed out again
//! unseen.
//!
//! Not here: tasks (`examples/million`).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, Demand, Monitor, Time};
use nucleo_harness::admission::{Admission, Admit};
use nucleo_harness::runtime::ManualClock;

use super::measure::{Target, key, real, resident_bytes, row};

const WAITERS: u64 = 1_000_000;

/// A monitor whose three accounts are taken, so that everybody waits.
fn full() -> (Monitor, [AccountId; 3]) {
    let bucket = || TokenBucket::new(Rate::per_minute(1_000)).expect("within range");
    let mut monitor = Monitor::new();
    let accounts = [
        monitor.open("http", Permits::new(1)),
        monitor.open("requests", bucket()),
        monitor.open("tokens", bucket()),
    ];
    monitor.submit(demand(0, accounts), Time::ZERO);
    while monitor.poll(Time::ZERO).is_some() {}
    (monitor, accounts)
}

fn demand(number: u64, [http, requests, tokens]: [AccountId; 3]) -> Demand {
    Demand::new(key(number)).need(http, 1).need(requests, 1).need(tokens, 1_000)
}

fn bytes_each(work: impl FnOnce()) -> f64 {
    let before = resident_bytes();
    work();
    real(resident_bytes().saturating_sub(before)) / real(WAITERS)
}

pub(crate) fn measure() {
    let (mut monitor, accounts) = full();
    let monitors = bytes_each(|| {
        for number in 1..=WAITERS {
            monitor.submit(demand(number, accounts), Time::ZERO);
            while monitor.poll(Time::ZERO).is_some() {}
        }
    });
    assert_eq!(monitor.waiting() as u64, WAITERS, "everybody waits");
    let what = "a parked waiter, of the monitor's";
    row(what, "resident, over a million", monitors, " B", &Target::AtMost(256.0));

    let (other, accounts) = full();
    let admission = Admission::without_timer(other, Arc::new(ManualClock::new()));
    let mut parked: Vec<Admit> = Vec::new();
    let shells = bytes_each(|| {
        parked.reserve_exact(usize::try_from(WAITERS).expect("a million"));
        for number in 1..=WAITERS {
            let mut admit = admission.admit(demand(number, accounts));
            let polled =
                Future::poll(Pin::new(&mut admit), &mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending(), "everybody waits");
            parked.push(admit);
        }
    });
    let what = "the same with its seat and its future";
    row(what, "resident, over a million", shells, " B", &Target::None);
    let future = real(size_of::<Admit>() as u64);
    row("the parked future", "size of `Admit`", future, " B", &Target::AtMost(512.0));
    // A million departures, one by one from the front, take their time; the process's end does not.
    std::mem::forget((monitor, parked));
}
