//! One seed, from its plan to its end.

use std::num::NonZeroU64;
use std::sync::{Arc, Mutex};

use futures_util::future::{join, join_all};
use nucleo_agents::providers::loopback::Engine;
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::admission::Policy;
use nucleo_core::limits::{Rate, RetryShare};
use nucleo_core::spend::ScopeId;
use nucleo_core::{AccountId, Currency, Money, Reason, Span, Time};
use nucleo_harness::attempt::JobRecord;
use nucleo_harness::memory::{FakeProbe, MemoryWatch, Reading};
use nucleo_harness::runtime::Clock;
use nucleo_harness::workflow::CancelOnDrop;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::gremlin::Disturbance;
use crate::log::{Counts, Log, hear_panics, heard_panics};
use crate::observer::Observer;
use crate::own::{OwnAccounts, pause};
use crate::plan::Plan;
use crate::rest;
use crate::script::{Stage, perform};
use crate::wire::Wire;

/// What the calls of each workflow came to; `None` of one that was dropped.
pub(crate) type Records = Vec<Option<JobRecord>>;

/// What became of a seed.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) digest: u64,
    pub(crate) seen: Counts,
    pub(crate) wrong: Option<String>,
}

/// Plays one seed; `told` prints its story.
pub(crate) fn play(seed: u64, told: bool) -> Played {
    hear_panics();
    let plan = Plan::draw(seed);
    if told {
        println!("{plan:#?}");
    }
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    let tokio = tokio.enable_time().start_paused(true).build().unwrap();
    let (digest, seen, wrong) = tokio.block_on(async {
        let log = Arc::new(Log::new(told));
        whole(plan, &log).await;
        log.end()
    });
    Played { digest, seen, wrong }
}

async fn whole(plan: Plan, log: &Arc<Log>) {
    let tasks_before = Handle::current().metrics().num_alive_tasks();
    let world = World::start(plan, log);
    let ended = tokio::time::timeout(Plan::TIME_MAX.to_std(), world.drive()).await;
    let records = ended.unwrap_or_else(|_| {
        log.wrong(format!("no end: {:?}", world.observer.unended()));
        Records::new()
    });
    // Whatever was dropped has its grace.
    pause(REST_MS).await;
    world.observer.sample();
    rest::check(&world, &records);
    world.observer.close();
    drop(world);
    pause(1_000).await;
    let tasks = Handle::current().metrics().num_alive_tasks();
    log.check(tasks == tasks_before, || format!("{} tasks are left", tasks - tasks_before));
    for panic in heard_panics() {
        log.wrong(format!("a panic: {panic}"));
    }
}

/// Longer than any grace.
const REST_MS: u64 = 120_000;

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) log: Arc<Log>,
    pub(crate) runtime: Runtime,
    pub(crate) engine: Engine,
    pub(crate) observer: Arc<Observer>,
    pub(crate) handles: Mutex<Vec<Option<Workflow>>>,
    guards: Mutex<Vec<Option<CancelOnDrop>>>,
    probe: Arc<FakeProbe>,
    own: OwnAccounts,
}

impl World {
    fn start(plan: Plan, log: &Arc<Log>) -> Self {
        let observer = Arc::new(Observer::new(
            Arc::clone(log),
            plan.overreports(),
            plan.caps.iter().map(|(scope, _)| scope.clone()).collect(),
        ));
        let engine = Engine::new(plan.offer.server(plan.seed, &plan.faults)).unwrap();
        let catalog = plan.offer.catalog();
        let (known, seen) = (Arc::new(catalog.clone()), Arc::clone(&observer));
        let wire = Wire::new(engine.transport(), known, seen, plan.network, plan.seed);
        let probe = Arc::new(FakeProbe::new(reading(100)));
        let mut builder = Runtime::builder(catalog)
            .transport(Arc::new(wire))
            .clock(Arc::new(WorldClock(Instant::now())))
            .journal(Arc::clone(&observer) as _)
            .connections(plan.pool)
            .seed(plan.seed)
            .retry_share(RetryShare { percent: 10, least_a_minute: plan.retries_a_minute });
        for (scope, micro) in &plan.caps {
            let cap = Money::from_pico(i128::from(*micro) * 1_000_000, Currency::USD);
            builder = builder.cap(scope.clone(), cap);
        }
        if plan.fair {
            builder = builder.share(Policy::fair());
        }
        if plan.watches_memory() {
            builder = builder.memory(MemoryWatch::new(Arc::clone(&probe)));
        }
        let runtime = builder.start().unwrap();
        let harness = runtime.harness();
        let own = OwnAccounts::open(harness.admission());
        observer.look_at(harness.admission(), harness.ledger(), runtime.http());
        let (handles, guards) = (Mutex::default(), Mutex::default());
        let log = Arc::clone(log);
        Self { plan, log, runtime, engine, observer, handles, guards, probe, own }
    }

    /// Runs every workflow to its end, while the gremlin disturbs and the watchman looks.
    async fn drive(&self) -> Records {
        let (log, own) = (Arc::clone(&self.log), self.own);
        let (stubborn, may_expire) = (self.plan.stubborn, self.plan.may_expire());
        let stage = Arc::new(Stage { log, own, stubborn, may_expire });
        let mut runs = Vec::new();
        for (number, flow) in self.plan.flows.iter().enumerate() {
            let mut builder = self.runtime.workflow(format!("w{number}"));
            if let Some(cap) = flow.cap_micro {
                builder = builder.cap(Money::from_pico(i128::from(cap) * 1_000_000, Currency::USD));
            }
            if let Some(user) = flow.user {
                builder = builder.user(user);
            }
            if let Some(ms) = flow.deadline_ms {
                builder = builder.deadline(Span::from_millis(ms));
            }
            let workflow = builder.start();
            self.guards.lock().unwrap().push(flow.guarded.then(|| workflow.cancel_on_drop()));
            let context = workflow.context().clone();
            let run = perform(context.clone(), Arc::clone(&flow.script), Arc::clone(&stage));
            runs.push(tokio::spawn(async move {
                let _ = run.await;
                context.record()
            }));
            self.handles.lock().unwrap().push(Some(workflow));
        }
        let aborts: Vec<_> = runs.iter().map(tokio::task::JoinHandle::abort_handle).collect();
        let all = join(join_all(runs), self.disturb(&aborts));
        tokio::select! {
            biased;
            (runs, ()) = all => runs.into_iter().map(Result::ok).collect(),
            records = self.watch() => records,
        }
    }

    /// Looks now and then, and never ends.
    async fn watch(&self) -> Records {
        let mut tick = 0_u64;
        loop {
            pause(match tick {
                ..60 => 1_000,
                60..400 => 10_000,
                _ => 600_000,
            })
            .await;
            self.observer.sample();
            self.observer.watch();
            tick += 1;
        }
    }

    async fn disturb(&self, aborts: &[AbortHandle]) {
        let began = Instant::now();
        for (at, what) in &self.plan.disturbances {
            let passed = u64::try_from(began.elapsed().as_millis()).unwrap();
            pause(at.saturating_sub(passed)).await;
            self.log.line(format_args!("disturbance: {what:?}"));
            self.log.saw(&format!("disturbance: {}", what.name()));
            self.observer.sample();
            self.apply(*what, aborts).await;
            self.observer.sample();
            // Whoever it made room for is on the way already.
            self.observer.watch();
        }
        self.probe.set(reading(100));
    }

    async fn apply(&self, what: Disturbance, aborts: &[AbortHandle]) {
        let admission = self.runtime.harness().admission();
        match what {
            Disturbance::CancelWorkflow(flow) => {
                let handle = self.handles.lock().unwrap()[flow].clone();
                if let Some(workflow) = handle {
                    workflow.cancel();
                }
            }
            Disturbance::DropGuard(flow) => drop(self.guards.lock().unwrap()[flow].take()),
            Disturbance::DropHandle(flow) => drop(self.handles.lock().unwrap()[flow].take()),
            Disturbance::DropRun(flow) => aborts[flow].abort(),
            Disturbance::SetCap(flow, percent) => self.set_cap(flow, percent),
            Disturbance::ResizePool(places) => admission.resize(self.runtime.http(), places),
            Disturbance::ResizeOwn(permits) => admission.resize(self.own.permits, permits),
            Disturbance::RateOwn(rate) => {
                // What was reserved for one demand still fits.
                let rate = Rate::per_second(rate).burst(crate::own::RATE);
                admission.reconfigure(self.own.bucket, rate).unwrap();
            }
            Disturbance::Close(at) => admission.close(self.account(at), Reason::Closed),
            Disturbance::ReopenAll => {
                for at in 0..admission.accounts().len() as u64 {
                    admission.reopen(self.account(at));
                }
            }
            Disturbance::Memory(permille) => self.probe.set(reading(permille)),
            Disturbance::Quota(permille) => self.engine.set_quota_permille(permille),
            Disturbance::Clock(ms) => self.engine.jump_clock(ms),
            Disturbance::Shutdown(ms) => self.runtime.shutdown(Span::from_millis(ms)).await,
        }
    }

    fn account(&self, at: u64) -> AccountId {
        let count = self.runtime.harness().admission().accounts().len() as u64;
        AccountId::from_index(u32::try_from(at % count).unwrap())
    }

    fn set_cap(&self, flow: usize, percent: Option<u64>) {
        let handle = self.handles.lock().unwrap()[flow].clone();
        let Some(workflow) = handle else { return };
        let position = self.runtime.harness().ledger().position(&ScopeId::Workflow(workflow.id()));
        let sums = position.map(|at| at.spent.into_iter().chain(at.committed).collect::<Vec<_>>());
        let dollars = |sum: &&Money| sum.currency() == Currency::USD;
        let level = sums.unwrap_or_default().iter().filter(dollars).map(|sum| sum.pico()).sum();
        self.observer.before_cap(flow, level);
        let cap = percent.map(|percent| level * i128::from(percent) / 100 + 1_000);
        workflow.set_cap(cap.map(|cap| Money::from_pico(cap, Currency::USD)));
    }
}

fn reading(permille: u32) -> Reading {
    Reading::live(u64::from(permille), NonZeroU64::new(1_000).unwrap())
}

/// Tokio's paused clock, on a day that begins now: nothing comes from outside.
#[derive(Debug)]
struct WorldClock(Instant);

impl Clock for WorldClock {
    fn now(&self) -> Time {
        Time::ZERO.saturating_add(Span::from(self.0.elapsed()))
    }

    fn sleep_until(&self, at: Time) -> futures_core::future::BoxFuture<'static, ()> {
        let far = Span::from_mins(60 * 24 * 365 * 30);
        Box::pin(tokio::time::sleep_until(self.0 + at.since(Time::ZERO).min(far).to_std()))
    }

    fn wall(&self) -> Span {
        Span::from_secs(1_764_547_201).saturating_add(self.now().since(Time::ZERO))
    }
}
