//! Noise and near-valid traces; the check is in `checks`.

mod checks;

use proptest::prelude::*;

use crate::kit;

#[test]
fn seeds_of_the_fuzzer() {
    kit::replay("trace", checks::trace);
}

proptest! {
    #![proptest_config(kit::cases(256))]

    #[test]
    fn any_bytes_as_a_trace(bytes in kit::noise()) {
        checks::trace(&bytes);
    }

    #[test]
    fn near_traces(bytes in kit::near("trace")) {
        checks::trace(&bytes);
    }
}
