//! How memory is watched: a probe, a profile, a way to trim.
//!
//! Invariants: a value; nothing is read before it is handed to admission.
//!
//! Not here: the task that reads (`sampler`).

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use nucleo_core::memory::MemoryProfile;

use super::{LiveBytes, MemoryProbe, Resident, Tightest};

/// How memory is watched.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::num::NonZeroU64;
/// use std::sync::Arc;
/// use nucleo_core::Monitor;
/// use nucleo_harness::admission::Admission;
/// use nucleo_harness::memory::{FakeProbe, MemoryWatch, Reading, Zone};
/// use nucleo_harness::runtime::TokioClock;
///
/// let limit = NonZeroU64::new(1_000).expect("not zero");
/// let admission = Admission::start(Monitor::new(), Arc::new(TokioClock::start()));
/// admission.watch_memory(MemoryWatch::new(FakeProbe::new(Reading::live(100, limit))));
/// assert_eq!(admission.memory().map(|status| status.zone), Some(Zone::Green));
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "memory is watched once this is handed to admission"]
pub struct MemoryWatch {
    pub(super) probe: Arc<dyn MemoryProbe>,
    profile: MemoryProfile,
    pub(super) trim: Arc<dyn Fn() + Send + Sync>,
}

impl MemoryWatch {
    /// By this probe, with the default profile, trimming as [`nucleo_alloc::trim`] does.
    pub fn new(probe: impl MemoryProbe + 'static) -> Self {
        let trim = || {
            nucleo_alloc::trim();
        };
        Self { probe: Arc::new(probe), profile: MemoryProfile::default(), trim: Arc::new(trim) }
    }

    /// By the tightest that applies to this process: its cgroup's limit, if it has one, and what the
    /// machine has available.
    pub fn of_this_process() -> Self {
        Self::new(Tightest::of_this_process())
    }

    /// By the resident set out of a limit, and by what applies to this process beside it.
    pub fn resident(limit: NonZeroU64) -> Self {
        Self::new(Tightest::of_this_process().and(Resident::new(limit)))
    }

    /// By live bytes, as an allocator counts them, and by the resident set, both out of a limit; and
    /// by what applies to this process beside it. Live bytes alone do not see the pages that an
    /// allocator keeps, and whoever enforces a limit counts those.
    pub fn live_bytes(limit: NonZeroU64, count: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let resident = Tightest::of_this_process().and(Resident::new(limit));
        Self::new(resident.and(LiveBytes::new(limit, count)))
    }

    /// Sets how careful the gate is.
    pub fn profile(mut self, profile: MemoryProfile) -> Self {
        self.profile = profile;
        self
    }

    pub(crate) const fn profile_of(&self) -> MemoryProfile {
        self.profile
    }

    /// Sets how the allocator is asked for its free pages: another one than glibc's has its own way.
    /// It runs on a thread where it may block, and only when the probe sees pages.
    pub fn trim_with(mut self, trim: impl Fn() + Send + Sync + 'static) -> Self {
        self.trim = Arc::new(trim);
        self
    }
}

impl fmt::Debug for MemoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWatch")
            .field("probe", &self.probe)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}
