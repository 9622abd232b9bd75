//! Requests that never answer.

use std::time::Duration;

use nucleo_agents::prelude::*;
use nucleo_core::Time;
use nucleo_harness::attempt::Step;

use crate::server::{ask, fine, pause, served};

const PLENTY: &str = "requests_per_second = 1_000_000";

#[tokio::test(start_paused = true)]
async fn the_last_two_of_a_thousand_are_named() {
    let runtime = served(PLENTY, |_, text| async move {
        if text == "number 998" || text == "number 999" {
            std::future::pending::<()>().await;
        }
        fine()
    });
    let workflow = runtime.workflow("thousand").start();
    let run = workflow.fan_out(0..1_000, ask).collect();
    let looked = async {
        pause(Duration::from_secs(60)).await;
        workflow.live()
    };
    let (report, live) = tokio::join!(run, looked);
    assert_eq!(live.len(), 2, "{live:?}");
    for job in &live {
        assert_eq!((&*job.agent, job.attempts, job.step), ("ask", 1, Step::Running), "{job:?}");
        assert!(job.since.since(Time::ZERO) < Span::from_secs(1), "{job:?}");
    }
    assert_eq!((report.answered(), report.failed()), (998, 2), "{report}");
    assert!(workflow.live().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tenth_that_never_answers_ends_with_its_attempts_told() {
    let runtime = served(PLENTY, |number, _| async move {
        if number % 10 == 9 {
            std::future::pending::<()>().await;
        }
        pause(Duration::from_millis(20)).await;
        fine()
    });
    let workflow = runtime.workflow("tenth").start();
    let report = workflow.fan_out(0..200, ask).max_in_flight(50).collect().await;
    assert_eq!((report.answered(), report.failed()), (180, 20), "{report}");
    for item in report.failures() {
        let error = item.result.as_ref().unwrap_err();
        assert_eq!((error.name(), item.record.attempts), ("timed_out", 1), "{error}");
        assert_eq!(item.record.estimated, 1, "what may be owed is booked");
    }
}
