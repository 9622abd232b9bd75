//! What a probe is, and those that need no files.
//!
//! Invariants: reading changes nothing and takes microseconds; a probe that fails once may work the
//! next time.
//!
//! Not here: files of the system (`cgroup`, `process`), when a probe is read (`sampler`).

use std::fmt;
use std::io;
use std::num::NonZeroU64;
use std::path::PathBuf;

use nucleo_core::memory::Reading;

use super::{Cgroup, Machine};
use crate::sync::Mutex;

/// Says how much memory is used, out of how much.
///
/// ```
/// use std::num::NonZeroU64;
/// use nucleo_harness::memory::{FakeProbe, MemoryProbe, Reading};
/// let limit = NonZeroU64::new(1_000).expect("not zero");
/// let probe = FakeProbe::new(Reading::live(250, limit));
/// assert_eq!(probe.read()?.used, 250);
/// # Ok::<(), nucleo_harness::memory::ProbeError>(())
/// ```
pub trait MemoryProbe: Send + Sync + fmt::Debug {
    /// Reads.
    ///
    /// # Errors
    /// [`ProbeError`] when the system does not say; the sample before it stays in force.
    fn read(&self) -> Result<Reading, ProbeError>;
}

/// Memory could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// A file of the system could not be read.
    #[error("{path} cannot be read")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file of the system says something else than expected.
    #[error("{path} does not say `{what}` as a number")]
    Format {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
    },
    /// There is nothing to read.
    #[error("no probe applies here; count live bytes, or name a limit for the resident set")]
    Nothing,
}

/// What an allocator that counts says is live, out of a configured limit. Exact: it falls the moment
/// something is freed.
///
/// ```
/// use std::num::NonZeroU64;
/// use nucleo_alloc::Counting;
/// use nucleo_harness::memory::{LiveBytes, MemoryProbe};
///
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting::system();
///
/// let limit = NonZeroU64::new(1 << 30).expect("not zero");
/// let probe = LiveBytes::new(limit, || ALLOCATOR.live_bytes());
/// assert!(probe.read()?.used > 0);
/// # Ok::<(), nucleo_harness::memory::ProbeError>(())
/// ```
pub struct LiveBytes<F> {
    limit: NonZeroU64,
    count: F,
}

impl<F: Fn() -> u64 + Send + Sync> LiveBytes<F> {
    /// A probe that asks `count`: of [`nucleo_alloc::Counting`], or of any allocator that keeps such a
    /// figure.
    pub const fn new(limit: NonZeroU64, count: F) -> Self {
        Self { limit, count }
    }
}

impl<F: Fn() -> u64 + Send + Sync> MemoryProbe for LiveBytes<F> {
    fn read(&self) -> Result<Reading, ProbeError> {
        Ok(Reading::live((self.count)(), self.limit))
    }
}

impl<F> fmt::Debug for LiveBytes<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveBytes").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The probe among several that reads the highest share.
///
/// ```
/// use std::num::NonZeroU64;
/// use nucleo_harness::memory::{FakeProbe, MemoryProbe, Reading, Tightest};
/// let (small, large) = (NonZeroU64::new(100).expect("not zero"), NonZeroU64::new(900).expect("not zero"));
/// let probe = Tightest::new()
///     .and(FakeProbe::new(Reading::pages(90, large)))
///     .and(FakeProbe::new(Reading::live(90, small)));
/// assert_eq!(probe.read()?.limit, small);
/// # Ok::<(), nucleo_harness::memory::ProbeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Tightest {
    probes: Vec<Box<dyn MemoryProbe>>,
}

impl Tightest {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What applies to this process unless told otherwise: its cgroup's limit, if it has one, and what
    /// the machine has available, as a backstop.
    #[must_use]
    pub fn of_this_process() -> Self {
        let machine = Self::new().and(Machine::new());
        match Cgroup::of_this_process() {
            Some(cgroup) => machine.and(cgroup),
            None => machine,
        }
    }

    /// With one more.
    #[must_use]
    pub fn and(mut self, probe: impl MemoryProbe + 'static) -> Self {
        self.probes.push(Box::new(probe));
        self
    }
}

impl MemoryProbe for Tightest {
    /// A probe that fails is passed over for as long as another one reads.
    fn read(&self) -> Result<Reading, ProbeError> {
        let mut tightest: Result<Reading, ProbeError> = Err(ProbeError::Nothing);
        for probe in &self.probes {
            tightest = match (tightest, probe.read()) {
                (Ok(before), Ok(reading)) if before.share() >= reading.share() => Ok(before),
                (_, Ok(reading)) => Ok(reading),
                (Ok(before), Err(_)) => Ok(before),
                (Err(_), Err(error)) => Err(error),
            };
        }
        tightest
    }
}

/// Says what a test tells it.
#[derive(Debug)]
pub struct FakeProbe {
    reading: Mutex<Option<Reading>>,
}

impl FakeProbe {
    /// A probe that reads this until it is told something else.
    #[must_use]
    pub fn new(reading: Reading) -> Self {
        Self { reading: Mutex::new(Some(reading)) }
    }

    /// Reads this from now on.
    pub fn set(&self, reading: Reading) {
        *self.reading.lock() = Some(reading);
    }

    /// Fails from now on.
    pub fn fail(&self) {
        *self.reading.lock() = None;
    }
}

impl MemoryProbe for FakeProbe {
    fn read(&self) -> Result<Reading, ProbeError> {
        self.reading.lock().ok_or(ProbeError::Nothing)
    }
}

impl<P: MemoryProbe + ?Sized> MemoryProbe for std::sync::Arc<P> {
    fn read(&self) -> Result<Reading, ProbeError> {
        (**self).read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_fails_is_passed_over_while_another_reads() {
        let limit = NonZeroU64::new(100).unwrap();
        let broken = FakeProbe::new(Reading::live(99, limit));
        broken.fail();
        let both = Tightest::new().and(broken).and(FakeProbe::new(Reading::live(10, limit)));
        assert_eq!(both.read().unwrap().used, 10);
        assert!(matches!(Tightest::new().read(), Err(ProbeError::Nothing)));
    }
}
