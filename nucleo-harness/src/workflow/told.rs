//! An end that is told once, and kept for as many as ask.
//!
//! Invariants: it is told at most once; who asks later hears it at once; when the teller is lost,
//! which only happens with its runtime, whoever waits is told so.
//!
//! Not here: whose end it is (`submit`).

use std::sync::Arc;

use tokio::sync::watch;

/// Tells an end, once.
#[derive(Debug)]
pub struct Teller<End> {
    end: watch::Sender<Option<Arc<End>>>,
}

/// Hears an end. Cheap to clone.
#[derive(Debug)]
pub struct Told<End> {
    end: watch::Receiver<Option<Arc<End>>>,
}

/// Both sides of an end that is still to come.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (teller, told) = nucleo_harness::workflow::to_be_told();
/// assert!(told.get().is_none());
/// teller.tell("fine");
/// assert_eq!(told.heard().await.as_deref(), Some(&"fine"));
/// # }
/// ```
#[must_use]
pub fn to_be_told<End>() -> (Teller<End>, Told<End>) {
    let (teller, told) = watch::channel(None);
    (Teller { end: teller }, Told { end: told })
}

impl<End> Teller<End> {
    /// Tells it to all who wait, and to all who will ask.
    pub fn tell(self, end: End) {
        // Nobody may be left to hear it.
        let _ = self.end.send(Some(Arc::new(end)));
    }
}

impl<End> Told<End> {
    /// The end, if it has come.
    #[must_use]
    pub fn get(&self) -> Option<Arc<End>> {
        self.end.borrow().clone()
    }

    /// The end, when it comes; `None` when it never will, because its runtime is gone.
    ///
    /// # Cancel safety
    /// Dropped, nothing is lost: ask again.
    pub async fn heard(&self) -> Option<Arc<End>> {
        let mut end = self.end.clone();
        end.wait_for(Option::is_some).await.ok()?.clone()
    }
}

impl<End> Clone for Told<End> {
    fn clone(&self) -> Self {
        Self { end: self.end.clone() }
    }
}
