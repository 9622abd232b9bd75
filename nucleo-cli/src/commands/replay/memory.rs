//! The process's peak of resident memory, as the system counts it.
//!
//! Invariants: a figure of the system's, or none; never a guess.
//!
//! Not here: the memory gate's probes (`nucleo_harness`).

/// The peak in bytes; `None` where the system does not tell.
pub(super) fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1_024)
}
