//! The process's resident set, and what the machine has available for it. Linux only: elsewhere the
//! files are not there, and the probes say so.
//!
//! Invariants: figures in KiB are what the system calls kB.
//!
//! Not here: the cgroup (`cgroup`).

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use nucleo_core::memory::Reading;

use super::files::field;
use super::{MemoryProbe, ProbeError};

/// The resident set of this process, out of a limit that is given.
///
/// ```
/// use std::num::NonZeroU64;
/// use nucleo_harness::memory::{MemoryProbe, Resident};
/// let probe = Resident::new(NonZeroU64::new(1 << 30).expect("not zero"));
/// # if cfg!(target_os = "linux") {
/// assert!(probe.read()?.used > 0);
/// # }
/// # Ok::<(), nucleo_harness::memory::ProbeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Resident {
    limit: NonZeroU64,
    status: PathBuf,
}

impl Resident {
    /// Out of this many bytes.
    #[must_use]
    pub fn new(limit: NonZeroU64) -> Self {
        Self::under(limit, Path::new("/"))
    }

    /// With the system's files under another root.
    #[must_use]
    pub fn under(limit: NonZeroU64, root: &Path) -> Self {
        Self { limit, status: root.join("proc/self/status") }
    }
}

impl MemoryProbe for Resident {
    fn read(&self) -> Result<Reading, ProbeError> {
        Ok(Reading::pages(kib(&self.status, "VmRSS:")?, self.limit))
    }
}

/// The resident set of this process, out of itself and what the machine has available: near 1 when
/// memory runs out, whoever uses it.
///
/// ```
/// use nucleo_harness::memory::{Machine, MemoryProbe};
/// # if cfg!(target_os = "linux") {
/// assert!(Machine::new().read()?.share() < 1.0);
/// # }
/// # Ok::<(), nucleo_harness::memory::ProbeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    status: PathBuf,
    available: PathBuf,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn new() -> Self {
        Self::under(Path::new("/"))
    }

    /// With the system's files under another root.
    #[must_use]
    pub fn under(root: &Path) -> Self {
        Self { status: root.join("proc/self/status"), available: root.join("proc/meminfo") }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProbe for Machine {
    fn read(&self) -> Result<Reading, ProbeError> {
        let used = kib(&self.status, "VmRSS:")?;
        let limit = used.saturating_add(kib(&self.available, "MemAvailable:")?);
        Ok(Reading::pages(used, NonZeroU64::new(limit).unwrap_or(NonZeroU64::MIN)))
    }
}

/// A field in KiB, in bytes.
fn kib(path: &Path, word: &'static str) -> Result<u64, ProbeError> {
    let number = field(path, word)?;
    let bytes = number.checked_mul(1_024);
    bytes.ok_or_else(|| ProbeError::Format { path: path.to_owned(), what: word })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn root(status: &str, meminfo: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/status"), status).unwrap();
        fs::write(root.path().join("proc/meminfo"), meminfo).unwrap();
        root
    }

    #[test]
    fn the_resident_set_out_of_a_limit_and_out_of_the_machine() {
        let root = root("Name:\tnucleo\nVmRSS:\t    100 kB\n", "MemAvailable:  300 kB\n");
        let limit = NonZeroU64::new(1 << 20).unwrap();
        let resident = Resident::under(limit, root.path()).read().unwrap();
        assert_eq!(resident, Reading::pages(102_400, limit));
        let machine = Machine::under(root.path()).read().unwrap();
        assert!((machine.share() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_said_is_an_error_that_names_the_file() {
        let root = root("Name:\tnucleo\n", "");
        let error = Machine::under(root.path()).read().unwrap_err().to_string();
        assert!(error.ends_with("proc/self/status does not say `VmRSS:` as a number"), "{error}");
        let limit = NonZeroU64::MIN;
        let gone = Resident::under(limit, &root.path().join("gone")).read().unwrap_err();
        assert!(matches!(gone, ProbeError::Io { .. }));
    }
}
