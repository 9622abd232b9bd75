//! The server's clock: nanoseconds since it started, from tokio; and its date.
//!
//! Under tokio's paused time the whole server runs in virtual time, with the same quotas and the
//! same latencies. Nothing else in this folder reads a clock or sleeps.
//!
//! Invariants: work and quotas go by the time since the start, which never jumps; the date goes by
//! it too, from the wall clock's reading at the start, moved by what the clock has jumped. A date is
//! always one that HTTP can say, whatever the jumps.
//!
//! Not here: the runtime's clock (`nucleo-harness`); the server stands by itself.

use std::time::Duration;

use http::HeaderValue;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use tokio::time::Instant;

use crate::wire::WallClock;

#[derive(Clone, Copy, Debug)]
pub(super) struct ServerClock {
    start: Instant,
    /// The date at the start, in milliseconds since 1970.
    start_ms: i64,
}

/// A date of the server's clock, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerDate {
    unix_s: i64,
}

impl ServerClock {
    pub(super) fn start(wall: WallClock) -> Self {
        let wall = Timestamp::try_from(wall()).unwrap_or(Timestamp::UNIX_EPOCH);
        Self { start: Instant::now(), start_ms: wall.as_millisecond() }
    }

    pub(super) fn now_ns(self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).expect("less than 584 years")
    }

    /// The date now, of a clock that has jumped by `jumped_ms` in all.
    pub(super) fn date(self, jumped_ms: i64) -> ServerDate {
        let elapsed_ms = i64::try_from(self.now_ns() / 1_000_000).expect("less than 584 years");
        let unix_ms = self.start_ms.saturating_add(elapsed_ms).saturating_add(jumped_ms);
        ServerDate { unix_s: unix_ms.div_euclid(1_000) }
    }

    /// Returns at `ns`, at once when that has passed: without latency nothing ever yields here.
    pub(super) async fn reach(self, ns: u64) {
        let at = self.start + Duration::from_nanos(ns);
        if at > Instant::now() {
            tokio::time::sleep_until(at).await;
        }
    }

    /// Lets a connection write what it was given before it is given more.
    pub(super) async fn let_bytes_leave(self) {
        tokio::task::yield_now().await;
    }
}

impl ServerDate {
    /// So many seconds later, or earlier.
    pub(super) const fn plus_s(self, seconds: i64) -> Self {
        Self { unix_s: self.unix_s.saturating_add(seconds) }
    }

    /// As a header says it: a date from 1970 to 9999, the nearest one where it lies outside.
    pub(super) fn header(self) -> HeaderValue {
        let text = DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&self.timestamp())
            .expect("years from 1970 to 9999 can be said");
        HeaderValue::from_str(&text).expect("letters and digits")
    }

    /// The same date as RFC 3339 writes it.
    pub(super) fn rfc3339(self) -> String {
        self.timestamp().to_string()
    }

    fn timestamp(self) -> Timestamp {
        let latest = Timestamp::MAX.as_second();
        Timestamp::from_second(self.unix_s.clamp(0, latest)).expect("it was clamped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_http_at_both_ends_of_time() {
        for (unix_s, text) in [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (i64::MIN, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (i64::MAX, "Thu, 30 Dec 9999 22:00:00 GMT"),
        ] {
            let header = ServerDate { unix_s }.header();
            assert_eq!(header, text);
            let read = httpdate::parse_http_date(text).unwrap();
            let read = Timestamp::try_from(read).unwrap_or(Timestamp::MAX).as_second();
            assert_eq!(read, unix_s.clamp(0, Timestamp::MAX.as_second()), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_moves_the_date_and_not_the_time() {
        let wall = || httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let clock = ServerClock::start(wall);
        clock.reach(3_000_000_000).await;
        assert_eq!(clock.date(0).unix_s, 784_111_780);
        assert_eq!(clock.date(-3_600_000).unix_s, 784_108_180);
        assert_eq!(clock.date(i64::MAX).unix_s, i64::MAX / 1_000);
        assert!(clock.date(i64::MIN).unix_s < 0);
        assert_eq!(clock.now_ns(), 3_000_000_000);
    }
}
