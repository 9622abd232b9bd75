//! Corners of a plan that a random comparison with an exact model found.

use nucleo_core::plan::{Outcome, Scenario, plan};

fn outcomes(text: &str) -> Vec<(Outcome, Option<f64>)> {
    let scenario: Scenario = serde_json::from_str(text).expect("a scenario");
    let plan = plan(&scenario).expect("it can be planned");
    plan.jobs.iter().map(|job| (job.outcome, job.at_ms())).collect()
}

#[test]
fn who_waits_at_the_end_waits_and_is_not_refused() {
    let latched = r#"{"accounts": {"p": {"permits": 1}}, "memory": [[0, 0.97]],
        "jobs": [{"id": "a", "arrive_ms": 10, "demand": {"p": 1}, "hold_ms": 1},
                 {"id": "b", "after": "a", "arrive_ms": 0, "demand": {}, "hold_ms": 1}]}"#;
    assert_eq!(outcomes(latched), [(Outcome::Waiting, None), (Outcome::Waiting, None)]);
}

#[test]
fn a_level_that_the_clock_brings_past_the_end_of_time_is_waited_for() {
    let sunk = r#"{"accounts": {"m": {"per_minute": 1, "burst": 10}},
        "jobs": [{"id": "a", "arrive_ms": 0, "demand": {"m": 1}, "hold_ms": 1,
                  "actual": {"m": 900000000000000}},
                 {"id": "b", "arrive_ms": 20, "demand": {"m": 1}, "hold_ms": 1}]}"#;
    assert_eq!(outcomes(sunk), [(Outcome::Granted, Some(0.0)), (Outcome::Waiting, None)]);
}
