//! What can be seen: events, snapshots, why one waits, and accounts that are closed.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use futures_util::FutureExt as _;
use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{
    AccountId, AdmitError, AttemptKey, Demand, JobId, Monitor, Reason, Span, Time, WorkflowId,
};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::ManualClock;

struct World {
    admission: Admission,
    clock: Arc<ManualClock>,
    http: AccountId,
    tokens: AccountId,
}

fn world() -> World {
    let mut monitor = Monitor::new();
    let http = monitor.open("http", Permits::new(1));
    let bucket = TokenBucket::new(Rate::per_second(10)).unwrap();
    let tokens = monitor.open("small.tokens", bucket);
    let clock = Arc::new(ManualClock::new());
    let shared: Arc<ManualClock> = Arc::clone(&clock);
    World { admission: Admission::without_timer(monitor, shared), clock, http, tokens }
}

fn key(n: u64) -> AttemptKey {
    JobId::root(WorkflowId::from_u128(1)).child(n).attempt(1)
}

#[test]
fn three_wait_for_three_reasons_and_each_is_told() {
    let World { admission, clock, http, tokens } = world();
    let demand = |n, tokens_asked| Demand::new(key(n)).need(http, 1).need(tokens, tokens_asked);
    let holder = admission.admit(demand(0, 8)).now_or_never().unwrap().unwrap();
    let mut head = Box::pin(admission.admit(demand(1, 6)));
    let mut behind = Box::pin(admission.admit(Demand::new(key(2)).need(tokens, 1)));
    assert!(head.as_mut().now_or_never().is_none());
    assert!(behind.as_mut().now_or_never().is_none());

    let why = admission.why_waiting(key(1)).unwrap();
    let short: Vec<_> = why.short.iter().map(|s| (&*s.account, s.by)).collect();
    assert_eq!(short, [("http", 1), ("small.tokens", 4)]);
    assert_eq!((why.ahead, why.earliest), (None, None), "an event has to come");

    let why = admission.why_waiting(key(2)).unwrap();
    assert_eq!(why.ahead, Some(key(1)), "what the head waits for is set aside");
    assert_eq!(why.earliest, Some(Time::from_millis(500)), "6 set aside and 1, from 2");

    let snapshot = admission.snapshot();
    assert_eq!((snapshot[0].short, snapshot[0].available), (1, 0));
    assert_eq!((snapshot[1].short, snapshot[1].set_aside), (2, 6));
    assert_eq!(snapshot[1].first, [key(1), key(2)]);

    clock.advance(Span::from_millis(500));
    holder.settle(Ending::default());
    let granted = head.as_mut().now_or_never().unwrap().unwrap();
    assert_eq!(granted.waited(), Span::from_millis(500));
    assert!(admission.why_waiting(key(1)).is_none());
}

#[test]
fn events_tell_what_the_line_did_and_count_what_is_lost() {
    let World { admission, http, .. } = world();
    admission.listen(3);
    let demand = |n| Demand::new(key(n)).need(http, 1);
    let holder = admission.admit(demand(0)).now_or_never().unwrap().unwrap();
    let mut waiter = Box::pin(admission.admit(demand(1)));
    assert!(waiter.as_mut().now_or_never().is_none());
    holder.settle(Ending::default());
    let too_large = admission.admit(Demand::new(key(2)).need(http, 2)).now_or_never().unwrap();
    assert!(matches!(too_large, Err(AdmitError::LargerThanLimit { asked: 2, .. })));

    let heard = admission.take_events();
    let names: Vec<_> = heard.events.iter().map(|event| event.what.name()).collect();
    assert_eq!(names, ["settled", "granted_after_wait", "refused"]);
    assert_eq!(heard.lost, 2, "granted at once, and waiting");
    drop(waiter);
    assert_eq!(admission.take_events().events.len(), 1);
}

#[test]
fn a_closed_account_refuses_its_waiters_and_everyone_after_them() {
    let World { admission, http, tokens, .. } = world();
    let holder = admission.admit(Demand::new(key(0)).need(tokens, 10)).now_or_never();
    let holder = holder.unwrap().unwrap();
    let mut waiter = Box::pin(admission.admit(Demand::new(key(1)).need(tokens, 5)));
    assert!(waiter.as_mut().now_or_never().is_none());
    admission.close(tokens, Reason::OutOfCredit);
    let refused = |result: Result<_, AdmitError>| result.map(drop).unwrap_err().to_string();
    let said = "small.tokens refuses everyone: out of credit";
    assert_eq!(refused(waiter.as_mut().now_or_never().unwrap()), said);
    let later = admission.admit(Demand::new(key(2)).need(tokens, 1)).now_or_never().unwrap();
    assert_eq!(refused(later), said);
    let other = admission.admit(Demand::new(key(3)).need(http, 1)).now_or_never().unwrap();
    assert!(other.is_ok(), "other accounts are not concerned");
    holder.roll_back();
    admission.reopen(tokens);
    assert!(admission.admit(Demand::new(key(4)).need(tokens, 1)).now_or_never().unwrap().is_ok());
}
