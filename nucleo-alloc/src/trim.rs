//! Asks glibc's allocator to hand the pages that are free back to the system.
//!
//! By itself it keeps most of them: after freeing a gigabyte of small objects the resident set stays
//! a gigabyte. Whoever judges by pages has to ask first.
//!
//! Invariants: nothing that is allocated is touched; where the allocator is another one, nothing
//! happens.
//!
//! Not here: when to ask (`nucleo_harness::memory`).

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trimmed {
    /// Pages went back to the system.
    Released,
    /// There was nothing to hand back.
    Nothing,
    /// This platform's allocator cannot be asked.
    Unsupported,
}

/// Asks glibc's allocator to hand its free pages back. It walks the heap and locks its parts one by
/// one: milliseconds, and more on a large heap, so not on a thread that others wait for.
///
/// ```
/// let _ = nucleo_alloc::trim();
/// ```
pub fn trim() -> Trimmed {
    ask()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn ask() -> Trimmed {
    // SAFETY: this is the signature that glibc documents for it, `int malloc_trim(size_t pad)`. It
    // may be called by any thread at any time: glibc marks it MT-safe, and it gives back only pages
    // in which nothing is allocated. So the call itself asks nothing of its caller.
    #[allow(unsafe_code, reason = "the standard library has no name for it")]
    unsafe extern "C" {
        safe fn malloc_trim(pad: usize) -> std::ffi::c_int;
    }
    match malloc_trim(0) {
        0 => Trimmed::Nothing,
        _ => Trimmed::Released,
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn ask() -> Trimmed {
    Trimmed::Unsupported
}
