//! State machines beside the rules they must decide by, step by step: the line of admission and its
//! naive index, the ledger and its naive rows.
//!
//! A walk's choices come from a seed or from bytes (`draw`), so that what a fuzzer finds is a test:
//! put its file into `fuzz/seeds/admission` or `fuzz/seeds/spend`. A failure prints its seed;
//! `LOCKSTEP_SEED=n cargo test -p nucleo-core --test lockstep` runs that one alone, and
//! `LOCKSTEP_SEEDS=n` runs more of them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod admission;
mod draw;
#[path = "../bytes/kit.rs"]
mod kit;
mod spend;

use std::panic::{AssertUnwindSafe, catch_unwind};

use draw::Draw;
use proptest::prelude::*;

/// Walks by seed, and says which one failed.
fn by_seed(walk: fn(Draw<'_>, usize), steps: usize, unless_told: u64) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("LOCKSTEP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("LOCKSTEP_SEEDS").unwrap_or(unless_told),
    };
    for seed in seeds {
        let walked = catch_unwind(AssertUnwindSafe(|| walk(Draw::seed(seed), steps)));
        assert!(walked.is_ok(), "seed {seed}: the message is above");
    }
}

#[test]
fn the_fast_index_decides_as_the_rule_does() {
    by_seed(admission::walk, 500, 4_000);
}

#[test]
fn the_ledger_decides_as_its_rule_does() {
    by_seed(spend::walk, 120, 120);
}

#[test]
fn seeds_of_the_fuzzer() {
    kit::replay("admission", admission::check);
    kit::replay("spend", spend::check);
}

proptest! {
    #![proptest_config(kit::cases(64))]

    #[test]
    fn any_bytes_walk_alike_in_admission(bytes in prop::collection::vec(any::<u8>(), 0..1_500)) {
        admission::check(&bytes);
    }

    #[test]
    fn any_bytes_walk_alike_in_spend(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        spend::check(&bytes);
    }
}
