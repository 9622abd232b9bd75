//! The events of a scenario, one after the other, against the monitor.
//!
//! At one instant: memory readings, ends of holds (in the order of their grants), cancellations,
//! arrivals (in the scenario's order), then what the clock brings. The line is run after each; an
//! event that one of these creates at the same instant takes its place in the same order.
//!
//! Invariants: each job has one outcome; time never goes back; a plan ends when no event is left and
//! the clock alone brings nothing more.
//!
//! Not here: deciding (`admission`), the file's format (`scenario`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::outcome::{JobOutcome, Outcome, Plan, Summary, millis};
use super::scenario::{OrderSpec, PolicySpec, ProtectSpec, Scenario, ScenarioError};
use crate::account::AccountId;
use crate::admission::{
    Action, ByClass, Charge, Index, Monitor, Policy, Protect, Settlement, Ticket,
};
use crate::demand::Demand;
use crate::error::AdmitError;
use crate::id::{JobId, WorkflowId};
use crate::memory::MemoryProfile;
use crate::money::Money;
use crate::time::{Span, Time};

/// Plans a scenario.
///
/// # Errors
/// [`ScenarioError`] when the scenario contradicts itself; nothing is planned then.
pub fn plan(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    plan_with::<ByClass>(scenario)
}

/// Plans a scenario with another search of the line, such as the oracle
/// [`Naive`](crate::admission::Naive): the plan is the same, whichever it is.
///
/// # Errors
/// As [`plan`].
pub fn plan_with<I: Index>(scenario: &Scenario) -> Result<Plan, ScenarioError> {
    scenario.check()?;
    let mut run = Run::<I>::new(scenario)?;
    run.seed_events();
    run.until_rest();
    Ok(run.finish())
}

/// What can happen, in the order in which it does at one instant; the number breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Memory(usize),
    EndOfHold { grant: u64, job: usize },
    Cancel(usize),
    Arrive(usize),
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Not arrived.
    Ahead,
    Waiting(Ticket),
    Holding(Ticket),
    Over,
}

struct Run<'s, I> {
    scenario: &'s Scenario,
    monitor: Monitor<I>,
    accounts: BTreeMap<&'s str, AccountId>,
    workflows: BTreeMap<&'s str, WorkflowId>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    stages: Vec<Stage>,
    outcomes: Vec<JobOutcome>,
    /// Whose ticket it is, by slot.
    owners: Vec<usize>,
    /// Who comes after a job.
    dependents: Vec<Vec<usize>>,
    now: Time,
    grants: u64,
    end: Time,
}

impl<'s, I: Index> Run<'s, I> {
    fn new(scenario: &'s Scenario) -> Result<Self, ScenarioError> {
        let mut monitor = Monitor::<I>::default();
        let mut accounts = BTreeMap::new();
        for (name, spec) in &scenario.accounts {
            accounts.insert(name.as_str(), monitor.open(name.as_str(), spec.limit(name)?));
        }
        if !scenario.memory.is_empty() {
            monitor.watch_memory(MemoryProfile::Conservative);
        }
        let names = scenario.jobs.iter().filter_map(|job| job.workflow.as_deref());
        let names: BTreeSet<&str> = names.collect();
        // Jobs of no workflow are one of their own, numbered 0.
        let workflows: BTreeMap<&str, WorkflowId> = (1_u128..)
            .zip(names)
            .map(|(number, name)| (name, WorkflowId::from_u128(number)))
            .collect();
        monitor.share(policy(&scenario.policy, &workflows));
        let places: BTreeMap<&str, usize> =
            scenario.jobs.iter().enumerate().map(|(place, job)| (job.id.as_str(), place)).collect();
        let mut dependents = vec![Vec::new(); scenario.jobs.len()];
        for (place, job) in scenario.jobs.iter().enumerate() {
            if let Some(after) = &job.after {
                dependents[places[after.as_str()]].push(place);
            }
        }
        let blank = |job: &super::JobSpec| JobOutcome {
            id: job.id.clone(),
            outcome: Outcome::Waiting,
            at: None,
            waited_ms: 0.0,
            reason: None,
        };
        Ok(Self {
            scenario,
            monitor,
            accounts,
            workflows,
            events: BinaryHeap::new(),
            stages: vec![Stage::Ahead; scenario.jobs.len()],
            outcomes: scenario.jobs.iter().map(blank).collect(),
            owners: Vec::new(),
            dependents,
            now: Time::ZERO,
            grants: 0,
            end: Time::ZERO,
        })
    }

    fn seed_events(&mut self) {
        for (index, (at, _)) in self.scenario.memory.iter().enumerate() {
            self.events.push(Reverse((at.at(), Event::Memory(index))));
        }
        for (place, job) in self.scenario.jobs.iter().enumerate() {
            if let Some(at) = job.cancel_ms {
                self.events.push(Reverse((at.at(), Event::Cancel(place))));
            }
            if job.after.is_none() {
                self.events.push(Reverse((job.arrive_ms.at(), Event::Arrive(place))));
            }
        }
    }

    fn until_rest(&mut self) {
        loop {
            let event = self.events.peek().map(|Reverse((at, _))| *at);
            let clock = self.monitor.poll_timeout();
            match (event, clock) {
                (Some(event), clock) if clock.is_none_or(|clock| event <= clock) => {
                    let Reverse((at, event)) = self.events.pop().expect("just peeked");
                    self.pass_time(at);
                    self.happen(event);
                }
                // The end of time is no deadline: who still waits then waits for ever.
                (_, None | Some(Time::MAX)) => return,
                (_, Some(clock)) => self.pass_time(clock),
            }
            self.run_line();
        }
    }

    fn pass_time(&mut self, at: Time) {
        self.now = self.now.max(at);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Memory(index) => {
                self.monitor.sample_memory(self.scenario.memory[index].1, self.now);
            }
            Event::EndOfHold { job, .. } => self.end_of_hold(job),
            Event::Cancel(job) => self.cancel(job),
            Event::Arrive(job) => self.arrive(job),
        }
    }

    fn arrive(&mut self, job: usize) {
        if self.stages[job] != Stage::Ahead {
            return;
        }
        let spec = &self.scenario.jobs[job];
        let id = JobId::root(WorkflowId::default()).child(job as u64);
        let workflow = spec.workflow.as_deref().map(|name| self.workflows[name]);
        let mut demand =
            Demand::new(id.attempt(1)).max_wait(Span::MAX).workflow(workflow.unwrap_or_default());
        for (name, amount) in &spec.demand {
            demand = demand.need(self.accounts[name.as_str()], *amount);
        }
        let ticket = self.monitor.submit(demand, self.now);
        if self.owners.len() <= ticket.slot() {
            self.owners.resize(ticket.slot() + 1, usize::MAX);
        }
        self.owners[ticket.slot()] = job;
        self.stages[job] = Stage::Waiting(ticket);
        self.outcomes[job].at = Some(self.now);
    }

    fn cancel(&mut self, job: usize) {
        match self.stages[job] {
            Stage::Ahead => self.never_runs(job, Outcome::Cancelled),
            Stage::Waiting(ticket) => {
                self.monitor.leave(ticket, self.now);
                self.never_runs(job, Outcome::Cancelled);
            }
            // After its grant a job runs to its end.
            Stage::Holding(_) | Stage::Over => {}
        }
    }

    /// The job is over without having run, and so is whoever comes after it.
    fn never_runs(&mut self, job: usize, outcome: Outcome) {
        let mut over = vec![(job, outcome)];
        while let Some((job, outcome)) = over.pop() {
            self.stages[job] = Stage::Over;
            self.outcomes[job].outcome = outcome;
            self.outcomes[job].at = Some(self.now);
            let ahead = |next: &&usize| self.stages[**next] == Stage::Ahead;
            let next: Vec<usize> = self.dependents[job].iter().filter(ahead).copied().collect();
            over.extend(next.into_iter().map(|job| (job, Outcome::Cancelled)));
        }
    }

    fn end_of_hold(&mut self, job: usize) {
        let Stage::Holding(ticket) = self.stages[job] else {
            unreachable!("a hold ends once");
        };
        let spec = &self.scenario.jobs[job];
        let settlement = spec.actual.iter().fold(Settlement::in_full(), |settlement, (name, n)| {
            settlement.charge(self.accounts[name.as_str()], Charge::Used(*n))
        });
        self.monitor.settle(ticket, &settlement, self.now);
        self.stages[job] = Stage::Over;
        self.end = self.end.max(self.now);
        for next in self.dependents[job].clone() {
            let delay = self.scenario.jobs[next].arrive_ms.at().since(Time::ZERO);
            self.events.push(Reverse((self.now.saturating_add(delay), Event::Arrive(next))));
        }
    }

    fn run_line(&mut self) {
        while let Some(action) = self.monitor.poll(self.now) {
            let job = self.owners[action.ticket().slot()];
            match action {
                Action::Admit(admitted) => self.granted(job, admitted.ticket, admitted.waited),
                Action::Reject(_, error) => {
                    self.outcomes[job].reason = Some(reason(&error));
                    self.never_runs(job, Outcome::Refused);
                }
            }
        }
    }

    fn granted(&mut self, job: usize, ticket: Ticket, waited: Span) {
        self.stages[job] = Stage::Holding(ticket);
        let outcome = &mut self.outcomes[job];
        outcome.outcome = Outcome::Granted;
        outcome.at = Some(self.now);
        outcome.waited_ms = millis(Time::ZERO.saturating_add(waited));
        self.grants += 1;
        let hold = self.scenario.jobs[job].hold_ms.at().since(Time::ZERO);
        let end = Event::EndOfHold { grant: self.grants, job };
        self.events.push(Reverse((self.now.saturating_add(hold), end)));
    }

    fn finish(mut self) -> Plan {
        for (stage, outcome) in self.stages.iter().zip(&mut self.outcomes) {
            if matches!(stage, Stage::Ahead | Stage::Waiting(_)) {
                outcome.at = None;
            }
        }
        let summary = self.summary();
        Plan { jobs: self.outcomes, summary }
    }

    fn summary(&self) -> Summary {
        let count = |wanted| self.outcomes.iter().filter(|job| job.outcome == wanted).count();
        let granted: Vec<_> =
            self.outcomes.iter().filter(|job| job.outcome == Outcome::Granted).collect();
        let mut waits: Vec<f64> = granted.iter().map(|job| job.waited_ms).collect();
        waits.sort_by(f64::total_cmp);
        let short_ms: BTreeMap<String, f64> = self
            .accounts
            .iter()
            .map(|(name, id)| ((*name).to_owned(), self.monitor.short_time(*id)))
            .chain([("memory".to_owned(), self.monitor.memory_time())])
            .filter(|(_, short)| *short > Span::ZERO)
            .map(|(name, short)| (name, millis(Time::ZERO.saturating_add(short))))
            .collect();
        let binding =
            short_ms.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(name, _)| name.clone());
        Summary {
            granted: granted.len(),
            refused: count(Outcome::Refused),
            cancelled: count(Outcome::Cancelled),
            waiting: count(Outcome::Waiting),
            makespan_ms: millis(self.end),
            wait_mean_ms: mean(&waits),
            wait_p99_ms: percentile(&waits, 99),
            wait_max_ms: waits.last().copied().unwrap_or(0.0),
            cost: self.cost(),
            binding,
            short_ms,
        }
    }

    fn cost(&self) -> Vec<Money> {
        let mut sums: BTreeMap<crate::money::Currency, Money> = BTreeMap::new();
        for (job, outcome) in self.scenario.jobs.iter().zip(&self.outcomes) {
            if let (Outcome::Granted, Some(cost)) = (outcome.outcome, job.cost) {
                let sum = sums.entry(cost.currency()).or_insert(Money::zero(cost.currency()));
                *sum = sum.plus(cost).expect("one currency a sum");
            }
        }
        sums.into_values().collect()
    }
}

/// The monitor's policy for a scenario's. A weight of a workflow without jobs concerns nobody.
fn policy(spec: &PolicySpec, workflows: &BTreeMap<&str, WorkflowId>) -> Policy {
    let mut policy = match spec.order {
        OrderSpec::Fifo => Policy::fifo(),
        OrderSpec::Fair => Policy::fair(),
    };
    for (name, weight) in &spec.weights {
        if let Some(workflow) = workflows.get(name.as_str()) {
            policy = policy.weight(*workflow, *weight);
        }
    }
    match spec.protect {
        None => policy,
        Some(ProtectSpec::Overtaken(times)) => policy.protect(Protect::Overtaken(times)),
        Some(ProtectSpec::WaitedMs(ms)) => {
            policy.protect(Protect::Waited(ms.at().since(Time::ZERO)))
        }
    }
}

fn reason(error: &AdmitError) -> String {
    error.to_string()
}

#[expect(clippy::cast_precision_loss, reason = "statistics")]
fn mean(sorted: &[f64]) -> f64 {
    if sorted.is_empty() { 0.0 } else { sorted.iter().sum::<f64>() / sorted.len() as f64 }
}

/// The smallest value that at least `percent` of a hundred are at or below.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100);
    rank.checked_sub(1).map_or(0.0, |at| sorted[at])
}
