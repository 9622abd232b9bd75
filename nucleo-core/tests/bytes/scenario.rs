//! A scenario's text: an error that says where, or a plan that keeps the law.

use std::collections::BTreeMap;

use nucleo_core::admission::Naive;
use nucleo_core::limits::AMOUNT_MAX;
use nucleo_core::plan::{
    Millis, Outcome, Plan, ProtectSpec, Scenario, ScenarioError, plan, plan_with,
};
use serde_json::{Map, Value, json};

use super::draw::Draw;

/// More jobs than this are not run: the naive rule looks at all of them, each time.
const JOBS_MAX: usize = 120;

/// The bytes are a scenario's text; behind a zero they are choices that make one.
pub(crate) fn check(bytes: &[u8]) {
    if let [0, choices @ ..] = bytes {
        let text = drawn(&mut Draw::bytes(choices)).to_string();
        serde_json::from_str::<Scenario>(&text).expect("a drawn scenario reads");
        return check_text(&text);
    }
    // `nucleo plan` reads text; what is no UTF-8 is refused before this.
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_text(text);
    }
}

fn check_text(text: &str) {
    let scenario = match serde_json::from_str::<Scenario>(text) {
        Ok(scenario) => scenario,
        Err(error) => {
            let said = error.to_string();
            assert!(said.contains(" at line ") || error.is_eof(), "it says no place: {said}");
            return;
        }
    };
    if scenario.jobs.len() > JOBS_MAX || scenario.memory.len() > 2 * JOBS_MAX {
        return;
    }
    let planned = plan(&scenario);
    assert_eq!(planned, plan_with::<Naive>(&scenario), "the naive rule plans otherwise: {text}");
    match &planned {
        Ok(planned) => check_plan(&scenario, planned),
        Err(error) => assert!(error.to_string().contains(':'), "it names no place: {error}"),
    }
    check_written(&scenario, &planned);
}

fn check_plan(scenario: &Scenario, plan: &Plan) {
    assert_eq!(plan.jobs.len(), scenario.jobs.len());
    let count = |outcome| plan.jobs.iter().filter(|job| job.outcome == outcome).count();
    let summary = &plan.summary;
    let counted = [summary.granted, summary.refused, summary.cancelled, summary.waiting];
    let outcomes = [Outcome::Granted, Outcome::Refused, Outcome::Cancelled, Outcome::Waiting];
    assert_eq!(counted, outcomes.map(count));
    assert_eq!(counted.iter().sum::<usize>(), plan.jobs.len());
    for (job, spec) in plan.jobs.iter().zip(&scenario.jobs) {
        assert_eq!(job.id, spec.id);
        assert_eq!(job.at.is_none(), job.outcome == Outcome::Waiting, "{job:?}");
        assert_eq!(job.reason.is_some(), job.outcome == Outcome::Refused, "{job:?}");
        if let (Outcome::Granted, None) = (job.outcome, &spec.after) {
            assert!(job.at >= Some(spec.arrive_ms.at()), "granted before it came: {job:?}");
        }
    }
    let numbers = [summary.makespan_ms, summary.wait_mean_ms, summary.wait_p99_ms];
    assert!(numbers.iter().all(|number| number.is_finite() && *number >= 0.0), "{summary:?}");
    check_permits(scenario, plan);
    let json = serde_json::to_string(plan).expect("a plan can be told");
    serde_json::from_str::<serde_json::Value>(&json).expect("and read");
}

/// At no instant are more permits held than there are.
fn check_permits(scenario: &Scenario, plan: &Plan) {
    use nucleo_core::plan::AccountSpec;
    for (name, account) in &scenario.accounts {
        let AccountSpec::Permits(spec) = account else { continue };
        // Ends go before grants of the same instant.
        let mut changes: BTreeMap<(u64, bool), i128> = BTreeMap::new();
        for (job, outcome) in scenario.jobs.iter().zip(&plan.jobs) {
            let (Some(amount), Outcome::Granted) = (job.demand.get(name), outcome.outcome) else {
                continue;
            };
            let start = outcome.at.expect("a grant has its instant").as_nanos();
            let hold = job.hold_ms.at().as_nanos();
            if hold > 0 {
                *changes.entry((start, true)).or_default() += i128::from(*amount);
                let end = start.saturating_add(hold);
                *changes.entry((end, false)).or_default() -= i128::from(*amount);
            }
        }
        let mut held = 0;
        for (instant, change) in changes {
            held += change;
            assert!(held <= i128::from(spec.permits), "{name} at {instant:?}: {held} are held");
        }
    }
}

/// What is written of a scenario plans as the scenario does, where its instants are exact.
fn check_written(scenario: &Scenario, planned: &Result<Plan, ScenarioError>) {
    let written = serde_json::to_string(scenario).expect("a scenario can be written");
    let read: Scenario = serde_json::from_str(&written).expect("what is written can be read");
    let exact = |at: Millis| at.at().as_nanos() < 1 << 50;
    let jobs = || scenario.jobs.iter();
    let instants = jobs().flat_map(|job| [Some(job.arrive_ms), Some(job.hold_ms), job.cancel_ms]);
    let readings = scenario.memory.iter().map(|(at, _)| Some(*at));
    let waited = match scenario.policy.protect {
        Some(ProtectSpec::WaitedMs(ms)) => Some(ms),
        _ => None,
    };
    if instants.chain(readings).chain([waited]).flatten().all(exact) {
        assert_eq!(&plan(&read), planned, "{written}");
    }
}

/// A scenario that reads, of what the bytes choose: every kind of key, at ordinary and extreme values.
fn drawn(draw: &mut Draw<'_>) -> Value {
    let accounts: Vec<String> = (0..draw.usize(1, 4)).map(|n| format!("a{n}")).collect();
    let specs = accounts.iter().map(|name| {
        let spec = match (draw.one_in(2), draw.one_in(2)) {
            (true, _) => json!({"permits": amount(draw)}),
            (false, true) => json!({"per_minute": amount(draw)}),
            (false, false) => json!({"per_minute": amount(draw), "burst": amount(draw)}),
        };
        (name.clone(), spec)
    });
    let specs: Map<String, Value> = specs.collect();
    let jobs: Vec<Value> = (0..draw.usize(1, 30)).map(|n| job(draw, n, &accounts)).collect();
    let mut policy = Map::new();
    if draw.one_in(2) {
        policy.insert("order".into(), json!("fair"));
        policy
            .insert("weights".into(), json!({"w0": draw.u32(1..=3), "w1": draw.u32(1..=u32::MAX)}));
    }
    if draw.one_in(3) {
        let protect = match draw.bool() {
            true => json!({"overtaken": draw.usize(0, 3)}),
            false => json!({"waited_ms": instant(draw)}),
        };
        policy.insert("protect".into(), protect);
    }
    let mut memory = Vec::new();
    let mut at = 0.0;
    for _ in 0..[0, 0, 6][draw.place(3)] {
        at = instant(draw).max(at);
        memory.push(json!([at, f64::from(draw.u8(0..=120)) / 100.0]));
    }
    json!({"accounts": specs, "jobs": jobs, "policy": policy, "memory": memory})
}

fn job(draw: &mut Draw<'_>, n: usize, accounts: &[String]) -> Value {
    let mut demand = Map::new();
    for name in accounts {
        if draw.one_in(2) {
            demand.insert(name.clone(), json!(amount(draw)));
        }
    }
    let mut job = json!({
        "id": format!("j{n}"), "arrive_ms": instant(draw), "hold_ms": instant(draw),
        "workflow": format!("w{}", draw.u8(0..3)),
    });
    if draw.one_in(4) {
        let account = &accounts[draw.place(accounts.len())];
        let used = [0, 1, amount(draw), u64::MAX][draw.place(4)];
        job["actual"] = json!({account: used});
    }
    job["demand"] = demand.into();
    if n > 0 && draw.one_in(4) {
        job["after"] = json!(format!("j{}", draw.place(n)));
    }
    if draw.one_in(5) {
        job["cancel_ms"] = json!(instant(draw));
    }
    if draw.one_in(5) {
        let cost = [0_u64, 7, 1_000_000_000_000][draw.place(3)];
        job["cost"] = json!(format!("{cost}.5 {}", ["USD", "EUR"][draw.place(2)]));
    }
    job
}

/// Mostly a few, and now and then the extremes.
fn amount(draw: &mut Draw<'_>) -> u64 {
    match draw.u8(0..16) {
        0 => AMOUNT_MAX,
        1 => 0,
        2 => draw.u64(0..=AMOUNT_MAX + 1),
        3..=6 => draw.u64(1..=200),
        _ => draw.u64(1..=6),
    }
}

/// In milliseconds: mostly soon and often at once, now and then at the end of time.
fn instant(draw: &mut Draw<'_>) -> f64 {
    match draw.u8(0..16) {
        0 => 6.3e12,
        1 => f64::from(draw.u32(0..=u32::MAX)),
        2..=6 => f64::from(draw.u32(0..2_000_000)) / 1e6,
        7..=9 => 0.0,
        _ => f64::from(draw.u8(0..200)),
    }
}
