//! Who may name what: the direction between crates and modules, and what the pure core never meets.
//!
//! Read on every path the code names, imported or written out. `ARCHITECTURE.md` gives the reasons;
//! the tables here are its short form. Doc comments are free: their examples are users.

use crate::Finding;
use crate::paths::{Named, named_in};
use crate::source::Source;

/// Crates of the workspace a crate may name, itself included (its own tests and examples do).
const CRATE_DIRECTION: &[(&str, &[&str])] = &[
    ("nucleo-alloc", &["nucleo_alloc"]),
    ("nucleo-core", &["nucleo_core"]),
    ("nucleo-harness", &["nucleo_alloc", "nucleo_core", "nucleo_harness"]),
    ("nucleo-agents", &["nucleo_core", "nucleo_harness", "nucleo_agents"]),
    ("nucleo-cli", &["nucleo_core", "nucleo_harness", "nucleo_agents", "nucleo_cli"]),
    ("examples", &["nucleo_core", "nucleo_harness", "nucleo_agents", "nucleo_examples"]),
    ("fuzz", &["nucleo_core", "nucleo_agents", "nucleo_fuzz"]),
];

/// Modules of the core, and the modules of the core they must not name.
const CORE_DIRECTION: &[(&str, &[&str])] = &[
    ("limits", &["admission", "plan", "spend", "memory"]),
    ("memory", &["admission", "plan", "spend", "limits"]),
    ("spend", &["admission", "plan", "limits", "memory"]),
    ("admission", &["plan", "spend"]),
];

/// Where tokio may be named; everything else takes time, wakers and futures from std or arguments.
const TOKIO_ALLOWED: &[&str] = &[
    "nucleo-harness/src/runtime/",
    "nucleo-harness/src/attempt/",
    "nucleo-harness/src/workflow/",
    "nucleo-agents/src/providers/",
    "nucleo-agents/src/transport/",
    "nucleo-agents/src/fan_out",
    "nucleo-agents/src/runtime",
    "nucleo-cli/",
    "examples/",
];

/// Where a clock of std may be named: the clock itself, and dates in headers, read against wall time.
const CLOCK_ALLOWED: &[&str] = &[
    "nucleo-harness/src/runtime/clock.rs",
    "nucleo-agents/src/wire/retry_after.rs",
    "nucleo-agents/src/wire/limits.rs",
];

/// A token that is cancelled is a value, not a runtime: any file may hold one.
const CANCELLATION_TOKEN: &[&str] = &["tokio_util", "sync", "CancellationToken"];

pub(crate) fn check(source: &Source, findings: &mut Vec<Finding>) {
    let named = named_in(source);
    check_crate_direction(source, &named, findings);
    check_core_direction(source, &named, findings);
    check_tokio(source, &named, findings);
    check_clock(source, &named, findings);
    check_core_purity(source, &named, findings);
}

fn report(
    source: &Source,
    named: &Named,
    what: &str,
    remedy: &'static str,
    findings: &mut Vec<Finding>,
) {
    findings.push(Finding::new(source, named.line, format!("`{}` {what}", named.text()), remedy));
}

fn check_crate_direction(source: &Source, named: &[Named], findings: &mut Vec<Finding>) {
    let folder = source.path.split('/').next().unwrap_or_default();
    let Some((_, allowed)) = CRATE_DIRECTION.iter().find(|(name, _)| *name == folder) else {
        return;
    };
    for path in named {
        if path.root().starts_with("nucleo_") && !allowed.contains(&path.root()) {
            let remedy = "crates import one way: cli, examples -> agents -> harness -> core";
            report(source, path, "points against the direction of the crates", remedy, findings);
        }
    }
}

fn check_core_direction(source: &Source, named: &[Named], findings: &mut Vec<Finding>) {
    let Some(inside) = source.path.strip_prefix("nucleo-core/src/") else {
        return;
    };
    let module = inside.split(['/', '.']).next().unwrap_or_default();
    let Some((_, forbidden)) = CORE_DIRECTION.iter().find(|(name, _)| *name == module) else {
        return;
    };
    for path in named {
        if path.first_module().is_some_and(|first| forbidden.contains(&first)) {
            let remedy = "in the core: plan -> admission -> limits, memory; spend stands by itself; hand it in as an argument";
            report(source, path, "points against the direction of the core", remedy, findings);
        }
    }
}

fn check_tokio(source: &Source, named: &[Named], findings: &mut Vec<Finding>) {
    let in_core = source.path.starts_with("nucleo-core/");
    let is_allowed = TOKIO_ALLOWED.iter().any(|prefix| source.path.starts_with(prefix));
    if is_allowed || (!in_core && source.is_test_file()) {
        return;
    }
    for path in named {
        let is_runtime = matches!(path.root(), "tokio" | "tokio_util");
        let is_in_test = !in_core && source.lines[path.line].is_test;
        if !is_runtime || is_in_test || (!in_core && path.starts_with(CANCELLATION_TOKEN)) {
            continue;
        }
        let remedy = "take a future, a waker or the runtime's `Clock`; tokio lives in the folders that run things";
        report(source, path, "brings tokio where nothing is run", remedy, findings);
    }
}

fn check_clock(source: &Source, named: &[Named], findings: &mut Vec<Finding>) {
    if CLOCK_ALLOWED.contains(&source.path.as_str()) {
        return;
    }
    for path in named {
        let reads_clock = path.starts_with(&["std", "time"])
            && matches!(
                path.segments.get(2).map(String::as_str),
                None | Some("*" | "Instant" | "SystemTime" | "UNIX_EPOCH")
            );
        if reads_clock {
            let remedy = "take `now: Time` as an argument, or ask the runtime's `Clock`; import other items of std::time by name";
            report(source, path, "reaches for a clock", remedy, findings);
        }
    }
}

fn check_core_purity(source: &Source, named: &[Named], findings: &mut Vec<Finding>) {
    if !source.path.starts_with("nucleo-core/") {
        return;
    }
    for path in named {
        let last = path.segments.last().map_or("", String::as_str);
        if path.segments.iter().any(|s| matches!(s.as_str(), "HashMap" | "HashSet" | "hash_map")) {
            let remedy =
                "use a BTreeMap or a slab: the order of a hash map differs from run to run";
            report(source, path, "has an order that no replay repeats", remedy, findings);
        }
        let outside = ["fs", "net", "io", "env", "process", "thread"];
        let is_outside = path.root() == "std"
            && path.segments.get(1).is_some_and(|module| outside.contains(&module.as_str()));
        let is_random = path.root() == "fastrand" || last == "RandomState";
        let is_test = source.is_test_file() || source.lines[path.line].is_test;
        if (is_outside || is_random) && !is_test {
            let remedy = "the core decides from its arguments; let the harness read the world and hand it in";
            report(source, path, "reaches outside the pure core", remedy, findings);
        }
    }
    for (number, line) in source.lines.iter().enumerate() {
        let mut words = line.code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if words.any(|word| word == "async" || word == "await") {
            findings.push(Finding::new(
                source,
                number,
                "async in the core".to_owned(),
                "make it a state machine: inputs are methods, outputs are polled; the harness waits",
            ));
        }
    }
}
