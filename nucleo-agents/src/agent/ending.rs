//! Running an agent to its end: its answer, its panic, or its cancellation and the grace after it.
//!
//! Invariants: a panic ends in the outcome; a cancelled agent that does not end by itself is dropped
//! after [`GRACE`].
//!
//! Not here: who runs it (`fan_out`, `submit`), what its calls do when cancelled (`nucleo-harness`).

use std::any::Any;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use nucleo_core::Span;
use nucleo_harness::runtime::Clock;
use tokio_util::sync::CancellationToken;

use crate::fan_out::ItemError;

/// How long an agent has after its cancellation: its calls end at once, and it may tell what they
/// cost; one that does not end by itself is dropped.
const GRACE: Span = Span::from_secs(5);

/// What a future that may panic comes to.
pub(crate) type Caught<T> = Result<Result<T, ItemError>, Box<dyn Any + Send>>;

/// Runs an agent to its end, or to its cancellation and the grace after it.
pub(crate) async fn until_cancelled<T>(
    mut work: impl Future<Output = Caught<T>> + Unpin,
    cancel: CancellationToken,
    clock: Arc<dyn Clock>,
) -> Result<T, ItemError> {
    // Of two that are ready the first one counts: an answer, before a cancellation.
    if let Either::Left((result, _)) = select(&mut work, pin!(cancel.cancelled())).await {
        return flatten(result);
    }
    let end = clock.now().saturating_add(GRACE);
    match select(work, clock.sleep_until(end)).await {
        Either::Left((result, _)) => flatten(result),
        Either::Right(((), _)) => Err(ItemError::Cancelled),
    }
}

/// A panic as an outcome.
pub(crate) fn flatten<T>(result: Caught<T>) -> Result<T, ItemError> {
    result.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "a panic without a message".to_owned());
        Err(ItemError::Panicked(text.into()))
    })
}
