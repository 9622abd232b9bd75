//! Faults that limiters in the field have had, each small: what is right here, as a script.
//!
//! One line of a script is one moment; see [`World::run`] for its words.

use std::collections::BTreeMap;

use nucleo_core::limits::{DailyQuota, Limit, Permits, Rate, TokenBucket};
use nucleo_core::{
    Account, AccountId, Action, Charge, Demand, JobId, Monitor, Settlement, Span, Ticket, Time,
    WorkflowId,
};

/// A monitor, and jobs by name.
struct World {
    monitor: Monitor,
    accounts: BTreeMap<&'static str, AccountId>,
    jobs: BTreeMap<String, (Ticket, Vec<(AccountId, u64)>)>,
    now: Time,
    numbers: u64,
    said: Vec<String>,
}

impl World {
    fn new(accounts: impl IntoIterator<Item = (&'static str, Limit)>) -> Self {
        let mut monitor = Monitor::new();
        let opened = accounts.into_iter().map(|(name, limit)| (name, monitor.open(name, limit)));
        let accounts = opened.collect();
        Self {
            monitor,
            accounts,
            jobs: BTreeMap::new(),
            now: Time::ZERO,
            numbers: 0,
            said: Vec::new(),
        }
    }

    /// `a: http 1, tokens 58` submits, `a done` and `a done tokens 3` settle, `a undone` rolls back,
    /// `a leaves` cancels, `5s` and `5ms` pass, stopping at every deadline; what was decided since the
    /// last line is told: `+a` granted, `-a` refused.
    fn run(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            [name, needs @ ..] if name.ends_with(':') => {
                self.submit(&name[..name.len() - 1], needs)
            }
            [name, "done", used @ ..] => self.settle(name, used),
            [name, "undone"] => self.monitor.roll_back(self.jobs[*name].0, self.now),
            [name, "leaves"] => assert!(self.monitor.leave(self.jobs[*name].0, self.now)),
            [span] => self.pass(span),
            other => panic!("what is {other:?}?"),
        }
        self.drain();
        std::mem::take(&mut self.said).join(" ")
    }

    fn submit(&mut self, name: &str, needs: &[&str]) {
        self.numbers += 1;
        let job = JobId::root(WorkflowId::from_u128(1)).child(self.numbers);
        let pairs = needs
            .chunks(2)
            .map(|pair| (self.accounts[pair[0]], pair[1].parse::<u64>().expect("an amount")));
        let pairs: Vec<_> = pairs.collect();
        let demand = pairs.iter().fold(Demand::new(job.attempt(1)), |demand, (account, amount)| {
            demand.need(*account, *amount)
        });
        let ticket = self.monitor.submit(demand, self.now);
        self.jobs.insert(name.to_owned(), (ticket, pairs));
    }

    fn settle(&mut self, name: &str, used: &[&str]) {
        let settlement = used.chunks(2).fold(Settlement::in_full(), |settlement, pair| {
            let used = pair[1].parse().expect("an amount");
            settlement.charge(self.accounts[pair[0]], Charge::Used(used))
        });
        self.monitor.settle(self.jobs[name].0, &settlement, self.now);
    }

    fn pass(&mut self, span: &str) {
        let millis = match span.strip_suffix("ms") {
            Some(millis) => millis.parse::<u64>().expect("a span"),
            None => span.trim_end_matches('s').parse::<u64>().expect("a span") * 1_000,
        };
        let until = self.now + Span::from_millis(millis);
        while let Some(due) = self.monitor.poll_timeout().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.drain();
        }
        self.now = until;
    }

    fn drain(&mut self) {
        while let Some(action) = self.monitor.poll(self.now) {
            let ticket = action.ticket();
            let of = |(_, (other, _)): &(&String, &(Ticket, _))| *other == ticket;
            let name = self.jobs.iter().find(of).map(|(name, _)| name.clone()).expect("a job");
            match action {
                Action::Admit(_) => self.said.push(format!("+{name}")),
                Action::Reject(_, error) => self.said.push(format!("-{name} ({error})")),
            }
        }
    }

    fn free(&self, account: &str) -> i128 {
        self.monitor.limit(self.accounts[account]).available(self.now)
    }

    fn check(&mut self, script: &[(&str, &str)]) {
        for (line, expected) in script {
            assert_eq!(self.run(line), *expected, "after `{line}` at {}", self.now);
        }
    }
}

fn permits(n: u64) -> Limit {
    Permits::new(n).into()
}

fn a_minute(rate: u64) -> Limit {
    TokenBucket::new(Rate::per_minute(rate)).expect("a rate in range").into()
}

fn a_second(rate: u64) -> Limit {
    TokenBucket::new(Rate::per_second(rate)).expect("a rate in range").into()
}

/// Work in flight counts: five calls at once against a hundred tokens a minute.
#[test]
fn in_flight_is_counted_before_it_is_used() {
    let mut world = World::new([("tokens", a_minute(100))]);
    let too_large = "asks for 175 of tokens, which never holds more than 100: \
                     ask for less or raise the limit";
    world.check(&[
        ("a: tokens 58", "+a"),
        ("b: tokens 80", ""),
        ("c: tokens 175", &format!("-c ({too_large})")),
        ("20s", ""),
        ("3s", "+b"),
    ]);
    let mut world = World::new([("tokens", a_minute(10_000))]);
    let mut granted = 0;
    for n in 0..50 {
        granted += usize::from(!world.run(&format!("j{n}: tokens 1000")).is_empty());
    }
    assert_eq!(granted, 10, "ten of fifty in the first minute");
    assert_eq!(world.run("59s").split_whitespace().count(), 9, "one every six seconds");
}

#[test]
fn the_last_token_may_be_used_and_not_one_more() {
    let mut world = World::new([("tokens", a_minute(10_000))]);
    world.check(&[
        ("a: tokens 9900", "+a"),
        ("b: tokens 200", ""),
        ("b leaves", ""),
        ("c: tokens 100", "+c"),
    ]);
}

/// A refused or waiting job has paid nowhere.
#[test]
fn who_waits_or_is_refused_has_taken_nothing() {
    let mut world = World::new([("parallel", permits(1)), ("requests", a_minute(2))]);
    world.check(&[("a: parallel 1, requests 1", "+a"), ("b: parallel 1, requests 1", "")]);
    assert_eq!(world.free("requests"), 1, "b waits for its place and has paid no request");
    world.check(&[("b leaves", ""), ("a done", ""), ("c: parallel 1, requests 1", "+c")]);
    world.run("d: parallel 2, requests 1");
    assert_eq!(world.free("requests"), 0, "d can never fit and has paid nothing");
}

/// One that can never fit concerns only itself.
#[test]
fn an_oversized_demand_fails_alone() {
    let mut world = World::new([("tokens", a_minute(100))]);
    for n in 0..100 {
        let said = world.run(&format!("j{n}: tokens {}", if n == 37 { 101 } else { 1 }));
        assert!(said.starts_with(if n == 37 { "-j37" } else { "+j" }), "{said}");
    }
}

/// No order of acquisition: {A, B} and {B, A} with one place each.
#[test]
fn two_accounts_in_either_order_never_lock_up() {
    let mut world = World::new([("a", permits(1)), ("b", permits(1))]);
    world.run("j0: a 1, b 1");
    for n in 1..10_000 {
        let needs = if n % 2 == 0 { "a 1, b 1" } else { "b 1, a 1" };
        assert_eq!(world.run(&format!("j{n}: {needs}")), "");
        assert_eq!(world.run(&format!("j{} done", n - 1)), format!("+j{n}"));
    }
}

/// A tight re-acquirer does not starve a waiter.
#[test]
fn one_permit_alternates() {
    let mut world = World::new([("p", permits(1))]);
    world.run("greedy0: p 1");
    for n in 0..50 {
        world.check(&[(&*format!("waiter{n}: p 1"), ""), (&*format!("greedy{}: p 1", n + 1), "")]);
        world.check(&[
            (&*format!("greedy{n} done"), &*format!("+waiter{n}")),
            (&*format!("waiter{n} done"), &*format!("+greedy{}", n + 1)),
        ]);
    }
}

/// Cheap calls don't keep a bucket below a dear call's price for ever.
#[test]
fn a_dear_call_is_served_in_time() {
    let mut world = World::new([("tokens", a_second(100))]);
    world.run("first: tokens 100");
    world.run("dear: tokens 90");
    let mut said = String::new();
    for n in 0..12 {
        said += &world.run(&format!("cheap{n}: tokens 10"));
        said += &world.run("75ms");
    }
    assert_eq!(said, "+dear", "900 ms of refill go to the dear one, then the cheap ones follow");
}

/// A waiting head keeps only what it waits for.
#[test]
fn who_needs_something_else_goes_past_the_head() {
    let mut world = World::new([("x", a_second(10)), ("y", permits(500))]);
    world.run("spent: x 10");
    world.run("head: x 10");
    for n in 0..500 {
        assert_eq!(world.run(&format!("y{n}: y 1")), format!("+y{n}"));
    }
    world.check(&[("late: x 1", ""), ("1s", "+head"), ("100ms", "+late")]);
}

/// Every waiter is woken, not only the last one that looked.
#[test]
fn six_waiters_on_one_a_second_all_go() {
    let mut world = World::new([("r", a_second(1))]);
    let first: Vec<String> = (0..6).map(|n| world.run(&format!("j{n}: r 1"))).collect();
    assert_eq!(first.join(" ").trim(), "+j0");
    assert_eq!(world.run("5s"), "+j1 +j2 +j3 +j4 +j5");
}

/// The dead take nothing and keep nobody.
#[test]
fn a_thousand_cancelled_or_expired_ahead_of_one() {
    let mut monitor = Monitor::new();
    let pool = monitor.open("pool", Permits::new(1));
    let job = JobId::root(WorkflowId::from_u128(1));
    let demand = |n| Demand::new(job.child(n).attempt(1)).need(pool, 1);
    let holder = monitor.submit(demand(0), Time::ZERO);
    let dead: Vec<Ticket> = (1..=1_000)
        .map(|n| monitor.submit(demand(n).max_wait(Span::from_millis(n % 2)), Time::ZERO))
        .collect();
    let live = monitor.submit(demand(2_000), Time::ZERO);
    while monitor.poll(Time::ZERO).is_some() {}
    for ticket in &dead {
        // Half of them are expired already, at the moment of their arrival.
        monitor.leave(*ticket, Time::ZERO);
    }
    monitor.settle(holder, &Settlement::in_full(), Time::ZERO);
    let granted = monitor.poll(Time::ZERO);
    assert!(matches!(granted, Some(Action::Admit(grant)) if grant.ticket == live));
    assert_eq!((monitor.poll(Time::ZERO), monitor.waiting()), (None, 0));
}

/// After a long idle no more than the burst is there.
#[test]
fn idle_time_is_not_saved_up() {
    let mut world = World::new([("tokens", a_minute(100))]);
    world.run("3600s");
    world.check(&[("a: tokens 100", "+a"), ("b: tokens 100", ""), ("59s", ""), ("1s", "+b")]);
}

/// No window of a minute holds more than the rate and the burst.
#[test]
fn no_boundary_lets_twice_the_rate_through() {
    let rate = TokenBucket::new(Rate::per_minute(100).burst(10)).expect("in range").into();
    let mut world = World::new([("requests", rate)]);
    for n in 0..400 {
        world.run(&format!("j{n}: requests 1"));
    }
    let mut grants = Vec::new();
    for step in 0..180 {
        let said = world.run("1s");
        grants.extend(said.split_whitespace().map(|_| step));
    }
    for start in 0..120 {
        let within = grants.iter().filter(|at| (start..start + 60).contains(*at)).count();
        assert!(within <= 110, "{within} in the minute from {start} s");
    }
}

/// A day ends where its zone says; what was taken before comes back once.
#[test]
fn a_daily_quota_is_whole_again_at_midnight() {
    let quota = DailyQuota::new(3, Time::from_millis(10_000)).expect("in range").into();
    let mut world = World::new([("day", quota)]);
    world.check(&[
        ("a: day 3", "+a"),
        ("b: day 1", ""),
        ("9s", ""),
        ("1s", "+b"),
        ("a done day 1", ""),
        ("c: day 2", "+c"),
    ]);
}

/// A reservation far above the use costs no throughput once it is settled.
#[test]
fn what_is_not_used_comes_back() {
    let mut world = World::new([("tokens", a_minute(8_192))]);
    for n in 0..80 {
        world.check(&[
            (&*format!("j{n}: tokens 8192"), &*format!("+j{n}")),
            (&*format!("j{n} done tokens 100"), ""),
            ("733ms", ""),
        ]);
    }
}
