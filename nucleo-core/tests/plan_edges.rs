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

/// Four jobs at weight 3 are worth one and a third at weight 1: the fourth has the tag of the other
/// workflow's second, and came before it.
#[test]
fn a_tie_between_weights_falls_to_who_came_first() {
    let text = r#"{"accounts": {"p": {"permits": 1}},
        "policy": {"order": "fair", "weights": {"three": 3}},
        "jobs": [
            {"id": "x", "arrive_ms": 0, "demand": {"p": 1}, "hold_ms": 10, "workflow": "other"},
            {"id": "one", "arrive_ms": 0, "demand": {"p": 1}, "hold_ms": 10, "workflow": "one"},
            {"id": "one-2", "arrive_ms": 1, "demand": {"p": 1}, "hold_ms": 10, "workflow": "one"},
            {"id": "t1", "arrive_ms": 2, "demand": {"p": 1}, "hold_ms": 10, "workflow": "three"},
            {"id": "t2", "arrive_ms": 2, "demand": {"p": 1}, "hold_ms": 10, "workflow": "three"},
            {"id": "t3", "arrive_ms": 2, "demand": {"p": 1}, "hold_ms": 10, "workflow": "three"},
            {"id": "t4", "arrive_ms": 2, "demand": {"p": 1}, "hold_ms": 10, "workflow": "three"}]}"#;
    let at: Vec<Option<f64>> = outcomes(text).into_iter().map(|(_, at)| at).collect();
    let ms = [0.0, 10.0, 50.0, 20.0, 30.0, 40.0, 60.0];
    assert_eq!(at, ms.map(Some));
}
