//! The memory of this process's cgroup, version 1 or 2: usage less `inactive_file`, over the limit.
//!
//! The usage that the kernel tells holds the page cache, which can be a thousand times what the
//! process holds; its inactive part goes away when memory is needed, so it does not count. A group
//! may be limited by any of those above it: all that have a limit are read, and the tightest counts.
//!
//! Invariants: limits are read anew each time, because they are changed from outside.
//!
//! Not here: the process's own share of a group that others live in too (`process`).

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use nucleo_core::memory::Reading;

use super::files::{field, number, text};
use super::{MemoryProbe, ProbeError};

/// Version 1 says "no limit" with a number near the top of 63 bits.
const UNLIMITED_FROM: u64 = 1 << 60;

/// The files of a version.
#[derive(Clone, Copy, Debug)]
struct Version {
    mount: &'static str,
    usage: &'static str,
    limit: &'static str,
    inactive: &'static str,
}

const ONE: Version = Version {
    mount: "sys/fs/cgroup/memory",
    usage: "memory.usage_in_bytes",
    limit: "memory.limit_in_bytes",
    inactive: "total_inactive_file",
};
const TWO: Version = Version {
    mount: "sys/fs/cgroup",
    usage: "memory.current",
    limit: "memory.max",
    inactive: "inactive_file",
};

/// The memory of this process's cgroup, out of the tightest limit on it.
///
/// ```
/// use nucleo_harness::memory::{Cgroup, MemoryProbe};
/// if let Some(cgroup) = Cgroup::of_this_process() {
///     let _ = cgroup.read();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Cgroup {
    version: Version,
    /// The group and those above it, as far as they had a limit.
    groups: Vec<PathBuf>,
}

impl Cgroup {
    /// The cgroup of this process; `None` when there is none, or none with a limit.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Self::under(Path::new("/"))
    }

    /// With the system's files under another root.
    #[must_use]
    pub fn under(root: &Path) -> Option<Self> {
        let named = text(&root.join("proc/self/cgroup")).ok()?;
        let lines = || {
            named.lines().filter_map(|line| {
                let (_, rest) = line.split_once(':')?;
                rest.split_once(':')
            })
        };
        let one =
            lines().find(|(controllers, _)| controllers.split(',').any(|one| one == "memory"));
        let two = lines().find(|(controllers, _)| controllers.is_empty());
        let one = one.and_then(|(_, path)| Self::find(ONE, root, path));
        one.or_else(|| two.and_then(|(_, path)| Self::find(TWO, root, path)))
    }

    /// The groups on a path that have a limit. Inside a container the path may be the host's, and is
    /// not there: then the mount itself is the group.
    fn find(version: Version, root: &Path, path: &str) -> Option<Self> {
        let mount = root.join(version.mount);
        let inner = mount.join(path.trim_start_matches('/'));
        let within = inner.ancestors().take_while(|group| group.starts_with(&mount));
        let limited = |group: &&Path| matches!(limit_of(version, group), Ok(Some(_)));
        let groups: Vec<PathBuf> = within.filter(limited).map(Path::to_owned).collect();
        (!groups.is_empty()).then_some(Self { version, groups })
    }
}

impl MemoryProbe for Cgroup {
    fn read(&self) -> Result<Reading, ProbeError> {
        let mut tightest: Option<Reading> = None;
        for group in &self.groups {
            let Some(limit) = limit_of(self.version, group)? else {
                continue;
            };
            let usage = number(&group.join(self.version.usage))?;
            let inactive = field(&group.join("memory.stat"), self.version.inactive)?;
            // Two files are two instants: the cache may have grown in between.
            let reading = Reading::pages(usage.saturating_sub(inactive), limit);
            if tightest.is_none_or(|tightest| tightest.share() < reading.share()) {
                tightest = Some(reading);
            }
        }
        tightest.ok_or(ProbeError::Nothing)
    }
}

/// A group's limit; `None` when it has none.
fn limit_of(version: Version, group: &Path) -> Result<Option<NonZeroU64>, ProbeError> {
    let path = group.join(version.limit);
    let text = text(&path)?;
    let text = text.trim();
    if text == "max" {
        return Ok(None);
    }
    match text.parse::<u64>() {
        Ok(limit) => Ok(NonZeroU64::new(limit).filter(|limit| limit.get() < UNLIMITED_FROM)),
        Err(_) => Err(ProbeError::Format { path, what: "a limit" }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Root(tempfile::TempDir);

    impl Root {
        fn new(cgroup: &str) -> Self {
            let root = Self(tempfile::tempdir().unwrap());
            root.write("proc/self/cgroup", cgroup);
            root
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn probe(&self) -> Option<Cgroup> {
            Cgroup::under(self.0.path())
        }
    }

    fn reading(used: u64, limit: u64) -> Reading {
        Reading::pages(used, NonZeroU64::new(limit).unwrap())
    }

    #[test]
    fn version_two_less_the_inactive_cache_of_the_group_that_is_limited() {
        let root = Root::new("0::/job/one\n");
        root.write("sys/fs/cgroup/job/one/memory.max", "max\n");
        root.write("sys/fs/cgroup/job/memory.max", "1000\n");
        root.write("sys/fs/cgroup/job/memory.current", "900\n");
        root.write("sys/fs/cgroup/job/memory.stat", "anon 100\ninactive_file 650\nfile 700\n");
        assert_eq!(root.probe().unwrap().read().unwrap(), reading(250, 1_000));
        root.write("sys/fs/cgroup/job/memory.max", "500\n");
        assert_eq!(root.probe().unwrap().read().unwrap(), reading(250, 500));
    }

    #[test]
    fn version_one_in_a_container_whose_path_is_the_hosts() {
        let root = Root::new("4:cpu,cpuacct:/\n3:memory:/docker/abc\n0::/\n");
        root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000\n");
        root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "600\n");
        root.write(
            "sys/fs/cgroup/memory/memory.stat",
            "inactive_file 1\ntotal_inactive_file 200\n",
        );
        assert_eq!(root.probe().unwrap().read().unwrap(), reading(400, 1_000));
    }

    #[test]
    fn the_tightest_of_two_limits_counts() {
        let root = Root::new("0::/a/b\n");
        for (group, limit) in [("a", "1000"), ("a/b", "2000")] {
            root.write(&format!("sys/fs/cgroup/{group}/memory.max"), limit);
            root.write(&format!("sys/fs/cgroup/{group}/memory.current"), "500");
            root.write(&format!("sys/fs/cgroup/{group}/memory.stat"), "inactive_file 0");
        }
        assert_eq!(root.probe().unwrap().read().unwrap(), reading(500, 1_000));
    }

    #[test]
    fn without_a_limit_there_is_no_probe() {
        let root = Root::new("3:memory:/\n0::/\n");
        root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert!(root.probe().is_none());
        assert!(Cgroup::under(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn a_group_that_vanishes_is_an_error_that_names_its_file() {
        let root = Root::new("0::/gone\n");
        root.write("sys/fs/cgroup/gone/memory.max", "1000\n");
        let probe = root.probe().unwrap();
        fs::remove_dir_all(root.0.path().join("sys/fs/cgroup/gone")).unwrap();
        let error = probe.read().unwrap_err().to_string();
        assert!(error.ends_with("gone/memory.max cannot be read"), "{error}");
    }
}
