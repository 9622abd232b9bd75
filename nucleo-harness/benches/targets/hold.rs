//! How long the lock is held, with a hundred thousand parked in a hundred classes.
//!
//! A hundred models, each with its requests and its tokens a minute, share one pool of connections;
//! pool and buckets bind by turns. What is timed is whole calls that take the lock once: a settle, a
//! departure, an arrival, a turn of the timer. Each includes what comes after the lock, the calls of
//! wakers and the drop of what was replaced, so it bounds the hold from above.
//!
//! Not here: contention; every call comes from one thread.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, Demand, Monitor, Span};
use nucleo_harness::admission::{Admission, Admit, Ending, Grant};
use nucleo_harness::runtime::ManualClock;

use super::measure::{Samples, Target, Watch, key, row};

const CLASSES: usize = 100;
const WAITERS: usize = 100_000;
const STEPS: usize = 20_000;

type Woken = Arc<Mutex<Vec<usize>>>;

/// Wakes by writing down who.
struct Bell {
    place: usize,
    woken: Woken,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.woken.lock().expect("pushing can't panic").push(self.place);
    }
}

struct Crowd {
    admission: Admission,
    clock: Arc<ManualClock>,
    http: AccountId,
    models: Vec<(AccountId, AccountId)>,
    parked: Vec<Option<Admit>>,
    held: Vec<Grant>,
    woken: Woken,
    random: fastrand::Rng,
    watch: Watch,
    holds: Samples,
    jobs: u64,
}

impl Crowd {
    fn new() -> Self {
        let bucket = |rate| TokenBucket::new(rate).expect("within range");
        let mut monitor = Monitor::new();
        let http = monitor.open("http", Permits::new(500));
        let models = (0..CLASSES).map(|model| {
            let requests = bucket(Rate::per_minute(600).burst(10));
            let tokens = bucket(Rate::per_minute(600_000).burst(10_000));
            let requests = monitor.open(format!("requests {model}"), requests);
            (requests, monitor.open(format!("tokens {model}"), tokens))
        });
        let models = models.collect();
        let clock = Arc::new(ManualClock::new());
        let admission = Admission::without_timer(monitor, clock.clone());
        let mut crowd = Self {
            admission,
            clock,
            http,
            models,
            parked: (0..WAITERS).map(|_| None).collect(),
            held: Vec::new(),
            woken: Woken::default(),
            random: fastrand::Rng::with_seed(11),
            watch: Watch::new(),
            holds: Samples::new(),
            jobs: 0,
        };
        (0..WAITERS).for_each(|place| crowd.arrive(place));
        crowd
    }

    /// Arrives at a place, again and again while it is let go at once.
    fn arrive(&mut self, place: usize) {
        while self.parked[place].is_none() {
            self.jobs += 1;
            let (requests, tokens) = self.models[self.random.usize(0..CLASSES)];
            let amount = self.random.u64(100..2_000);
            let demand = Demand::new(key(self.jobs)).need(self.http, 1);
            let admit = self.admission.admit(demand.need(requests, 1).need(tokens, amount));
            self.parked[place] = Some(admit);
            self.look(place);
        }
    }

    /// Polls a place.
    fn look(&mut self, place: usize) {
        let waker = Waker::from(Arc::new(Bell { place, woken: Arc::clone(&self.woken) }));
        let admit = self.parked[place].as_mut().expect("who is woken is parked");
        let polled =
            self.watch.time(|| Future::poll(Pin::new(admit), &mut Context::from_waker(&waker)));
        self.holds.push(polled.0);
        if let Poll::Ready(grant) = polled.1 {
            self.parked[place] = None;
            self.held.push(grant.expect("nothing refuses"));
        }
    }

    fn step(&mut self) {
        self.clock.advance(Span::from_millis(1));
        let span = match self.random.u32(0..4) {
            0 => {
                let place = self.random.usize(0..WAITERS);
                let left = self.parked[place].take();
                let (span, ()) = self.watch.time(|| drop(left));
                self.arrive(place);
                span
            }
            1 => {
                let (span, _due) = self.watch.time(|| self.admission.turn());
                span
            }
            _ if self.held.is_empty() => return,
            _ => {
                let mut grant = self.held.swap_remove(self.random.usize(0..self.held.len()));
                grant.mark_sent();
                let (span, ()) = self.watch.time(|| grant.settle(Ending::default()));
                span
            }
        };
        self.holds.push(span);
        let woken = std::mem::take(&mut *self.woken.lock().expect("pushing can't panic"));
        for place in woken {
            if self.parked[place].is_some() {
                self.look(place);
                self.arrive(place);
            }
        }
    }
}

pub(crate) fn measure() {
    let mut crowd = Crowd::new();
    crowd.holds = Samples::new();
    (0..STEPS).for_each(|_| crowd.step());
    let mut holds = std::mem::replace(&mut crowd.holds, Samples::new());
    let (median, tail) = (holds.median() / 1e3, holds.permille(990) / 1e3);
    let last = holds.permille(999) / 1e3;
    let measured = format!("median {median:.1} us, 99.9 % within {last:.1} us");
    let what = "lock hold, 99th percentile, 100,000 parked in 100 classes";
    row(what, &measured, tail, " us", &Target::AtMost(100.0));
    // As in `memory`: the process's end is quicker than a hundred thousand departures.
    std::mem::forget(crowd);
}
