//! Scenarios with the instant of every grant, computed by independent exact models of the rule:
//! the plan agrees with all of them. Each file is a scenario with its `expect`.

use nucleo_core::plan::{Outcome, Scenario, plan};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    expect: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    id: String,
    outcome: String,
    #[serde(default)]
    at_ms: Option<f64>,
}

/// How far an instant may be off: 1 ms where memory's curve is floating point, else 0.01 ms.
fn tolerance_ms(scenario: &Scenario) -> f64 {
    if scenario.memory.is_empty() { 0.01 } else { 1.0 }
}

fn differences(text: &str) -> Vec<String> {
    let scenario: Scenario = serde_json::from_str(text).expect("a case is a scenario");
    let case: Case = serde_json::from_str(text).expect("a case has its expectation");
    let plan = plan(&scenario).expect("a case can be planned");
    assert_eq!(plan.jobs.len(), case.expect.len(), "one outcome a job");
    let tolerance = tolerance_ms(&scenario);
    let mut found = Vec::new();
    for (job, expected) in plan.jobs.iter().zip(&case.expect) {
        let outcome = match job.outcome {
            Outcome::Granted => "granted",
            Outcome::Refused => "refused",
            Outcome::Cancelled => "cancelled",
            Outcome::Waiting => "waiting",
        };
        let near = match (job.at_ms(), expected.at_ms) {
            (Some(at), Some(wanted)) => (at - wanted).abs() <= tolerance,
            (at, wanted) => at == wanted,
        };
        if job.id != expected.id || outcome != expected.outcome || !near {
            found.push(format!(
                "{}: {outcome} at {:?}, expected {} at {:?}",
                expected.id,
                job.at_ms(),
                expected.outcome,
                expected.at_ms
            ));
        }
    }
    found
}

#[test]
fn every_case_agrees() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("the cases are there") {
        let path = entry.expect("a readable folder").path();
        let text = std::fs::read_to_string(&path).expect("a readable case");
        let found = differences(&text);
        if !found.is_empty() {
            let name = path.file_name().expect("a file").display().to_string();
            let first = found.iter().take(5).cloned().collect::<Vec<_>>().join("\n  ");
            wrong.push(format!("{name}: {} differ\n  {first}", found.len()));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 78, "only {count} cases found");
}
