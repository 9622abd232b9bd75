//! The memory gate on real processes whose memory is limited from outside.
//!
//! Each run is a process of its own whose watchdog, this program, kills it the moment that its peak
//! resident set passes 1 GiB. Its jobs fill 1 MiB when they start and keep it for ten seconds; its
//! pool never binds. Without arguments all runs are made side by side, one line of a table is printed
//! for each, and the exit code says whether each ended as it must. With names of runs, those alone.
//!
//! ```text
//! cargo run --release -p nucleo-harness --example memory_gate
//! cargo run --release -p nucleo-harness --example memory_gate -- steady-adaptive
//! ```
//!
//! Invariants: the gate is configured with the same limit that the watchdog enforces; what a process
//! says of itself is believed only when it ended well.
//!
//! Not here: the rules (`nucleo_core::memory`), virtual time (`nucleo-core/src/memory`, the tests).

use std::hint::black_box;
use std::io;
use std::num::NonZeroU64;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use nucleo_alloc::Counting;
use nucleo_core::limits::Permits;
use nucleo_core::{AccountId, Demand, JobId, Monitor, Span, Time, WorkflowId};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::memory::{LiveBytes, MemoryProfile, MemoryWatch, Zone};
use nucleo_harness::runtime::{Clock, TokioClock};
use tokio::task::JoinSet;

#[global_allocator]
static ALLOCATOR: Counting = Counting::system();

const MIB: usize = 1 << 20;
const LIMIT: NonZeroU64 = NonZeroU64::new(1 << 30).expect("not zero");
const KEPT_FOR: Span = Span::from_secs(10);
/// After the last job has ended the gate has to be green within this.
const GREEN_WITHIN: Span = Span::from_secs(5);

/// How jobs arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrivals {
    /// Ten thousand, two hundred a second.
    Steady,
    /// Three thousand at once.
    Burst,
    /// The same, each stating its size.
    BurstStated,
    /// The same, after a hundred from which the gate learnt.
    BurstLearnt,
}

/// What the gate is told memory is by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// The tightest of live bytes and the resident set: what `MemoryWatch::live_bytes` sets up.
    Both,
    /// Live bytes only: blind for the pages that the allocator keeps.
    LiveAlone,
}

/// How a run must end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Complete,
    BeKilled,
    /// Measured, and written down.
    EndSomehow,
}

struct Run {
    name: &'static str,
    arrivals: Arrivals,
    gate: Option<(MemoryProfile, Probe)>,
    must: Must,
}

const CONSERVATIVE: MemoryProfile = MemoryProfile::Conservative;
const ADAPTIVE: MemoryProfile = MemoryProfile::Adaptive;

#[rustfmt::skip]
const RUNS: &[Run] = &[
    Run { name: "steady-without", arrivals: Arrivals::Steady, gate: None, must: Must::BeKilled },
    Run { name: "steady-conservative", arrivals: Arrivals::Steady, gate: Some((CONSERVATIVE, Probe::Both)), must: Must::EndSomehow },
    Run { name: "steady-adaptive", arrivals: Arrivals::Steady, gate: Some((ADAPTIVE, Probe::Both)), must: Must::Complete },
    Run { name: "burst-without", arrivals: Arrivals::Burst, gate: None, must: Must::BeKilled },
    Run { name: "burst-conservative", arrivals: Arrivals::Burst, gate: Some((CONSERVATIVE, Probe::Both)), must: Must::EndSomehow },
    Run { name: "burst-adaptive-stated", arrivals: Arrivals::BurstStated, gate: Some((ADAPTIVE, Probe::Both)), must: Must::Complete },
    Run { name: "burst-adaptive-learnt", arrivals: Arrivals::BurstLearnt, gate: Some((ADAPTIVE, Probe::Both)), must: Must::Complete },
    Run { name: "burst-adaptive-live-alone", arrivals: Arrivals::BurstStated, gate: Some((ADAPTIVE, Probe::LiveAlone)), must: Must::EndSomehow },
];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, name] = arguments.as_slice()
        && word == "--inside"
    {
        let run = RUNS.iter().find(|run| run.name == name).ok_or("no such run")?;
        // Without its watchdog it would be unlimited: it ends when the watchdog's end of its input does.
        std::thread::spawn(|| {
            let _ = io::read_to_string(io::stdin());
            std::process::exit(1);
        });
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
        runtime.block_on(inside(run))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = arguments.iter().find(|name| RUNS.iter().all(|run| run.name != **name)) {
        let names: Vec<&str> = RUNS.iter().map(|run| run.name).collect();
        return Err(format!("no run is called {unknown}; there are: {}", names.join(", ")).into());
    }
    let chosen = RUNS
        .iter()
        .filter(|run| arguments.is_empty() || arguments.iter().any(|name| name == run.name));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let good = runtime.block_on(watch_all(chosen.collect()))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The watchdog's side.
async fn watch_all(runs: Vec<&'static Run>) -> io::Result<bool> {
    println!("| run | end | peak resident | what it says |\n| --- | --- | --- | --- |");
    let mut watches = JoinSet::new();
    for run in runs {
        let child = Command::new(std::env::current_exe()?)
            .args(["--inside", run.name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        watches.spawn(watch(run, child));
    }
    let mut all_good = true;
    while let Some(good) = watches.join_next().await {
        all_good &= good.map_err(io::Error::other)??;
    }
    Ok(all_good)
}

/// Kills the process when its peak passes the limit; says whether it ended as it must.
async fn watch(run: &Run, mut child: Child) -> io::Result<bool> {
    let clock = TokioClock::start();
    let (mut peak, mut killed) = (0, false);
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        peak = peak.max(peak_bytes(child.id()).unwrap_or(0));
        if peak > LIMIT.get() && !killed {
            killed = true;
            child.kill()?;
        }
        clock.sleep_until(clock.now().saturating_add(Span::from_millis(5))).await;
    };
    let said = io::read_to_string(child.stdout.take().expect("it is piped"))?;
    let completed = !killed && ended.success() && peak <= LIMIT.get();
    let good = match run.must {
        Must::Complete => completed,
        Must::BeKilled => killed,
        Must::EndSomehow => true,
    };
    let end = match (killed, completed) {
        (true, _) => "killed at the limit",
        (_, true) => "complete",
        _ => "failed",
    };
    let verdict = if good { "" } else { " (**not as it must**)" };
    println!("| {} | {end}{verdict} | {} MiB | {} |", run.name, peak >> 20, said.trim());
    Ok(good)
}

fn peak_bytes(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024)
}

/// The limited process's side.
async fn inside(run: &Run) -> Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::start());
    let mut monitor = Monitor::new();
    let pool = monitor.open("pool", Permits::new(1_000_000));
    let admission = Admission::start(monitor, Arc::clone(&clock));
    if let Some((profile, probe)) = run.gate {
        let count = || ALLOCATOR.live_bytes();
        let watch = match probe {
            Probe::Both => MemoryWatch::live_bytes(LIMIT, count),
            Probe::LiveAlone => MemoryWatch::new(LiveBytes::new(LIMIT, count)),
        };
        admission.watch_memory(watch.profile(profile));
    }
    let mut jobs = Jobs { admission, clock, pool, number: 0, running: JoinSet::new() };
    if run.arrivals == Arrivals::BurstLearnt {
        jobs.start(100, 0);
        jobs.end().await?;
    }
    let begin = jobs.clock.now();
    let asked = match run.arrivals {
        Arrivals::Steady => jobs.start_steadily(10_000, Span::from_millis(5)).await,
        Arrivals::Burst | Arrivals::BurstLearnt => jobs.start(3_000, 0),
        Arrivals::BurstStated => jobs.start(3_000, MIB as u64),
    };
    let completed = jobs.end().await?;
    let span = jobs.clock.now().since(begin);
    let green_after = jobs.green().await?;
    println!(
        "{completed} of {asked} jobs in {:.1} s, green after {:.1} s",
        span.as_secs_f64(),
        green_after.as_secs_f64(),
    );
    if completed == asked { Ok(()) } else { Err("jobs were lost".into()) }
}

struct Jobs {
    admission: Admission,
    clock: Arc<dyn Clock>,
    pool: AccountId,
    number: u64,
    running: JoinSet<Result<(), nucleo_core::AdmitError>>,
}

impl Jobs {
    fn start(&mut self, jobs: u64, stated: u64) -> u64 {
        for _ in 0..jobs {
            self.start_one(stated);
        }
        jobs
    }

    async fn start_steadily(&mut self, jobs: u64, apart: Span) -> u64 {
        let begin = self.clock.now();
        for job in 0..jobs {
            self.clock.sleep_until(begin.saturating_add(apart.saturating_mul(job))).await;
            self.start_one(0);
        }
        jobs
    }

    fn start_one(&mut self, stated: u64) {
        self.number += 1;
        let key = JobId::root(WorkflowId::from_u128(1)).child(self.number).attempt(1);
        let demand = Demand::new(key).need(self.pool, 1).expected_memory(stated);
        let (admission, clock) = (self.admission.clone(), Arc::clone(&self.clock));
        self.running.spawn(async move {
            let grant = admission.admit(demand).await?;
            let block = black_box(vec![1_u8; MIB]);
            let until: Time = clock.now().saturating_add(KEPT_FOR);
            clock.sleep_until(until).await;
            drop(block);
            grant.settle(Ending::default());
            Ok(())
        });
    }

    /// Waits for all, and says how many completed.
    async fn end(&mut self) -> Result<u64, Box<dyn std::error::Error>> {
        let mut completed = 0;
        while let Some(ended) = self.running.join_next().await {
            ended??;
            completed += 1;
        }
        Ok(completed)
    }

    /// Waits until the gate is green, and says how long that took.
    async fn green(&self) -> Result<Span, Box<dyn std::error::Error>> {
        let begin = self.clock.now();
        loop {
            let waited = self.clock.now().since(begin);
            let status = self.admission.memory();
            if status.is_none_or(|status| status.zone == Zone::Green) {
                return Ok(waited);
            }
            if waited > GREEN_WITHIN {
                return Err(format!("not green after {waited}: {status:?}").into());
            }
            self.clock.sleep_until(self.clock.now().saturating_add(Span::from_millis(50))).await;
        }
    }
}
