//! The crowd of `examples/million`, smaller: everybody is counted once, and everything comes back.
//!
//! Counts only: how long it takes and what it weighs is for the example and the benches to tell.

#[path = "../examples/million/crowd.rs"]
#[allow(dead_code, reason = "the example tells more of it than is counted here")]
mod crowd;

const JOBS: usize = 20_000;

#[tokio::test]
async fn a_crowd_is_parked_cancelled_and_served() {
    let told = crowd::run(JOBS).await;
    assert_eq!(told.parked, JOBS, "everybody waits: {told}");
    let http = told.seen.iter().find(|seen| &*seen.account == "http").expect("it was opened");
    assert_eq!((http.available, http.short, http.first.len()), (0, JOBS, 100));
    assert_eq!((told.cancelled, told.left), (JOBS / 2, JOBS - JOBS / 2));
    assert_eq!(told.cancelled + told.served, JOBS, "counted once: {told}");
    assert_eq!((told.waiting, told.free), (0, i128::from(crowd::CONNECTIONS)), "at rest");
}
