//! Tasks that take a turn when one is due, and the bell that wakes them: the line's timer, and the
//! sampler of memory.
//!
//! Invariants: it holds nothing of what it serves while it sleeps, so it ends with it; a bell that
//! rings while it works is kept, so no deadline is missed; a late wake-up is harmless, because the
//! line is run at the clock's own `now`.
//!
//! Not here: which deadline (`admission`).

use std::sync::Arc;

use nucleo_core::Time;
use tokio::sync::Notify;

use super::clock::Clock;

/// Rung when the timer task has to look again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bell {
    notify: Arc<Notify>,
}

impl Bell {
    /// Wakes the timer task, now or the next time that it listens.
    pub(crate) fn ring(&self) {
        self.notify.notify_one();
    }
}

/// What a turn of the line says about the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextTurn {
    /// At this instant, or when the bell rings.
    At(Time),
    /// When the bell rings.
    OnBell,
    /// Never: what was served is gone.
    Over,
}

/// Takes turns.
pub(crate) trait Turn: Send + 'static {
    /// Does what is due, and says when the next turn is.
    fn turn(&mut self) -> impl Future<Output = NextTurn> + Send;
}

/// Starts a task on the present tokio runtime that takes a turn whenever one is due.
///
/// # Panics
/// Outside a tokio runtime.
pub(crate) fn start(clock: Arc<dyn Clock>, bell: Bell, mut turns: impl Turn) {
    tokio::spawn(async move {
        loop {
            match turns.turn().await {
                NextTurn::Over => return,
                NextTurn::OnBell => bell.notify.notified().await,
                NextTurn::At(due) => {
                    tokio::select! {
                        biased;
                        () = bell.notify.notified() => {}
                        () = clock.sleep_until(due) => {}
                    }
                }
            }
        }
    });
}
