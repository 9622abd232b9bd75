//! The fast index beside the naive rule, step by step: the same decisions, in the same order, after
//! every operation, and never a deadline later than the rule's own.

use nucleo_core::admission::{ByClass, Naive, Policy, Protect};
use nucleo_core::limits::{DailyQuota, ElasticWindow, Foreign, Permits, Rate, TokenBucket};
use nucleo_core::memory::{MemoryProfile, Reading};
use nucleo_core::{
    Account, AccountId, Action, Charge, Demand, JobId, Monitor, Order, Reason, Settlement, Span,
    Ticket, Time, Verdict, WorkflowId,
};

use super::draw::Draw;

/// Both monitors, and what the test knows of them.
struct Pair<'b> {
    fast: Monitor<ByClass>,
    naive: Monitor<Naive>,
    draw: Draw<'b>,
    now: Time,
    accounts: Vec<AccountId>,
    permits: usize,
    waiting: Vec<Ticket>,
    held: Vec<(Ticket, Demand, Order)>,
    demands: Vec<(Ticket, Demand)>,
    /// Orders of ended attempts whose retry may come back to its place.
    places: Vec<Order>,
    memory: bool,
    step: usize,
    jobs: u64,
}

impl<'b> Pair<'b> {
    fn new(mut draw: Draw<'b>) -> Self {
        let (mut fast, mut naive) = (Monitor::<ByClass>::default(), Monitor::<Naive>::default());
        let permits = draw.usize(1, 3);
        let buckets = draw.usize(0, 3);
        let mut accounts = Vec::new();
        for at in 0..permits {
            let capacity = draw.u64(1..6);
            accounts.push(fast.open(format!("p{at}"), Permits::new(capacity)));
            naive.open(format!("p{at}"), Permits::new(capacity));
        }
        for at in 0..buckets {
            let rate = Rate::per_second(draw.u64(1..200)).burst(draw.u64(1..300));
            accounts.push(
                fast.open(format!("b{at}"), TokenBucket::new(rate).expect("a rate in range")),
            );
            naive.open(format!("b{at}"), TokenBucket::new(rate).expect("a rate in range"));
        }
        if draw.bool() {
            let midnight = Time::from_millis(draw.u64(0..60_000));
            let quota = DailyQuota::new(draw.u64(1..300), midnight).expect("a quota in range");
            accounts.push(fast.open("day", quota.clone()));
            naive.open("day", quota);
        }
        if draw.bool() {
            let width = Span::from_millis(draw.u64(1..2_000));
            let window = ElasticWindow::new(draw.u64(1..6), width).expect("a window in range");
            accounts.push(fast.open("window", window.clone()));
            naive.open("window", window);
        }
        if draw.one_in(3) {
            let own = TokenBucket::new(Rate::per_second(draw.u64(1..200))).expect("in range");
            accounts.push(fast.open("own", Foreign::new(own.clone())));
            naive.open("own", Foreign::new(own));
        }
        let mut policy = if draw.one_in(3) { Policy::fair() } else { Policy::fifo() };
        policy = match draw.u8(0..6) {
            0 => policy.protect(Protect::Overtaken(0)),
            1 => policy.protect(Protect::Overtaken(draw.usize(1, 3))),
            2 => policy.protect(Protect::Waited(Span::from_millis(draw.u64(0..2_000)))),
            _ => policy.weight(WorkflowId::from_u128(1), draw.u32(1..4)),
        };
        fast.share(policy.clone());
        naive.share(policy);
        let memory = draw.one_in(4);
        if memory {
            let profile = *draw
                .choice(&[MemoryProfile::Conservative, MemoryProfile::Adaptive])
                .expect("two profiles");
            fast.watch_memory(profile);
            naive.watch_memory(profile);
        }
        Self {
            fast,
            naive,
            draw,
            now: Time::ZERO,
            accounts,
            permits,
            waiting: Vec::new(),
            held: Vec::new(),
            demands: Vec::new(),
            places: Vec::new(),
            memory,
            step: 0,
            jobs: 0,
        }
    }

    fn where_(&self) -> String {
        format!("{} step {} at {}", self.draw, self.step, self.now)
    }

    fn account(&mut self) -> AccountId {
        let at = self.draw.place(self.accounts.len());
        self.accounts[at]
    }

    fn demand(&mut self) -> Demand {
        self.jobs += 1;
        let job = JobId::root(WorkflowId::from_u128(1)).child(self.jobs);
        let workflow = WorkflowId::from_u128(self.draw.u128(0..4));
        let mut demand = Demand::new(job.attempt(1)).workflow(workflow);
        for _ in 0..self.draw.usize(0, 3) {
            let account = self.account();
            let small =
                account.index() < self.permits || self.fast.name(account).as_ref() == "window";
            let top = if small { 3 } else { 120 };
            demand = demand.need(account, self.draw.u64(1..=top));
        }
        if self.draw.bool() {
            demand = demand.expected_memory(self.draw.u64(0..300));
        }
        if self.draw.one_in(5) {
            demand = demand.max_wait(Span::from_millis(self.draw.u64(0..3_000)));
        }
        if self.draw.one_in(3) && !self.places.is_empty() {
            let at = self.draw.place(self.places.len());
            demand = demand.place(Some(self.places.swap_remove(at)));
        }
        demand
    }

    fn operate(&mut self) {
        match self.draw.u8(0..100) {
            0..35 => self.submit(),
            35..55 => self.end_one(),
            55..62 => self.leave_one(),
            62..82 => self.pass_time(),
            82..88 => self.reconfigure(),
            88..94 => self.pace(),
            _ => self.sample(),
        }
        self.drain();
    }

    fn submit(&mut self) {
        let demand = self.demand();
        let ticket = self.fast.submit(demand.clone(), self.now);
        let other = self.naive.submit(demand.clone(), self.now);
        assert_eq!(ticket, other, "{}", self.where_());
        self.waiting.push(ticket);
        self.demands.push((ticket, demand));
    }

    fn end_one(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let at = self.draw.place(self.held.len());
        let (ticket, demand, order) = self.held.swap_remove(at);
        if self.draw.one_in(4) {
            self.fast.roll_back(ticket, self.now);
            self.naive.roll_back(ticket, self.now);
        } else {
            let mut settlement = Settlement::in_full();
            for need in demand.needs() {
                if self.draw.bool() {
                    let used = self.draw.u64(0..need.amount * 2);
                    settlement = settlement.charge(need.account, Charge::Used(used));
                }
            }
            self.fast.settle(ticket, &settlement, self.now);
            self.naive.settle(ticket, &settlement, self.now);
        }
        if self.places.len() < 8 {
            self.places.push(order);
        }
    }

    fn leave_one(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let at = self.draw.place(self.waiting.len());
        let ticket = self.waiting.swap_remove(at);
        assert!(self.fast.leave(ticket, self.now), "{}", self.where_());
        assert!(self.naive.leave(ticket, self.now), "{}", self.where_());
        self.demands.retain(|(other, _)| *other != ticket);
    }

    fn pass_time(&mut self) {
        let to_deadline = self.draw.bool();
        match self.naive.poll_timeout() {
            Some(at) if to_deadline => {
                let early = self.fast.poll_timeout().expect("a deadline as early as the rule's");
                assert!(early <= at, "{}: {early} after {at}", self.where_());
                self.now = self.now.max(at);
            }
            _ => self.now = self.now + Span::from_nanos(self.draw.u64(0..2_000_000_000)),
        }
    }

    fn reconfigure(&mut self) {
        let account = self.account();
        if account.index() < self.permits {
            let capacity = self.draw.u64(1..7);
            self.fast.resize(account, capacity, self.now);
            self.naive.resize(account, capacity, self.now);
        } else {
            let rate = Rate::per_second(self.draw.u64(1..200)).burst(self.draw.u64(1..300));
            self.fast.reconfigure(account, rate, self.now).expect("a rate in range");
            self.naive.reconfigure(account, rate, self.now).expect("a rate in range");
        }
    }

    fn pace(&mut self) {
        let account = self.account();
        match self.draw.u8(0..10) {
            0 => {
                let until = self.now + Span::from_millis(self.draw.u64(0..2_000));
                self.fast.park(account, until, self.now);
                self.naive.park(account, until, self.now);
            }
            1 => {
                let amount = self.draw.u64(0..50);
                self.fast.lower(account, amount, self.now);
                self.naive.lower(account, amount, self.now);
            }
            2 => {
                let midnight = self.now + Span::from_millis(self.draw.u64(0..60_000));
                self.fast.next_midnight(account, midnight, self.now);
                self.naive.next_midnight(account, midnight, self.now);
            }
            3 => {
                self.fast.verdict(account, Verdict::Success, self.now);
                self.naive.verdict(account, Verdict::Success, self.now);
            }
            4 => {
                self.fast.close(account, Reason::OutOfCredit, self.now);
                self.naive.close(account, Reason::OutOfCredit, self.now);
            }
            5 | 6 => {
                self.fast.reopen(account, self.now);
                self.naive.reopen(account, self.now);
            }
            _ => {
                let pushback = Verdict::Pushback { sent: self.now, steps: 1 };
                self.fast.verdict(account, pushback, self.now);
                self.naive.verdict(account, pushback, self.now);
            }
        }
    }

    fn sample(&mut self) {
        if self.memory {
            let limit = std::num::NonZeroU64::new(1_000).expect("not zero");
            let used = self.draw.u64(0..1_000);
            let reading = match self.draw.u8(0..4) {
                0 => Reading::pages(used, limit),
                _ => Reading::live(used, limit),
            };
            self.fast.read_memory(reading, self.now);
            self.naive.read_memory(reading, self.now);
            assert_eq!(self.fast.memory(), self.naive.memory(), "{}", self.where_());
        }
    }

    /// The same decisions, in the same order.
    fn drain(&mut self) {
        loop {
            let (fast, naive) = (self.fast.poll(self.now), self.naive.poll(self.now));
            assert_eq!(fast, naive, "{}", self.where_());
            let Some(action) = fast else { break };
            let ticket = action.ticket();
            self.waiting.retain(|other| *other != ticket);
            let at = self.demands.iter().position(|(other, _)| *other == ticket);
            let (_, demand) = self.demands.swap_remove(at.expect("decided once"));
            if let Action::Admit(admitted) = action {
                self.held.push((ticket, demand, admitted.order));
            }
        }
        assert_eq!(self.fast.waiting(), self.naive.waiting(), "{}", self.where_());
        assert_eq!(self.fast.waiting(), self.waiting.len(), "{}", self.where_());
        if let Some(ticket) = self.draw.choice(&self.waiting) {
            let why = self.fast.why_waiting(*ticket).expect("it waits");
            assert_eq!(Some(&why), self.naive.why_waiting(*ticket).as_ref(), "{}", self.where_());
            assert!(!why.short.is_empty() || why.memory || why.earliest.is_none(), "{why:?}");
        }
        let account = self.account();
        assert_eq!(self.fast.view(account), self.naive.view(account), "{}", self.where_());
        for account in &self.accounts[..self.permits] {
            let available = self.fast.limit(*account).available(self.now);
            assert_eq!(available, self.naive.limit(*account).available(self.now));
        }
    }

    /// At rest, when nothing is held and the clock brings nothing more, nobody waits.
    fn come_to_rest(&mut self) {
        if self.memory {
            self.fast.sample_memory(0.1, self.now);
            self.naive.sample_memory(0.1, self.now);
        }
        self.drain();
        for _ in 0..100_000 {
            while !self.held.is_empty() {
                self.end_one();
                self.drain();
            }
            let Some(at) = self.fast.poll_timeout() else {
                break;
            };
            self.now = self.now.max(at);
            self.drain();
        }
        assert_eq!(self.waiting.len(), 0, "{}: somebody is stranded", self.where_());
        for account in &self.accounts[..self.permits] {
            let limit = self.fast.limit(*account);
            let capacity = i128::from(limit.capacity(self.now));
            assert_eq!(limit.available(self.now), capacity, "{}: a leak", self.where_());
        }
    }
}

/// Walks until the choices are over, at most so many steps, and comes to rest.
pub(crate) fn walk(draw: Draw<'_>, steps: usize) {
    let mut pair = Pair::new(draw);
    while pair.step < steps && !pair.draw.is_over() {
        pair.operate();
        pair.step += 1;
    }
    pair.come_to_rest();
}

/// The walk that these bytes choose.
pub(crate) fn check(bytes: &[u8]) {
    walk(Draw::bytes(bytes), 2_000);
}
