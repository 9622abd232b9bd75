//! The sampler on tokio's paused clock: when it reads, when it sleeps, what a sample lets happen, and
//! when it trims.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nucleo_core::limits::Permits;
use nucleo_core::{AccountId, Demand, JobId, Monitor, Time, WorkflowId};
use nucleo_harness::admission::{Admission, Ending, Grant};
use nucleo_harness::memory::{
    FakeProbe, MemoryProbe, MemoryProfile, MemoryStatus, MemoryWatch, ProbeError, Reading, Zone,
};
use nucleo_harness::runtime::{Clock, TokioClock};

/// A probe that counts how often it is read.
#[derive(Debug)]
struct Counted {
    probe: FakeProbe,
    reads: AtomicUsize,
}

impl MemoryProbe for Counted {
    fn read(&self) -> Result<Reading, ProbeError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.probe.read()
    }
}

struct World {
    admission: Admission,
    pool: AccountId,
    probe: Arc<Counted>,
    trims: Arc<AtomicUsize>,
    jobs: u64,
}

fn limit() -> NonZeroU64 {
    NonZeroU64::new(1_024).expect("not zero")
}

impl World {
    /// What a trim brings the reading to is said by `after_trim`, if it brings anything.
    fn new(profile: MemoryProfile, after_trim: Option<u64>) -> Self {
        let mut monitor = Monitor::new();
        let pool = monitor.open("pool", Permits::new(1_000_000));
        let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
        let probe = FakeProbe::new(Reading::pages(100, limit()));
        let probe = Arc::new(Counted { probe, reads: AtomicUsize::new(0) });
        let trims = Arc::new(AtomicUsize::new(0));
        let (trimmed, counted) = (Arc::clone(&probe), Arc::clone(&trims));
        let watch = MemoryWatch::new(Arc::clone(&probe)).profile(profile).trim_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            if let Some(used) = after_trim {
                trimmed.probe.set(Reading::pages(used, limit()));
            }
        });
        admission.watch_memory(watch);
        Self { admission, pool, probe, trims, jobs: 0 }
    }

    fn demand(&mut self) -> Demand {
        self.jobs += 1;
        let job = JobId::root(WorkflowId::from_u128(1)).child(self.jobs);
        Demand::new(job.attempt(1)).need(self.pool, 1)
    }

    async fn grant(&mut self) -> Grant {
        let demand = self.demand();
        self.admission.admit(demand).await.expect("granted")
    }

    /// A job in a task of its own: it says when it goes, by ending.
    fn waiter(&mut self) -> tokio::task::JoinHandle<Grant> {
        let (admission, demand) = (self.admission.clone(), self.demand());
        tokio::spawn(async move { admission.admit(demand).await.expect("granted") })
    }

    fn reads(&self, used: u64) {
        self.probe.probe.set(Reading::pages(used, limit()));
    }

    fn read_count(&self) -> usize {
        self.probe.reads.load(Ordering::Relaxed)
    }

    fn trims(&self) -> usize {
        self.trims.load(Ordering::Relaxed)
    }

    fn status(&self) -> MemoryStatus {
        self.admission.memory().expect("memory is watched")
    }
}

/// Lets virtual time pass, and everybody do what is due in it. The clock stands while a thread works
/// that was asked to, so a trim is over before time goes on.
async fn pass(ms: u64) {
    TokioClock::start().sleep_until(Time::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn reads_every_hundred_milliseconds_while_something_runs_and_then_sleeps() {
    let mut world = World::new(MemoryProfile::Conservative, None);
    pass(1_000).await;
    let at_rest = world.read_count();
    pass(10_000).await;
    assert_eq!(world.read_count(), at_rest, "nothing runs, nobody reads");
    let grant = world.grant().await;
    pass(1_000).await;
    let while_running = world.read_count() - at_rest;
    assert!((10..=12).contains(&while_running), "{while_running}");
    grant.settle(Ending::default());
    pass(200).await;
    let after = world.read_count();
    pass(10_000).await;
    assert_eq!(world.read_count(), after);
}

#[tokio::test(start_paused = true)]
async fn a_sample_shuts_the_gate_and_a_sample_opens_it() {
    let mut world = World::new(MemoryProfile::Adaptive, None);
    let first = world.grant().await;
    world.reads(1_000);
    pass(200).await;
    assert_eq!(world.status().zone, Zone::Critical);
    let waiter = world.waiter();
    pass(60_000).await;
    assert!(!waiter.is_finished());
    assert_eq!(world.status().waiting, 1);
    world.reads(100);
    pass(200).await;
    waiter.await.expect("it goes").settle(Ending::default());
    first.settle(Ending::default());
    pass(200).await;
    assert_eq!(world.status().zone, Zone::Green);
    assert_eq!((world.status().in_flight, world.status().waiting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn trims_once_when_it_latches_and_once_when_the_last_job_has_ended() {
    let mut world = World::new(MemoryProfile::Adaptive, None);
    let job = world.grant().await;
    world.reads(1_000);
    pass(5_000).await;
    assert_eq!((world.trims(), world.status().zone), (1, Zone::Critical));
    assert!(world.status().last_trim.is_some());
    job.settle(Ending::default());
    pass(5_000).await;
    assert_eq!(world.trims(), 2);
    let reads = world.read_count();
    pass(1_000).await;
    assert!(world.read_count() > reads, "it reads on until it is green");
    world.reads(100);
    pass(200).await;
    assert_eq!((world.trims(), world.status().zone), (2, Zone::Green));
}

#[tokio::test(start_paused = true)]
async fn freed_pages_that_only_a_trim_returns_do_not_keep_the_gate_shut() {
    let mut world = World::new(MemoryProfile::Adaptive, Some(100));
    let job = world.grant().await;
    world.reads(1_000);
    pass(200).await;
    assert_eq!((world.trims(), world.status().zone), (1, Zone::Green));
    assert!(world.status().sample.is_some_and(|sample| sample < 0.1), "read again after it");
    job.settle(Ending::default());
}

#[tokio::test(start_paused = true)]
async fn live_bytes_are_never_trimmed() {
    let mut world = World::new(MemoryProfile::Adaptive, None);
    let job = world.grant().await;
    world.probe.probe.set(Reading::live(1_000, limit()));
    pass(1_000).await;
    job.settle(Ending::default());
    pass(1_000).await;
    assert_eq!((world.trims(), world.status().zone), (0, Zone::Critical));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_leaves_the_last_sample_in_force() {
    let mut world = World::new(MemoryProfile::Conservative, None);
    let job = world.grant().await;
    world.reads(500);
    pass(200).await;
    world.probe.probe.fail();
    pass(1_000).await;
    assert!(world.status().sample.is_some_and(|sample| (sample - 500.0 / 1_024.0).abs() < 1e-9));
    job.settle(Ending::default());
}

#[tokio::test(start_paused = true)]
async fn nobody_is_stranded_behind_the_gate_by_a_stop() {
    let mut world = World::new(MemoryProfile::Adaptive, None);
    let job = world.grant().await;
    world.reads(1_000);
    pass(200).await;
    let (admission, demand) = (world.admission.clone(), world.demand());
    let waiter = tokio::spawn(async move { admission.admit(demand).await.map(drop) });
    pass(200).await;
    world.admission.stop();
    assert!(waiter.await.expect("no panic").is_err());
    job.settle(Ending::default());
}

#[tokio::test(start_paused = true)]
async fn the_sampler_ends_with_admission() {
    let world = World::new(MemoryProfile::Adaptive, None);
    let World { admission, probe, .. } = world;
    drop(admission);
    pass(200).await;
    assert_eq!(Arc::strong_count(&probe), 1, "the sampler and its probe are gone");
}
