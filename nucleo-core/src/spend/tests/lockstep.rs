//! The ledger in lockstep with the naive rule, under random steps over several scopes.
//!
//! The naive rule keeps one row an attempt, in a plain vector, and recomputes every sum whenever
//! it is asked; it knows nothing of stirred lines, sizes or slabs. Both must decide alike, at each
//! step. Each failure prints its seed.

use std::collections::BTreeMap;

use super::script::{ask, cents, used};
use crate::spend::*;
use crate::{Money, WorkflowId};

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
    fn new(random: &mut fastrand::Rng) -> Self {
        let ids = vec![
            ScopeId::Workflow(WorkflowId::from_u128(0)),
            ScopeId::Workflow(WorkflowId::from_u128(1)),
            ScopeId::User("ann".into()),
            ScopeId::Key("k".into()),
            ScopeId::Day("UTC".into()),
        ];
        let mut ledger = Ledger::new();
        let caps: Vec<_> = (0..SCOPES).map(|_| random_cap(random)).collect();
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

    fn approve(&mut self, random: &mut fastrand::Rng) {
        let mine = random.u64(0..12);
        let near_cap =
            if random.u8(0..4) == 0 { NearCap::Refuse } else { NearCap::WaitForSiblings };
        let workflow = random.usize(0..2);
        let mut scopes = vec![workflow];
        scopes.extend((2..SCOPES).filter(|_| random.bool()));
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

    fn step(&mut self, random: &mut fastrand::Rng) {
        match random.u8(0..20) {
            0..=9 => self.approve(random),
            10..=14 => self.end(random),
            15 => {
                let Some((&id, &who)) = self.waits.iter().nth(random.usize(0..3)) else {
                    return;
                };
                self.waits.remove(&id);
                self.naive.rows[who].state = State::Gone;
                self.ledger.leave(id);
            }
            16 | 17 => {
                let (scope, cap) = (random.usize(0..SCOPES), random_cap(random));
                self.naive.caps[scope] = cap;
                self.ledger.set_cap(self.ids[scope].clone(), cap.map(cents)).unwrap();
            }
            18 => {
                self.naive.day += 1;
                self.ledger.begin_day("UTC", self.naive.day.to_string());
            }
            _ => {
                let scope = random.usize(0..2);
                let (spent, at_day) = (i128::from(random.u8(0..3)), self.naive.day);
                let state = State::Ended { cost: spent, at_day };
                self.naive.rows.push(Row { scopes: vec![scope], mine: 0, state });
                self.ledger.carry_over(&self.ids[scope].clone(), cents(spent)).unwrap();
            }
        }
        self.drain();
    }

    /// Settles or releases one; now and then the bill is above the reservation.
    fn end(&mut self, random: &mut fastrand::Rng) {
        let count = self.commitments.len();
        if count == 0 {
            return;
        }
        let (&who, &id) = self.commitments.iter().nth(random.usize(0..count)).unwrap();
        self.commitments.remove(&who);
        let row = &mut self.naive.rows[who];
        if random.u8(0..4) == 0 {
            row.state = State::Gone;
            self.ledger.release(id);
            return;
        }
        let past = u64::from(random.u8(0..9) / 8);
        let cost = random.u64(0..=u64::try_from(row.mine).unwrap() + past);
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

fn random_cap(random: &mut fastrand::Rng) -> Option<i128> {
    (random.u8(0..6) > 0).then(|| i128::from(random.u8(10..60)))
}

#[test]
fn decides_as_the_naive_rule_does() {
    for seed in 0..120 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut pair = Pair::new(&mut random);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for step in 0..120 {
                let walk = std::panic::AssertUnwindSafe(|| pair.step(&mut random));
                std::panic::catch_unwind(walk)
                    .unwrap_or_else(|_| panic!("seed {seed}, step {step}"));
            }
            while !pair.commitments.is_empty() {
                pair.end(&mut random);
                pair.drain();
            }
            assert_eq!(pair.ledger.under_way(), 0);
            for id in &pair.ids {
                let position = pair.ledger.position(id).unwrap();
                assert!(position.committed.iter().all(|sum| sum.pico() == 0), "at rest");
                assert_eq!((position.under_way, position.waiting), (0, 0));
            }
        }));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
