//! Any bytes, and near-valid ones, into what reads text in this crate.
//!
//! The checks (`scenario`, `amounts`) are the fuzz targets' too; `kit` makes the bytes. What a fuzzer
//! finds is put into `fuzz/seeds/` and is a test from then on.

mod amounts;
#[path = "../lockstep/draw.rs"]
#[allow(dead_code, reason = "its other choices are the walks'")]
mod draw;
mod kit;
mod scenario;

use proptest::prelude::*;

#[test]
fn seeds_of_the_fuzzer() {
    kit::replay("scenario", scenario::check);
    kit::replay("amounts", amounts::check);
}

proptest! {
    #![proptest_config(kit::cases(256))]

    #[test]
    fn any_bytes_as_a_scenario(bytes in kit::noise()) {
        scenario::check(&bytes);
    }

    #[test]
    fn any_bytes_as_amounts(bytes in kit::noise()) {
        amounts::check(&bytes);
    }

    #[test]
    fn near_amounts(bytes in kit::near("amounts")) {
        amounts::check(&bytes);
    }
}

proptest! {
    #![proptest_config(kit::cases(1_500))]

    #[test]
    fn near_scenarios(bytes in kit::near("scenario")) {
        scenario::check(&bytes);
    }

    #[test]
    fn drawn_scenarios(choices in prop::collection::vec(any::<u8>(), 0..400)) {
        scenario::check(&[&[0], &*choices].concat());
    }
}
