//! Admit and settle with nobody else there, beside a semaphore and rate limiters.
//!
//! Invariants: in every round each of them does the same number of operations, one after the other;
//! the ratio is that of their medians over the rounds. A round is short beside a time slice, or the
//! slower one would be preempted in most of its rounds and the faster in few.
//!
//! Not here: lines (`parked`).

use std::num::NonZeroU32;
use std::sync::Arc;

use futures_util::FutureExt as _;
use governor::{Quota, RateLimiter};
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, AttemptKey, Charge, Demand, Monitor, Settlement};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::{Clock, TokioClock};
use tokio::sync::Semaphore;

use super::measure::{Samples, Target, Watch, key, real, row};

const ROUNDS: usize = 3_001;
const OPERATIONS: u32 = 100;
const PLENTY: u64 = 1_000_000_000_000;

/// Accounts that never bind.
struct Roomy {
    admission: Admission,
    http: AccountId,
    requests: AccountId,
    tokens: AccountId,
    attempt: AttemptKey,
}

impl Roomy {
    fn new(clock: Arc<dyn Clock>) -> Self {
        let bucket = || TokenBucket::new(Rate::per_minute(PLENTY)).expect("within range");
        let mut monitor = Monitor::new();
        let http = monitor.open("http", Permits::new(100));
        let requests = monitor.open("requests", bucket());
        let tokens = monitor.open("tokens", bucket());
        let admission = Admission::without_timer(monitor, clock);
        Self { admission, http, requests, tokens, attempt: key(1) }
    }

    fn admit_and_settle(&self) {
        let demand = Demand::new(self.attempt).need(self.http, 1);
        let demand = demand.need(self.requests, 1).need(self.tokens, 1_000);
        let grant = self.admission.admit(demand).now_or_never();
        let mut grant = grant.expect("nothing binds").expect("nothing refuses");
        grant.mark_sent();
        let used = Settlement::in_full().charge(self.tokens, Charge::Used(640));
        grant.settle(Ending::new(used));
    }
}

pub(crate) fn measure() {
    let clock = Arc::new(TokioClock::start());
    let roomy = Roomy::new(clock.clone());
    let semaphore = Semaphore::new(100);
    let quota = Quota::per_second(NonZeroU32::new(1_000_000_000).expect("not zero"));
    let (requests, tokens) = (RateLimiter::direct(quota), RateLimiter::direct(quota));
    let acquire = || semaphore.acquire().now_or_never().expect("nothing binds").expect("open");

    let watch = Watch::new();
    let [mut ours, mut with_clock, mut with_governor] = [const { Samples::new() }; 3];
    for _ in 0..ROUNDS {
        let round = |samples: &mut Samples, operation: &dyn Fn()| {
            samples.push(watch.time(|| (0..OPERATIONS).for_each(|_| operation())).0);
        };
        round(&mut ours, &|| roomy.admit_and_settle());
        round(&mut with_clock, &|| {
            let permit = acquire();
            std::hint::black_box(clock.now());
            drop(permit);
        });
        round(&mut with_governor, &|| {
            let permit = acquire();
            std::hint::black_box((requests.check().is_ok(), tokens.check().is_ok()));
            drop(permit);
        });
    }
    let each = |samples: &mut Samples| samples.median() / real(u64::from(OPERATIONS));
    let (ours, with_clock, with_governor) =
        (each(&mut ours), each(&mut with_clock), each(&mut with_governor));
    let what = "admit + settle, 3 accounts, nobody else : semaphore + clock";
    let measured = format!("{ours:.0} ns : {with_clock:.0} ns");
    row(what, &measured, ours / with_clock, "x", &Target::AtMost(3.0));
    let what = "admit + settle, 3 accounts, nobody else : semaphore + 2 governor checks";
    let measured = format!("{ours:.0} ns : {with_governor:.0} ns");
    row(what, &measured, ours / with_governor, "x", &Target::AtMost(2.0));
}
