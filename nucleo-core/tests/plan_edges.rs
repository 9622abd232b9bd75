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

/// The rate is there again after 100 ms; from then on only the connection is missing.
#[test]
fn a_job_was_short_of_each_account_only_while_it_was() {
    let text = r#"{"accounts": {"http": {"permits": 1}, "calls": {"per_minute": 600, "burst": 1}},
        "jobs": [
            {"id": "a", "arrive_ms": 0, "demand": {"http": 1, "calls": 1}, "hold_ms": 1000},
            {"id": "b", "arrive_ms": 0, "demand": {"http": 1, "calls": 1}, "hold_ms": 1}]}"#;
    let scenario: Scenario = serde_json::from_str(text).expect("a scenario");
    let summary = plan(&scenario).expect("it can be planned").summary;
    assert_eq!((summary.short_ms["http"], summary.short_ms["calls"]), (1000.0, 100.0));
    assert_eq!(summary.binding.as_deref(), Some("http"));
}

#[test]
fn costs_that_no_sum_can_tell_are_refused_where_they_stand() {
    let job = |id: usize, cost: &str| {
        serde_json::json!({"id": id.to_string(), "arrive_ms": 0, "demand": {}, "hold_ms": 0,
            "cost": cost})
    };
    let error = |jobs: Vec<serde_json::Value>| {
        let scenario = serde_json::json!({"accounts": {}, "jobs": jobs});
        let scenario: Scenario = serde_json::from_value(scenario).expect("a scenario");
        plan(&scenario).expect_err("it can't be summed").to_string()
    };
    let said = |id| {
        format!("job {id}: cost is below zero, or the costs up to here add up past 1e24 units")
    };
    assert_eq!(error(vec![job(0, "1 USD"), job(1, "-1 USD")]), said(1));
    let most = "999999999999999999999999 USD";
    assert_eq!(error((0..200).map(|id| job(id, most)).collect()), said(1));
}

#[test]
fn a_scenario_is_written_as_it_is_read() {
    let text = r#"{"accounts":{},"jobs":[{"id":"a","arrive_ms":0.25,"demand":{},"hold_ms":7}]}"#;
    let scenario: Scenario = serde_json::from_str(text).expect("a scenario");
    let written = serde_json::to_value(&scenario).expect("it can be written");
    assert_eq!(written["jobs"][0]["arrive_ms"], 0.25);
    let again: Scenario = serde_json::from_value(written).expect("and read");
    assert_eq!(plan(&again), plan(&scenario));
}
