//! The observer: hears every event and every exchange, and looks at accounts and money each time.
//!
//! Checked at every instant it sees:
//! - no account shows more than its capacity; permits in use stay within it, and after it was lowered
//!   only fall; no bucket is below zero, unless a server reports more than was reserved;
//! - on the wire are at most as many requests as hold places, of the pool and of a model's own limit;
//! - `spent + committed` stays within the cap (beside bills above their reservation), and after a cap
//!   was lowered only falls until it does;
//! - the caps of users, keys and days hold in the same way;
//! - each job's steps follow the law, one after the other, and it ends once.
//!
//! And by the watchman, now and then: nobody waits who could go, no promised instant has passed
//! unnoticed, nobody waits for siblings that are not there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use nucleo_core::spend::ScopeId;
use nucleo_core::{AccountId, JobId, Span, WorkflowId};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::{Step, StepEvent};
use nucleo_harness::spend::CostLedger;
use nucleo_harness::workflow::{Event, EventKind, Journal};

use crate::bills::Bills;
use crate::log::Log;
use crate::wire::{Asked, Shown};

#[derive(Debug)]
pub(crate) struct Observer {
    pub(crate) log: Arc<Log>,
    overreports: bool,
    /// The scopes with caps that are wider than a workflow.
    wider: Vec<ScopeId>,
    sight: Mutex<Option<Sight>>,
    seen: Mutex<Seen>,
}

/// What is looked at, until the end.
#[derive(Clone, Debug)]
struct Sight {
    admission: Admission,
    ledger: CostLedger,
    http: AccountId,
}

#[derive(Debug, Default)]
struct Seen {
    jobs: BTreeMap<JobId, JobSeen>,
    /// By the number in their names.
    flows: BTreeMap<usize, WorkflowId>,
    /// In use when last looked, by account.
    in_use: Vec<i128>,
    /// Spent and committed when last looked.
    money: BTreeMap<usize, i128>,
    on_wire: u64,
    /// By the name of the model's own account of calls at once.
    on_wire_of: BTreeMap<Arc<str>, u64>,
    bills: Bills,
    quota_refusals: u64,
}

#[derive(Debug)]
struct JobSeen {
    step: Step,
    attempts: u32,
}

impl Observer {
    pub(crate) fn new(log: Arc<Log>, overreports: bool, wider: Vec<ScopeId>) -> Self {
        Self { log, overreports, wider, sight: Mutex::default(), seen: Mutex::default() }
    }

    pub(crate) fn look_at(&self, admission: &Admission, ledger: &CostLedger, http: AccountId) {
        let (admission, ledger) = (admission.clone(), ledger.clone());
        *self.sight.lock().unwrap() = Some(Sight { admission, ledger, http });
    }

    /// Looks no more, and lets go of everything.
    pub(crate) fn close(&self) {
        *self.sight.lock().unwrap() = None;
    }

    pub(crate) fn leaves(&self, asked: &Asked) {
        self.log.line(format_args!(
            "w{} -> {}, {}+{}",
            asked.workflow, asked.entry.id, asked.input, asked.limit
        ));
        {
            let mut seen = self.seen.lock().unwrap();
            seen.on_wire += 1;
            if let Some(own) = own_limit(asked) {
                *seen.on_wire_of.entry(own).or_default() += 1;
            }
        }
        self.sample();
    }

    pub(crate) fn ends(&self, asked: &Asked, shown: Shown) {
        let name = shown.name(asked);
        self.log.line(format_args!("w{} <- {}: {name}", asked.workflow, asked.entry.id));
        self.log.saw(&format!("wire: {name}"));
        {
            let mut seen = self.seen.lock().unwrap();
            seen.on_wire -= 1;
            if let Some(own) = own_limit(asked) {
                *seen.on_wire_of.get_mut(&own).expect("it left before") -= 1;
            }
            seen.bills.add(asked, shown);
            seen.quota_refusals += u64::from(name == "429 of a quota");
        }
        self.sample();
    }

    /// Looks at every account and every workflow's money.
    pub(crate) fn sample(&self) {
        let Some(sight) = self.sight.lock().unwrap().clone() else { return };
        let mut seen = self.seen.lock().unwrap();
        self.look_at_accounts(&sight, &mut seen);
        self.look_at_money(&sight, &mut seen);
        self.look_at_wider_scopes(&sight, &mut seen);
    }

    fn look_at_accounts(&self, sight: &Sight, seen: &mut Seen) {
        let accounts = sight.admission.accounts();
        seen.in_use.resize(accounts.len(), 0);
        for (at, account) in accounts.iter().enumerate() {
            let (name, free) = (&account.name, account.available);
            let capacity = i128::from(account.capacity);
            self.log.check(free <= capacity, || format!("{name}: {free} free of {capacity}"));
            let is_held =
                &**name == "http" || name.ends_with(".concurrent") || &**name == "own.permits";
            if !is_held {
                let fine = free >= 0 || self.overreports;
                self.log.check(fine, || {
                    format!(
                        "{name} stands at {free}, and nothing was reported above its reservation"
                    )
                });
                continue;
            }
            let used = capacity - free;
            let before = std::mem::replace(&mut seen.in_use[at], used);
            self.log.check(used <= capacity.max(before), || {
                format!("{name}: {used} in use of {capacity}, {before} before")
            });
            let wire = if at == sight.http.index() {
                seen.on_wire
            } else {
                seen.on_wire_of.get(name).copied().unwrap_or(0)
            };
            self.log.check(i128::from(wire) <= used, || {
                format!("{name}: {wire} requests on the wire, {used} hold a place")
            });
        }
    }

    fn look_at_money(&self, sight: &Sight, seen: &mut Seen) {
        for (&flow, id) in &seen.flows {
            let Some(position) = sight.ledger.position(&ScopeId::Workflow(*id)) else { continue };
            let Some(cap) = position.cap else {
                seen.money.remove(&flow);
                continue;
            };
            let sums = position.spent.iter().chain(&position.committed);
            let mine = sums.filter(|sum| sum.currency() == cap.currency());
            let level: i128 = mine.map(|sum| sum.pico()).sum();
            let over = seen.bills.overspent.get(&flow).copied().unwrap_or(0);
            let before = seen.money.insert(flow, level).unwrap_or(level.min(cap.pico()));
            let most = cap.pico().max(before) + over;
            self.log.check(level <= most, || {
                format!("w{flow}: {level} spent and committed, {most} may be, cap {cap}")
            });
            self.log.check(position.waiting == 0 || sight.ledger.under_way() > 0, || {
                format!("w{flow}: {} wait for siblings, and there are none", position.waiting)
            });
        }
    }

    /// The caps of users, keys and days hold as a workflow's does; nobody changes them.
    fn look_at_wider_scopes(&self, sight: &Sight, seen: &mut Seen) {
        let over: i128 = seen.bills.overspent.values().sum();
        for scope in &self.wider {
            let Some(position) = sight.ledger.position(scope) else { continue };
            let Some(cap) = position.cap else { continue };
            let sums = position.spent.iter().chain(&position.committed);
            let mine = sums.filter(|sum| sum.currency() == cap.currency());
            let level: i128 = mine.map(|sum| sum.pico()).sum();
            self.log.check(level <= cap.pico() + over, || {
                format!("{scope}: {level} spent and committed, cap {cap}, bills above {over}")
            });
            self.log.check(position.waiting == 0 || sight.ledger.under_way() > 0, || {
                format!("{scope}: {} wait for siblings, and there are none", position.waiting)
            });
            if position.spent.iter().any(|sum| sum.pico() > 0) {
                self.log.saw("scope: spent by a user, a key or a day");
            }
        }
    }

    /// The cap of a workflow is about to change: what stands now may stay.
    pub(crate) fn before_cap(&self, flow: usize, level: i128) {
        self.seen.lock().unwrap().money.insert(flow, level);
    }

    /// Whether somebody waits who could go.
    pub(crate) fn watch(&self) {
        let Some(sight) = self.sight.lock().unwrap().clone() else { return };
        if sight.admission.waiting() == 0 {
            return;
        }
        let now = sight.admission.clock().now();
        let seen = self.seen.lock().unwrap();
        for (job, _) in seen.jobs.iter().filter(|(_, job)| job.step == Step::InLine) {
            let attempt = seen.jobs[job].attempts + 1;
            let Some(why) = sight.admission.why_waiting(job.attempt(attempt)) else { continue };
            self.log.check(!why.short.is_empty() || why.memory, || {
                format!("a lost wake-up: {job} waits for nothing: {why:?}")
            });
            let due = why.earliest.map(|at| at.saturating_add(LATE_MAX));
            self.log.check(due.is_none_or(|due| due >= now), || {
                format!("a lost wake-up: {job} should have gone: {why:?}, now {now}")
            });
        }
    }

    /// The jobs that have not ended.
    pub(crate) fn unended(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let open = seen.jobs.iter().filter(|(_, job)| job.step != Step::Ended);
        open.map(|(id, job)| format!("{id} {:?}, attempt {}", job.step, job.attempts)).collect()
    }

    /// Exchanges that have not ended, refusals by the server's own quotas, and the bills.
    pub(crate) fn wire(&self) -> (u64, u64, Bills) {
        let mut seen = self.seen.lock().unwrap();
        (seen.on_wire, seen.quota_refusals, std::mem::take(&mut seen.bills))
    }

    pub(crate) fn workflow(&self, flow: usize) -> Option<WorkflowId> {
        self.seen.lock().unwrap().flows.get(&flow).copied()
    }

    fn fold(&self, event: &Event) {
        let mut seen = self.seen.lock().unwrap();
        match &event.what {
            EventKind::WorkflowStarted { name, .. } => {
                let number = name.strip_prefix('w').and_then(|number| number.parse().ok());
                seen.flows
                    .insert(number.expect("a world's workflows are numbered"), event.workflow);
            }
            EventKind::JobStarted { job, after, .. } => {
                let step = if after.is_empty() { Step::Preparing } else { Step::Waiting };
                let first = seen.jobs.insert(*job, JobSeen { step, attempts: 0 });
                self.log.check(first.is_none(), || format!("{job} started twice"));
            }
            EventKind::JobStepped { job, event, step } => {
                let Some(known) = seen.jobs.get_mut(job) else {
                    return self.log.wrong(format!("{job} goes on, and never started"));
                };
                let lawful = law(known.step, *event) == Some(*step);
                let from = known.step;
                self.log.check(lawful, || format!("{job}: from {from:?} by {event:?} to {step:?}"));
                known.step = *step;
                known.attempts += u32::from(*event == StepEvent::Granted);
            }
            _ => {}
        }
    }
}

/// How late the timer's task may be: tokio's timers are exact to the millisecond.
const LATE_MAX: Span = Span::from_millis(5);

impl Journal for Observer {
    fn record(&self, event: &Event) {
        match &event.what {
            EventKind::JobStepped { job, event, .. } => {
                self.log.line(format_args!("{job} {event:?}"))
            }
            EventKind::JobStarted { job, agent, .. } => {
                self.log.line(format_args!("{job} started by {agent}"))
            }
            what => self.log.line(format_args!("{what:?}")),
        }
        self.fold(event);
        self.sample();
    }
}

/// The law of the steps, written anew.
fn law(from: Step, event: StepEvent) -> Option<Step> {
    match event {
        StepEvent::Ready => (from == Step::Waiting).then_some(Step::Preparing),
        StepEvent::Prepared => (from == Step::Preparing).then_some(Step::Approving),
        StepEvent::Approved => (from == Step::Approving).then_some(Step::InLine),
        StepEvent::Granted => (from == Step::InLine).then_some(Step::Running),
        StepEvent::Retrying => (from == Step::Running).then_some(Step::Pausing),
        StepEvent::Resumed => (from == Step::Pausing).then_some(Step::Preparing),
        StepEvent::Over => (from != Step::Ended).then_some(Step::Ended),
    }
}

/// The name of the account that counts a model's calls at once.
fn own_limit(asked: &Asked) -> Option<Arc<str>> {
    asked.entry.accounts.iter().find(|name| name.ends_with(".concurrent")).cloned()
}
