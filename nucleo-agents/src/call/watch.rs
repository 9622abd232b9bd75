//! What a running call reports: to the attempt's meter, and to the accounts what its head says of them.
//!
//! Invariants: what was reported before the call is cut off holds for its settlement.
//!
//! Not here: settling (`nucleo_harness`), what accounts make of it (`runtime::learn`).

use std::sync::Arc;

use nucleo_core::{Time, Usage};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::{Ended, Meter};

use crate::runtime::Route;
use crate::wire::{CallWatch, HeadFacts};

/// A call's watch.
#[derive(Debug)]
pub(crate) struct Metering {
    meter: Meter,
    route: Arc<Route>,
    admission: Admission,
    sent: Option<Time>,
}

impl Metering {
    pub(crate) const fn new(meter: Meter, route: Arc<Route>, admission: Admission) -> Self {
        Self { meter, route, admission, sent: None }
    }
}

impl CallWatch for Metering {
    fn leaving(&mut self) {
        self.meter.mark_sent();
        self.sent = Some(self.admission.clock().now());
    }

    fn could_not_connect(&mut self) {
        self.meter.ended(Ended::CouldNotConnect);
    }

    fn head(&mut self, head: &HeadFacts) {
        if let Some(sent) = self.sent {
            self.route.learn(&self.admission, &head.limits, sent);
        }
    }

    fn usage(&mut self, usage: Usage) {
        self.meter.usage(usage);
    }

    fn usage_outdated(&mut self) {
        self.meter.usage_outdated();
    }
}
