//! Many tasks on several threads, that name the same accounts in either order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nucleo_core::limits::Permits;
use nucleo_core::{AccountId, Monitor};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::TokioClock;

use crate::waiter::demand;

const ROUNDS: usize = 10_000;
const TASKS: usize = 8;

/// `{A, B}` and `{B, A}` with one of each: who held one and waited for the other would stand still
/// for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn either_order_of_two_accounts() {
    let mut monitor = Monitor::new();
    let [a, b] = ["a", "b"].map(|name| monitor.open(name, Permits::new(1)));
    let admission = Admission::start(monitor, Arc::new(TokioClock::start()));
    let inside = Arc::new(AtomicUsize::new(0));
    let tasks = (0..TASKS).map(|task| {
        let needs = if task % 2 == 0 { [(a, 1), (b, 1)] } else { [(b, 1), (a, 1)] };
        tokio::spawn(rounds(admission.clone(), needs, Arc::clone(&inside)))
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!([admission.free(a), admission.free(b)], [1, 1]);
    assert_eq!(admission.waiting(), 0);
}

async fn rounds(admission: Admission, needs: [(AccountId, u64); 2], inside: Arc<AtomicUsize>) {
    for round in 0..ROUNDS / TASKS {
        let grant = admission.admit(demand(&needs)).await.unwrap();
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
        if round % 16 == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
        if round % 2 == 0 { drop(grant) } else { grant.settle(Ending::default()) }
    }
}
