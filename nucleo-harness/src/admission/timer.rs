//! The one timer task: it sleeps until the earliest deadline and runs the line.
//!
//! Invariants: it holds no strong reference to the monitor while it sleeps, so it ends with it; a
//! bell that rings while it works is kept by the bell, so no deadline is missed; a late wake-up is
//! harmless, because the line is run at the clock's own `now`.
//!
//! Not here: which deadline (`nucleo-core`).

use std::sync::Weak;

use super::shared::Shared;

/// Runs until the monitor is gone.
pub(crate) async fn run(shared: Weak<Shared>) {
    while let Some(strong) = shared.upgrade() {
        let due = strong.turn();
        let bell = std::sync::Arc::clone(strong.bell());
        let sleep = due.map(|at| strong.clock().sleep_until(at));
        drop(strong);
        match sleep {
            None => bell.notified().await,
            Some(sleep) => {
                tokio::select! {
                    biased;
                    () = bell.notified() => {}
                    () = sleep => {}
                }
            }
        }
    }
}
