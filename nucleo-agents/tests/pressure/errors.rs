//! What each kind of error costs in requests, and what it says in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nucleo_agents::prelude::*;

use crate::server::{ask, error, served};

/// The requests that one call cost whose every answer is this error, and what it said.
async fn always(status: u16, code: &'static str) -> (usize, String) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let runtime = served("requests_per_second = 100", move |_, _| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(error(status, code, None))
    });
    let workflow = runtime.workflow("never").start();
    let refused = workflow.run(ask, 0).await.unwrap_err();
    let AgentError::Job(JobError::Failed { failure, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(workflow.totals().calls, 0, "an error costs nothing");
    assert!(workflow.live().is_empty());
    (asked.load(Ordering::SeqCst), format!("{refused}: {failure}"))
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_never_ends_takes_exactly_its_budget() {
    let (asked, said) = always(429, "rate_limit_exceeded").await;
    assert_eq!(asked, 1 + 10, "{said}");
    assert_eq!(
        said,
        "failed after 11 attempts (rate_limited): rate limited: ask again later; the server said: no"
    );
}

#[tokio::test(start_paused = true)]
async fn overload_and_server_errors_take_exactly_theirs() {
    for (status, code) in [(529, "overloaded_error"), (500, "server_error")] {
        assert_eq!(always(status, code).await.0, 1 + 3, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_no_retry_helps_is_asked_once() {
    for (status, code, says) in [
        (400, "invalid_request_error", "change the request"),
        (404, "model_not_found", "check the model's wire_id and base_url"),
    ] {
        let (asked, said) = always(status, code).await;
        assert_eq!(asked, 1, "{status}");
        assert!(said.contains(says), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn out_of_credit_is_asked_once_and_said() {
    let (asked, said) = always(429, "insufficient_quota").await;
    assert_eq!(asked, 1);
    assert_eq!(
        said,
        "failed after 1 attempt (out_of_credit): out of credit (status 429): top up the account at the provider; the server said: no"
    );
}
