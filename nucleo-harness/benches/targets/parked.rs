//! One settle that lets one waiter go, with `N` of them parked.
//!
//! Three lines: *head*, where the head is the one that goes; *one need*, where the head is stuck on
//! an account of its own and followers ask random amounts of one account that binds; *two needs*,
//! where they ask `a` of one and `100 - a` of another, so that the smallest needs of any stretch of
//! the line say nothing about whether anybody in it fits. The last, *worst*, is made against the
//! index: the only one who fits stands at the very end, and everybody before asks too much of the one
//! account or of the other, by turns.
//!
//! What is timed is from the settle to its grant, over as many lock holds as that takes.
//!
//! Invariants: the line is back at `N` before each settle. The monitor is driven as the shell drives
//! it: up to 64 polls a lock hold, then its deadline.
//!
//! Not here: the lock and the wake-up (`hold`, `uncontended`).

use nucleo_core::limits::Permits;
use nucleo_core::{AccountId, Action, Demand, Monitor, Settlement, Span, Ticket, Time};

use super::measure::{Samples, Target, Watch, key, row};

const LENGTHS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
const DECISIONS_A_HOLD: usize = 64;

#[derive(Clone, Copy)]
enum Shape {
    Head,
    OneNeed,
    TwoNeeds,
    Worst,
}

/// A line under load.
struct Line {
    monitor: Monitor,
    shape: Shape,
    first: AccountId,
    second: AccountId,
    held: Vec<Ticket>,
    random: fastrand::Rng,
    now: Time,
    jobs: u64,
}

impl Line {
    fn new(shape: Shape, length: u64) -> Self {
        let mut monitor = Monitor::new();
        let stuck = monitor.open("stuck", Permits::new(1));
        let capacity = if matches!(shape, Shape::Worst) { 149 } else { 5_000 };
        let first = monitor.open("first", Permits::new(capacity));
        let second = monitor.open("second", Permits::new(capacity));
        let (held, random, now) = (Vec::new(), fastrand::Rng::with_seed(7), Time::ZERO);
        let mut line = Self { monitor, shape, first, second, held, random, now, jobs: 0 };
        if !matches!(shape, Shape::Head) {
            for _ in 0..2 {
                let demand = Demand::new(key(u64::MAX)).need(stuck, 1);
                line.monitor.submit(demand, line.now);
            }
            line.settle_down();
            line.held.clear();
        }
        if matches!(shape, Shape::Worst) {
            // Held for good, so that 49 of each are left.
            line.monitor.submit(Demand::new(key(u64::MAX)).need(first, 100).need(second, 100), now);
            line.settle_down();
            line.held.clear();
            line.submit(40, 40);
            line.settle_down();
            (2..length).for_each(|number| line.submit(1 + number % 99, 99 - number % 99));
            line.submit(40, 40);
            line.settle_down();
            return line;
        }
        line.fill(length);
        line
    }

    fn submit(&mut self, first: u64, second: u64) {
        self.now = self.now + Span::from_nanos(1_000);
        self.jobs += 1;
        let demand = Demand::new(key(self.jobs)).need(self.first, first).need(self.second, second);
        self.monitor.submit(demand, self.now);
    }

    /// Brings the line to its length.
    fn fill(&mut self, length: u64) {
        while (self.monitor.waiting() as u64) < length {
            let amount = self.random.u64(1..100);
            match self.shape {
                Shape::Head => self.submit(50, 50),
                Shape::OneNeed => self.submit(amount, 1),
                Shape::TwoNeeds => self.submit(amount, 100 - amount),
                Shape::Worst => self.submit(40, 40),
            }
            self.settle_down();
        }
    }

    /// Runs the line until it is at rest.
    fn settle_down(&mut self) {
        while self.hold() {}
    }

    /// One lock hold; says whether another has to follow at once.
    fn hold(&mut self) -> bool {
        let grants = (0..DECISIONS_A_HOLD).take_while(|_| self.grant_one()).count();
        grants == DECISIONS_A_HOLD || self.monitor.poll_timeout().is_some_and(|at| at <= self.now)
    }

    /// Settles one of those that are held; how long its grant took, and how many lock holds.
    fn settle_one(&mut self, watch: &Watch) -> Option<(Span, u64)> {
        self.now = self.now + Span::from_nanos(1_000);
        let ticket = self.held.swap_remove(self.random.usize(0..self.held.len()));
        let held = self.held.len();
        let (span, holds) = watch.time(|| {
            self.monitor.settle(ticket, &Settlement::in_full(), self.now);
            let mut holds = 1;
            // A hold ends with the grant here: what the rest of it brings is another's.
            while !self.grant_one() && self.monitor.poll_timeout().is_some_and(|at| at <= self.now)
            {
                holds += 1;
            }
            holds
        });
        let granted = self.held.len() > held;
        self.settle_down();
        granted.then_some((span, holds))
    }

    fn grant_one(&mut self) -> bool {
        match self.monitor.poll(self.now) {
            Some(Action::Admit(admitted)) => self.held.push(admitted.ticket),
            Some(Action::Reject(ticket, error)) => panic!("{ticket:?} was refused: {error}"),
            None => return false,
        }
        true
    }
}

pub(crate) fn measure() {
    measure_shape(Shape::Head, "the head goes", 20_000);
    measure_shape(Shape::OneNeed, "past a stuck head, one varying need", 20_000);
    measure_shape(Shape::TwoNeeds, "past a stuck head, two anti-correlated needs", 20_000);
    measure_shape(Shape::Worst, "the same, and only the last one fits", 50);
}

fn measure_shape(shape: Shape, name: &str, settles: usize) {
    let watch = Watch::new();
    let mut medians = Vec::new();
    let mut holds_most = 0;
    for length in LENGTHS {
        let mut line = Line::new(shape, length);
        let mut to_grant = Samples::new();
        for _ in 0..settles {
            if let Some((span, holds)) = line.settle_one(&watch) {
                to_grant.push(span);
                holds_most = holds_most.max(holds);
            }
            line.fill(length);
        }
        medians.push(to_grant.median());
    }
    let what = format!("settle to grant, 1,000,000 parked : 1,000; {name}");
    let each: Vec<String> = medians.iter().map(|median| format!("{:.1}", median / 1e3)).collect();
    let measured = format!("{} us from 1,000 up; at most {holds_most} holds", each.join(", "));
    let ratio = medians[medians.len() - 1] / medians[0];
    row(&what, &measured, ratio, "x", &Target::AtMost(3.0));
}
