//! Caps of users, keys and days, and the midnights at which a day begins anew.
//!
//! Invariants: a zone's midnights are watched from its first cap on, by one task; what a day spent is
//! forgotten at its midnight and at no other time.
//!
//! Not here: the law (`nucleo_core::spend`), a workflow's own cap (`workflow`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use nucleo_core::Money;
use nucleo_core::spend::{ScopeId, UnknownScope};
use nucleo_harness::workflow::Harness;

use super::midnight::{self, Stop};

/// Why a cap was not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CapError {
    /// The workflow isn't open.
    #[error(transparent)]
    UnknownScope(#[from] UnknownScope),
    /// No zone has this name.
    #[error("`{zone}` is no time zone: write its name in the IANA database, as in `Europe/Berlin`")]
    UnknownZone {
        /// What was asked.
        zone: Arc<str>,
        /// What the calendar says.
        #[source]
        source: jiff::Error,
    },
}

/// The zones whose midnights are watched.
#[derive(Debug, Default)]
pub(super) struct Days {
    watched: Mutex<BTreeSet<Arc<str>>>,
}

impl Days {
    pub(super) fn set_cap(
        &self,
        harness: &Harness,
        stop: &Stop,
        scope: ScopeId,
        cap: Option<Money>,
    ) -> Result<(), CapError> {
        let ScopeId::Day(zone) = &scope else {
            return Ok(harness.set_cap(scope, cap)?);
        };
        let zone = Arc::clone(zone);
        let unknown = |source| CapError::UnknownZone { zone: Arc::clone(&zone), source };
        midnight::check(&zone).map_err(unknown)?;
        harness.set_cap(scope, cap)?;
        if self.watched.lock().expect("inserting can't panic").insert(Arc::clone(&zone)) {
            midnight::watch_day(harness, zone, stop);
        }
        Ok(())
    }
}
