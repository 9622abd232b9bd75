//! The server's clock: nanoseconds since it started, from tokio.
//!
//! Under tokio's paused time the whole server runs in virtual time, with the same quotas and the
//! same latencies. Nothing else in this folder reads a clock or sleeps.
//!
//! Not here: the runtime's clock (`nucleo-harness`); the server stands by itself.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(super) struct ServerClock(Instant);

impl ServerClock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now_ns(self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).expect("less than 584 years")
    }

    /// Returns at `ns`, at once when that has passed: without latency nothing ever yields here.
    pub(super) async fn reach(self, ns: u64) {
        let at = self.0 + Duration::from_nanos(ns);
        if at > Instant::now() {
            tokio::time::sleep_until(at).await;
        }
    }
}
