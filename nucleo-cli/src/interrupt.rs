//! Ctrl-C: counted, and told as it comes.
//!
//! Invariants: the first asks to stop, the second to cancel; none is lost while nobody listens.
//!
//! Not here: what a command does then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Notify;

/// The presses so far.
pub(crate) struct Interrupts {
    pressed: Arc<AtomicU32>,
    told: u32,
    notify: Arc<Notify>,
    listener: tokio::task::JoinHandle<()>,
}

/// Listens from now on, in place of the default that ends the process.
pub(crate) fn watch() -> Interrupts {
    let (pressed, notify) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
    let (count, ring) = (Arc::clone(&pressed), Arc::clone(&notify));
    let listener = tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            count.fetch_add(1, Ordering::AcqRel);
            ring.notify_one();
        }
    });
    Interrupts { pressed, told: 0, notify, listener }
}

impl Interrupts {
    /// The next press: which one it is, from 1.
    ///
    /// # Cancel safety
    /// A press that comes meanwhile is told by the next call.
    pub(crate) async fn next(&mut self) -> u32 {
        loop {
            let pressed = self.pressed();
            if pressed > self.told {
                self.told = pressed;
                return pressed;
            }
            self.notify.notified().await;
        }
    }

    pub(crate) fn pressed(&self) -> u32 {
        self.pressed.load(Ordering::Acquire)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
