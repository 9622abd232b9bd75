//! The monitor alone, without lock or task, beside the naive rule, by `divan`:
//! `cargo bench -p nucleo-core`.
//!
//! The same calls drive both indexes, so the difference is the search. The naive rule looks at every
//! waiter and is stopped at ten thousand.
//!
//! Not here: ratios against targets (`nucleo-harness/benches/targets`).

use divan::{Bencher, black_box};
use nucleo_core::admission::{ByClass, Index, Naive};
use nucleo_core::limits::Permits;
use nucleo_core::{
    Action, AttemptKey, Demand, JobId, Monitor, Settlement, Ticket, Time, WorkflowId,
};

fn main() {
    divan::main();
}

fn key(number: u64) -> AttemptKey {
    JobId::root(WorkflowId::from_u128(1)).child(number).attempt(1)
}

/// Grants everyone that can go now.
fn run<I: Index>(monitor: &mut Monitor<I>, held: &mut Vec<Ticket>) {
    while let Some(action) = monitor.poll(Time::ZERO) {
        match action {
            Action::Admit(admitted) => held.push(admitted.ticket),
            Action::Reject(ticket, error) => panic!("{ticket:?} was refused: {error}"),
        }
    }
}

/// Submit, grant and settle on three accounts, with nobody else there.
#[divan::bench(types = [ByClass, Naive])]
fn nobody_else<I: Index>(bencher: Bencher<'_, '_>) {
    let mut monitor = Monitor::<I>::default();
    let accounts = ["http", "database", "browser"].map(|name| monitor.open(name, Permits::new(8)));
    bencher.bench_local(|| {
        let demand = accounts.iter().fold(Demand::new(key(1)), |demand, id| demand.need(*id, 1));
        let ticket = monitor.submit(demand, Time::ZERO);
        _ = black_box(monitor.poll(Time::ZERO));
        monitor.settle(ticket, &Settlement::in_full(), Time::ZERO);
        monitor.poll(Time::ZERO)
    });
}

/// One settle, the grant that it brings past a stuck head, and the arrival that fills the line up.
fn one_for_one<I: Index>(bencher: Bencher<'_, '_>, parked: usize) {
    let mut monitor = Monitor::<I>::default();
    let stuck = monitor.open("stuck", Permits::new(1));
    let pool = monitor.open("pool", Permits::new(500));
    let mut held = Vec::new();
    for number in 0..2 {
        monitor.submit(Demand::new(key(number)).need(stuck, 1), Time::ZERO);
        run(&mut monitor, &mut held);
    }
    held.clear();
    let mut random = fastrand::Rng::with_seed(3);
    let mut jobs = 10;
    let mut fill = |monitor: &mut Monitor<I>, held: &mut Vec<Ticket>| {
        while monitor.waiting() < parked {
            jobs += 1;
            let amount = 1 + jobs % 10;
            monitor.submit(Demand::new(key(jobs)).need(pool, amount), Time::ZERO);
            run(monitor, held);
        }
    };
    fill(&mut monitor, &mut held);
    bencher.bench_local(|| {
        let ticket = held.swap_remove(random.usize(0..held.len()));
        monitor.settle(ticket, &Settlement::in_full(), Time::ZERO);
        run(&mut monitor, &mut held);
        fill(&mut monitor, &mut held);
    });
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn one_for_one_by_class(bencher: Bencher<'_, '_>, parked: usize) {
    one_for_one::<ByClass>(bencher, parked);
}

#[divan::bench(args = [1_000, 10_000])]
fn one_for_one_naive(bencher: Bencher<'_, '_>, parked: usize) {
    one_for_one::<Naive>(bencher, parked);
}
