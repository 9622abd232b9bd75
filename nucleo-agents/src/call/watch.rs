//! What a running call reports: to the attempt's meter.
//!
//! Invariants: what was reported before the call is cut off holds for its settlement.
//!
//! Not here: settling (`nucleo_harness`).

use nucleo_core::Usage;
use nucleo_harness::attempt::{Ended, Meter};

use crate::wire::CallWatch;

/// A call's watch that reports to a meter.
#[derive(Debug)]
pub(crate) struct Metering {
    meter: Meter,
}

impl Metering {
    pub(crate) const fn new(meter: Meter) -> Self {
        Self { meter }
    }
}

impl CallWatch for Metering {
    fn leaving(&mut self) {
        self.meter.mark_sent();
    }

    fn could_not_connect(&mut self) {
        self.meter.ended(Ended::CouldNotConnect);
    }

    fn usage(&mut self, usage: Usage) {
        self.meter.usage(usage);
    }

    fn usage_outdated(&mut self) {
        self.meter.usage_outdated();
    }
}
