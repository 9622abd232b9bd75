//! The seeds that CI plays, in slices that share the machine's cores; and what all of them together
//! must have seen.

use std::sync::{Mutex, PoisonError};

use crate::faults::FAULTS;
use crate::gremlin::Disturbance;
use crate::log::Counts;
use crate::run::play;

const SEEDS: u64 = 5_000;
const SLICES: u64 = 4;
/// Seeds that are played twice.
const TWICE: u64 = 48;

/// What the slices saw, and how many of them have ended.
static SEEN: Mutex<(Counts, u64)> = Mutex::new((Counts::new(), 0));

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

/// Plays every seed of a slice, or the one that was asked for.
fn slice(slice: u64) {
    if let Some(seed) = number("WORLD_SEED") {
        if seed % SLICES == slice {
            judge(&[(seed, play(seed, true).wrong)]);
        }
        return;
    }
    let seeds = number("WORLD_SEEDS").unwrap_or(SEEDS);
    let (mut seen, mut wrongs) = (Counts::new(), Vec::new());
    for seed in (0..seeds).filter(|seed| seed % SLICES == slice) {
        let played = play(seed, false);
        wrongs.push((seed, played.wrong));
        for (name, count) in played.seen {
            *seen.entry(name).or_default() += count;
        }
    }
    judge(&wrongs);
    together(seen, seeds);
}

/// Fails with every seed that went wrong, and how to replay the first.
fn judge(wrongs: &[(u64, Option<String>)]) {
    let wrongs: Vec<_> =
        wrongs.iter().filter_map(|(seed, wrong)| Some((*seed, wrong.as_ref()?))).collect();
    let Some((first, _)) = wrongs.first() else { return };
    let all: Vec<_> =
        wrongs.iter().take(20).map(|(seed, what)| format!("seed {seed}: {what}")).collect();
    panic!(
        "{} of the seeds went wrong:\n{}\nreplay: WORLD_SEED={first} cargo test -p nucleo-agents --test world slice -- --nocapture",
        wrongs.len(),
        all.join("\n")
    );
}

/// Adds a slice up. The last one to end knows what all of them saw: whatever a seed may draw must have
/// occurred, or the world has a hole. Each slice alone, as a filter of tests may have it, does not.
fn together(slice: Counts, seeds: u64) {
    let mut together = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let (seen, slices) = &mut *together;
    for (name, count) in slice {
        *seen.entry(name).or_default() += count;
    }
    *slices += 1;
    if *slices < SLICES {
        return;
    }
    if number("WORLD_COVERAGE").is_some() {
        for (name, count) in &*seen {
            println!("{count:>8}  {name}");
        }
    }
    let missing: Vec<_> = expected().into_iter().filter(|name| !seen.contains_key(name)).collect();
    assert!(seeds < SEEDS || missing.is_empty(), "never seen in {seeds} seeds: {missing:?}");
}

/// What the seeds of CI must have seen, each at least once.
fn expected() -> Vec<String> {
    let faults = FAULTS.iter().map(|row| format!("wire: {}", row.shows));
    let disturbances = Disturbance::ALL.iter().map(|what| format!("disturbance: {}", what.name()));
    let call = [
        "answered",
        "refused",
        "larger_than_limit",
        "expired",
        "refusing",
        "shut_down",
        "cancelled",
        "rate_limited",
        "overloaded",
        "transient",
        "truncated",
        "correction",
        "out_of_credit",
        "permanent",
        "wait_too_long",
        "timed_out",
        "deadline_passed",
    ];
    let own = [
        "answered",
        "panicked",
        "timed_out",
        "larger_than_limit",
        "expired",
        "refusing",
        "shut_down",
        "cancelled",
        "rate_limited",
        "overloaded",
        "transient",
        "permanent",
    ];
    let others = [
        "wire: whole",
        "wire: no connection",
        "wire: 429 of a quota",
        "bills: equal to the server's",
        "records: equal to the books",
        "fan-out: collected",
        "fan-out: dropped midway",
        "fan-out: stopped",
        "dropped: a deed",
        "panic: an agent",
        "scope: spent by a user, a key or a day",
        "chain: answered",
        "chain: dependency_failed",
        "chain: cancelled",
        "end: tool answered",
        "end: tool permanent",
        "end: tool panicked",
        "end: tool timed_out",
        "end: smuggler permanent",
    ];
    let call = call.iter().map(|end| format!("end: call {end}"));
    let own = own.iter().map(|end| format!("end: own {end}"));
    let others = others.iter().map(ToString::to_string);
    faults.chain(disturbances).chain(call).chain(own).chain(others).collect()
}

#[test]
fn slice_0() {
    slice(0);
}

#[test]
fn slice_1() {
    slice(1);
}

#[test]
fn slice_2() {
    slice(2);
}

#[test]
fn slice_3() {
    slice(3);
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 0..TWICE {
        let (first, again) = (play(seed, false), play(seed, false));
        assert_eq!(first.digest, again.digest, "seed {seed} differs from itself");
        assert_eq!(first.seen, again.seen, "seed {seed}");
    }
}
