//! Caps of users, keys and days, and the midnights at which a day begins anew.
//!
//! Invariants: a zone's midnights are watched from its first cap on, by one task; what a day spent is
//! forgotten at its midnight and at no other time.
//!
//! Not here: the law (`nucleo_core::spend`), a workflow's own cap (`workflow`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use nucleo_core::Money;
use nucleo_core::spend::{ScopeId, UnknownScope};
use nucleo_harness::workflow::Harness;
use tokio::runtime::Handle;

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
#[derive(Debug)]
pub(super) struct Days {
    watched: Mutex<BTreeSet<Arc<str>>>,
    /// Where midnights are waited for, whoever sets the cap.
    tasks: Handle,
}

impl Days {
    pub(super) const fn new(tasks: Handle) -> Self {
        Self { watched: Mutex::new(BTreeSet::new()), tasks }
    }

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
        // Locked until the day has begun: another's cap of it waits for that.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.insert(Arc::clone(&zone)) {
            if harness.ledger().position(&scope).is_none() {
                // Begun before anybody can spend in it, or carry over into it.
                harness.ledger().set_cap(scope.clone(), cap)?;
                midnight::begin_day(harness, &zone);
            }
            midnight::watch_day(harness, &self.tasks, zone, stop);
        }
        drop(watched);
        Ok(harness.set_cap(scope, cap)?)
    }
}
