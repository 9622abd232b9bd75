//! The ledger in lockstep with the naive rule, step by step over several scopes.
//!
//! The naive rule keeps one row an attempt, in a plain vector, and recomputes every sum whenever
//! it is asked; it knows nothing of stirred lines, sizes or slabs. Both must decide alike, at each
//! step.
#![allow(clippy::unwrap_used, reason = "a test, if none by its attribute")]

use std::collections::BTreeMap;

use nucleo_core::spend::{
    Ask, Booking, CommitmentId, Decision, Ledger, NearCap, Outcome, Price, Rate, Rates, ScopeId,
    SpendRefusal, WaitId,
};
use nucleo_core::{Currency, Money, PICO, Reserved, Usage, WorkflowId};

use super::draw::Draw;

fn cents(n: i128) -> Money {
    Money::from_pico(n * PICO / 100, Currency::USD)
}

/// So many output tokens, each for a cent.
fn ask(workflow: WorkflowId, cents: u64) -> Ask {
    let rates = Rates::new(Rate::FREE, "10000".parse().unwrap());
    let tokens = Reserved { input: 0, output: cents };
    Ask::new(workflow, "m", tokens).agent("a").price(Price::new(Currency::USD, rates))
}

fn used(cents: u64) -> Booking {
    Booking::Actual(Usage { output: cents, ..Usage::default() })
}

/// One attempt, for ever.
#[derive(Clone, Debug)]
struct Row {
    scopes: Vec<usize>,
    mine: i128,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// In the line of this scope.
    Waiting(usize),
    Committed,
    /// Ended, having cost so much; the days in which the cost counts are those not begun since.
    Ended {
        cost: i128,
        at_day: u32,
    },
    /// Refused, released or left.
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Approved,
    Refused { scope: usize, over: i128, helps: bool },
}

/// The rule, written down as it is said.
struct Naive {
    rows: Vec<Row>,
    caps: Vec<Option<i128>>,
    day: u32,
    /// The one scope that starts at nothing when a day begins.
    day_scope: usize,
}

impl Naive {
    fn spent(&self, scope: usize) -> i128 {
        let counts = |row: &&Row| row.scopes.contains(&scope);
        let cost = |row: &Row| match row.state {
            State::Ended { cost, at_day } if scope != self.day_scope || at_day == self.day => cost,
            _ => 0,
        };
        self.rows.iter().filter(counts).map(cost).sum()
    }

    fn committed(&self, scope: usize) -> i128 {
        let counts = |row: &&Row| row.state == State::Committed && row.scopes.contains(&scope);
        self.rows.iter().filter(counts).map(|row| row.mine).sum()
    }

    /// How far above the cap it comes: alone, and beside the siblings.
    fn over(&self, scope: usize, mine: i128) -> (i128, i128) {
        let Some(cap) = self.caps[scope] else {
            return (0, 0);
        };
        let alone = self.spent(scope) + mine - cap;
        (alone.max(0), (alone + self.committed(scope)).max(0))
    }

    fn blame(&self, scopes: &[usize], mine: i128) -> Option<Said> {
        let said = |scope: usize, helps| {
            let (_, over) = self.over(scope, mine);
            Said::Refused { scope, over, helps }
        };
        let dead = scopes.iter().find(|s| self.over(**s, mine).0 > 0);
        let full = scopes.iter().find(|s| self.over(**s, mine).1 > 0);
        dead.map(|s| said(*s, false)).or(full.map(|s| said(*s, true)))
    }

    fn head(&self, scope: usize) -> Option<usize> {
        self.rows.iter().position(|row| row.state == State::Waiting(scope))
    }

    fn keeps_out(&self, who: usize) -> Option<usize> {
        let Row { scopes, mine, .. } = &self.rows[who];
        let older = |scope| self.head(scope).is_some_and(|head| head < who);
        scopes.iter().copied().find(|s| older(*s) || self.over(*s, *mine).1 > 0)
    }

    fn approve(&mut self, scopes: Vec<usize>, mine: i128, near_cap: NearCap) -> Option<Said> {
        let said = self.blame(&scopes, mine);
        self.rows.push(Row { scopes, mine, state: State::Gone });
        let who = self.rows.len() - 1;
        let waits = near_cap == NearCap::WaitForSiblings;
        let (state, said) = match said {
            Some(Said::Refused { helps, .. }) if !(helps && waits) => (State::Gone, said),
            _ => match self.keeps_out(who).filter(|_| waits) {
                Some(scope) => (State::Waiting(scope), None),
                None => (State::Committed, Some(Said::Approved)),
            },
        };
        self.rows[who].state = state;
        said
    }

    /// After any input: who is decided now?
    fn decide(&mut self) -> BTreeMap<usize, Said> {
        let mut decided = BTreeMap::new();
        'again: loop {
            for who in 0..self.rows.len() {
                let Row { scopes, mine, state } = self.rows[who].clone();
                if !matches!(state, State::Waiting(_)) {
                    continue;
                }
                if let Some(said @ Said::Refused { helps: false, .. }) = self.blame(&scopes, mine) {
                    self.rows[who].state = State::Gone;
                    decided.insert(who, said);
                    continue 'again;
                }
            }
            for who in 0..self.rows.len() {
                let State::Waiting(line) = self.rows[who].state else {
                    continue;
                };
                if self.head(line) != Some(who) || self.over(line, self.rows[who].mine).1 > 0 {
                    continue;
                }
                self.rows[who].state = match self.keeps_out(who) {
                    Some(other) => State::Waiting(other),
                    None => {
                        decided.insert(who, Said::Approved);
                        State::Committed
                    }
                };
                continue 'again;
            }
            return decided;
        }
    }
}

/// Both, and who is who.
struct Pair {
    ledger: Ledger,
    naive: Naive,
    ids: Vec<ScopeId>,
    commitments: BTreeMap<usize, CommitmentId>,
    waits: BTreeMap<WaitId, usize>,
}

const SCOPES: usize = 5;
const DAY: usize = 4;

impl Pair {
    fn new(draw: &mut Draw<'_>) -> Self {
        let ids = vec![
            ScopeId::Workflow(WorkflowId::from_u128(0)),
            ScopeId::Workflow(WorkflowId::from_u128(1)),
            ScopeId::User("ann".into()),
            ScopeId::Key("k".into()),
            ScopeId::Day("UTC".into()),
        ];
        let mut ledger = Ledger::new();
        let caps: Vec<_> = (0..SCOPES).map(|_| random_cap(draw)).collect();
        for (id, cap) in ids.iter().zip(&caps) {
            match id {
                ScopeId::Workflow(workflow) => {
                    ledger.open_workflow(*workflow, "", cap.map(cents)).unwrap()
                }
                _ => ledger.set_cap(id.clone(), cap.map(cents)).unwrap(),
            }
        }
        let naive = Naive { rows: Vec::new(), caps, day: 0, day_scope: DAY };
        Self { ledger, naive, ids, commitments: BTreeMap::new(), waits: BTreeMap::new() }
    }

    fn said(&self, refusal: &SpendRefusal) -> Said {
        let scope = self.ids.iter().position(|id| *id == refusal.scope.id).unwrap();
        let over = refusal.exceeds_by.unwrap().pico() / cents(1).pico();
        Said::Refused { scope, over, helps: refusal.waiting_helps }
    }

    fn approve(&mut self, draw: &mut Draw<'_>) {
        let mine = draw.u64(0..12);
        let near_cap = if draw.one_in(4) { NearCap::Refuse } else { NearCap::WaitForSiblings };
        let workflow = draw.usize(0, 1);
        let mut scopes = vec![workflow];
        scopes.extend((2..SCOPES).filter(|_| draw.bool()));
        let mut call = ask(WorkflowId::from_u128(workflow as u128), mine).near_cap(near_cap);
        for &scope in &scopes[1..] {
            call = match &self.ids[scope] {
                ScopeId::User(name) => call.user(name.clone()),
                id => call.scope(id.clone()),
            };
        }
        let expected = self.naive.approve(scopes, i128::from(mine), near_cap);
        let who = self.naive.rows.len() - 1;
        let said = match self.ledger.approve(call) {
            Decision::Approved(id) => {
                self.commitments.insert(who, id);
                Some(Said::Approved)
            }
            Decision::Waiting(id) => {
                self.waits.insert(id, who);
                None
            }
            Decision::Refused(refusal) => Some(self.said(&refusal)),
            Decision::Stopped(stop) => panic!("{stop}"),
        };
        assert_eq!(said, expected);
        if said == Some(Said::Approved) {
            self.check_law(who);
        }
    }

    fn step(&mut self, draw: &mut Draw<'_>) {
        match draw.u8(0..20) {
            0..=9 => self.approve(draw),
            10..=14 => self.end(draw),
            15 => {
                let Some((&id, &who)) = self.waits.iter().nth(draw.usize(0, 2)) else {
                    return;
                };
                self.waits.remove(&id);
                self.naive.rows[who].state = State::Gone;
                self.ledger.leave(id);
            }
            16 | 17 => {
                let (scope, cap) = (draw.place(SCOPES), random_cap(draw));
                self.naive.caps[scope] = cap;
                self.ledger.set_cap(self.ids[scope].clone(), cap.map(cents)).unwrap();
            }
            18 => {
                self.naive.day += 1;
                self.ledger.begin_day("UTC", self.naive.day.to_string());
            }
            _ => {
                let scope = draw.usize(0, 1);
                let (spent, at_day) = (i128::from(draw.u8(0..3)), self.naive.day);
                let state = State::Ended { cost: spent, at_day };
                self.naive.rows.push(Row { scopes: vec![scope], mine: 0, state });
                self.ledger.carry_over(&self.ids[scope].clone(), cents(spent)).unwrap();
            }
        }
        self.drain();
    }

    /// Settles or releases one; now and then the bill is above the reservation.
    fn end(&mut self, draw: &mut Draw<'_>) {
        let count = self.commitments.len();
        if count == 0 {
            return;
        }
        let (&who, &id) = self.commitments.iter().nth(draw.place(count)).unwrap();
        self.commitments.remove(&who);
        let row = &mut self.naive.rows[who];
        if draw.one_in(4) {
            row.state = State::Gone;
            self.ledger.release(id);
            return;
        }
        let past = u64::from(draw.u8(0..9) / 8);
        let cost = draw.u64(0..=u64::try_from(row.mine).unwrap() + past);
        row.state = State::Ended { cost: i128::from(cost), at_day: self.naive.day };
        let booked = self.ledger.settle(id, used(cost));
        assert_eq!(booked.cost, Some(cents(cost.into())));
        assert_eq!(booked.overspent.is_some(), i128::from(cost) > row.mine);
    }

    fn drain(&mut self) {
        let expected = self.naive.decide();
        let mut said = BTreeMap::new();
        while let Some((id, outcome)) = self.ledger.poll() {
            let who = self.waits.remove(&id).unwrap();
            said.insert(
                who,
                match outcome {
                    Outcome::Approved(id) => {
                        self.commitments.insert(who, id);
                        self.check_law(who);
                        Said::Approved
                    }
                    Outcome::Refused(refusal) => self.said(&refusal),
                    Outcome::Stopped(stop) => panic!("{stop}"),
                },
            );
        }
        // The figures of a refusal are those of its instant; the naive one takes another order.
        let figureless = |said: &BTreeMap<usize, Said>| -> Vec<(usize, Said)> {
            let strip = |said| match said {
                Said::Refused { scope, helps, .. } => Said::Refused { scope, over: 0, helps },
                Said::Approved => Said::Approved,
            };
            said.iter().map(|(who, said)| (*who, strip(*said))).collect()
        };
        assert_eq!(figureless(&said), figureless(&expected));
        self.check_sums();
    }

    /// `spent + committed <= cap` in each scope that just approved.
    fn check_law(&self, who: usize) {
        for &scope in &self.naive.rows[who].scopes {
            let position = self.ledger.position(&self.ids[scope]).unwrap();
            let Some(cap) = position.cap else { continue };
            let sum = |amounts: &[Money]| amounts.iter().map(|sum| sum.pico()).sum::<i128>();
            assert!(sum(&position.spent) + sum(&position.committed) <= cap.pico());
        }
    }

    fn check_sums(&self) {
        let one = |amounts: Vec<Money>| amounts.first().map_or(0, |sum| sum.pico());
        for (scope, id) in self.ids.iter().enumerate() {
            let position = self.ledger.position(id).unwrap();
            assert_eq!(one(position.spent), cents(self.naive.spent(scope)).pico());
            assert_eq!(one(position.committed), cents(self.naive.committed(scope)).pico());
        }
        assert!(
            self.waits.is_empty() || !self.commitments.is_empty(),
            "nobody is under way, and somebody waits"
        );
    }
}

fn random_cap(draw: &mut Draw<'_>) -> Option<i128> {
    (draw.u8(0..6) > 0).then(|| i128::from(draw.u8(10..60)))
}

/// The number of a step, told where it fails.
struct Step(usize);

impl Drop for Step {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("step {}", self.0);
        }
    }
}

/// Walks until the choices are over, at most so many steps, and comes to rest.
pub(crate) fn walk(mut draw: Draw<'_>, steps: usize) {
    let mut pair = Pair::new(&mut draw);
    let mut step = Step(0);
    while step.0 < steps && !draw.is_over() {
        pair.step(&mut draw);
        step.0 += 1;
    }
    while !pair.commitments.is_empty() {
        pair.end(&mut draw);
        pair.drain();
    }
    assert_eq!(pair.ledger.under_way(), 0);
    for id in &pair.ids {
        let position = pair.ledger.position(id).unwrap();
        assert!(position.committed.iter().all(|sum| sum.pico() == 0), "at rest");
        assert_eq!((position.under_way, position.waiting), (0, 0));
    }
}

/// The walk that these bytes choose.
pub(crate) fn check(bytes: &[u8]) {
    walk(Draw::bytes(bytes), 200);
}
