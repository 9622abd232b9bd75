//! Single operations beside the peers', by `divan`: `cargo bench -p nucleo-harness --bench peers`.
//!
//! The peers decide less: a semaphore knows one count, a rate limiter one rate, and the two in
//! sequence hold the one while they ask the other. They are here so that the price of deciding all at
//! once is known.
//!
//! Not here: ratios against targets (`targets`), where both sides take turns.

use std::num::NonZeroU32;
use std::sync::Arc;

use divan::{Bencher, black_box};
use futures_util::FutureExt as _;
use governor::{Quota, RateLimiter};
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AttemptKey, Demand, JobId, Monitor, WorkflowId};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::{Clock, TokioClock};
use tokio::sync::Semaphore;

fn main() {
    divan::main();
}

fn key() -> AttemptKey {
    JobId::root(WorkflowId::from_u128(1)).attempt(1)
}

fn quota() -> Quota {
    Quota::per_second(NonZeroU32::new(1_000_000_000).expect("not zero"))
}

/// One account of permits and the rest buckets, all roomy: admit, send, settle.
#[divan::bench(args = [1, 2, 3, 6])]
fn nucleo_admit_and_settle(bencher: Bencher<'_, '_>, accounts: usize) {
    let mut monitor = Monitor::new();
    let mut ids = vec![monitor.open("http", Permits::new(100))];
    for number in 1..accounts {
        let bucket = TokenBucket::new(Rate::per_minute(1_000_000_000_000)).expect("within range");
        ids.push(monitor.open(format!("bucket {number}"), bucket));
    }
    let admission = Admission::without_timer(monitor, Arc::new(TokioClock::start()));
    let attempt = key();
    bencher.bench_local(|| {
        let demand = ids.iter().fold(Demand::new(attempt), |demand, id| demand.need(*id, 1));
        let grant = admission.admit(demand).now_or_never();
        let mut grant = grant.expect("nothing binds").expect("nothing refuses");
        grant.mark_sent();
        grant.settle(Ending::default());
    });
}

#[divan::bench]
fn clock_read(bencher: Bencher<'_, '_>) {
    let clock = TokioClock::start();
    bencher.bench_local(|| clock.now());
}

#[divan::bench]
fn semaphore_acquire_and_drop(bencher: Bencher<'_, '_>) {
    let semaphore = Semaphore::new(100);
    bencher.bench_local(|| {
        let permit = semaphore.acquire().now_or_never();
        drop(black_box(permit.expect("nothing binds").expect("open")));
    });
}

#[divan::bench]
fn governor_check(bencher: Bencher<'_, '_>) {
    let limiter = RateLimiter::direct(quota());
    bencher.bench_local(|| limiter.check().is_ok());
}

#[divan::bench]
fn semaphore_then_two_governor_checks(bencher: Bencher<'_, '_>) {
    let semaphore = Semaphore::new(100);
    let (requests, tokens) = (RateLimiter::direct(quota()), RateLimiter::direct(quota()));
    bencher.bench_local(|| {
        let permit = semaphore.acquire().now_or_never();
        let permit = permit.expect("nothing binds").expect("open");
        black_box((requests.check().is_ok(), tokens.check().is_ok()));
        drop(black_box(permit));
    });
}
