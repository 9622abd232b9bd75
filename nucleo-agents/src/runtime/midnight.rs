//! The midnights that refill daily quotas and begin a day's spending anew: the only place that knows a
//! calendar.
//!
//! Invariants: a quota always has its next midnight; a day of 23 or 25 hours is as long as its zone
//! says.
//!
//! Not here: the quota itself (`nucleo_core::limits::DailyQuota`), the cap (`caps`).

use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use nucleo_core::{AccountId, Span};
use nucleo_harness::admission::Admission;
use nucleo_harness::workflow::Harness;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

/// Fires when the runtime is gone.
pub(super) type Stop = CancellationToken;

/// How long after a time of day (since the Unix epoch) the next midnight of a zone is.
///
/// # Errors
/// When no zone has the name, or the calendar ends.
pub(super) fn until_midnight(zone: &str, wall: Span) -> Result<Span, jiff::Error> {
    let zone = TimeZone::get(zone)?;
    let now = Timestamp::UNIX_EPOCH.checked_add(wall.to_std())?.to_zoned_datetime(zone);
    let tomorrow = now.start_of_day()?.checked_add(1.day())?.start_of_day()?;
    let wait = tomorrow.timestamp().duration_since(now.timestamp());
    Ok(Span::from(Duration::try_from(wait).unwrap_or_default()))
}

/// Whether there is a zone of this name.
///
/// # Errors
/// When there is none.
pub(super) fn check(zone: &str) -> Result<(), jiff::Error> {
    TimeZone::get(zone).map(drop)
}

/// The date in a zone at a time of day (since the Unix epoch), as in `2026-12-01`.
///
/// # Errors
/// When no zone has the name, or the calendar ends.
fn date(zone: &str, wall: Span) -> Result<String, jiff::Error> {
    let zone = TimeZone::get(zone)?;
    let now = Timestamp::UNIX_EPOCH.checked_add(wall.to_std())?.to_zoned_datetime(zone);
    Ok(now.date().to_string())
}

/// The running day's date, and its spending: nothing yet.
pub(super) fn begin_day(harness: &Harness, zone: &str) {
    if let Ok(date) = date(zone, harness.clock().wall()) {
        harness.ledger().begin_day(zone, date);
    }
}

/// Begins a day's spending anew at each midnight of its zone, until the runtime is gone.
pub(super) fn watch_day(harness: &Harness, tasks: &Handle, zone: Arc<str>, stop: &Stop) {
    let (ledger, clock, stop) = (harness.ledger().clone(), harness.clock().clone(), stop.clone());
    let Ok(mut running) = date(&zone, clock.wall()) else {
        return;
    };
    tasks.spawn(async move {
        // The zone is there: `check` has looked it up.
        while let (Ok(date), Ok(wait)) =
            (date(&zone, clock.wall()), until_midnight(&zone, clock.wall()))
        {
            // A time of day that went back, or a sleep that ended early, begins no day twice.
            if date > running {
                ledger.begin_day(&zone, date.clone());
                running = date;
            }
            let midnight = clock.now().saturating_add(wait.max(Span::from_millis(1)));
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = clock.sleep_until(midnight) => {}
            }
        }
    });
}

/// Hands an account its next midnight, and every later one, until the runtime is gone.
pub(super) fn start(admission: &Admission, account: AccountId, zone: Arc<str>, stop: &Stop) {
    let (admission, stop) = (admission.clone(), stop.clone());
    let clock = Arc::clone(admission.clock());
    tokio::spawn(async move {
        // The zone is there: `check` has looked it up.
        while let Ok(wait) = until_midnight(&zone, clock.wall()) {
            let midnight = clock.now().saturating_add(wait.max(Span::from_millis(1)));
            admission.next_midnight(account, midnight);
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = clock.sleep_until(midnight) => {}
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(zone: &str, instant: &str) -> u64 {
        let now: Timestamp = instant.parse().unwrap();
        let wall = Span::from_secs(u64::try_from(now.as_second()).unwrap());
        let wait = until_midnight(zone, wall).unwrap();
        wait.as_millis() / 3_600_000
    }

    #[test]
    fn days_end_where_their_zone_says() {
        assert_eq!(hours("Asia/Tokyo", "2026-03-29T14:00:00Z"), 1);
        assert_eq!(hours("UTC", "2026-03-29T14:00:00Z"), 10);
        // On the day on which clocks go forward Berlin has 23 hours, and 25 when they go back.
        assert_eq!(hours("Europe/Berlin", "2026-03-28T23:00:00Z"), 23);
        assert_eq!(hours("Europe/Berlin", "2026-10-24T22:00:00Z"), 25);
        assert!(until_midnight("Mars/Olympus", Span::ZERO).is_err());
    }
}
