//! An allocator that counts its live bytes.
//!
//! The count is kept in shards, so that threads do not fight over one cache line. The shard follows
//! from the address: what was added for a block is subtracted from the same shard, whichever thread
//! frees it, so no shard ever falls below zero. Threads mostly allocate from regions of their own,
//! so their addresses, and with them the shards, differ.
//!
//! Invariants: a block counts from its allocation until its deallocation with the size asked for;
//! the allocator's own overhead is not counted; counting allocates nothing.
//!
//! Not here: limits, and what follows from them (`nucleo_harness::memory`).

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many shards; a power of two.
const SHARDS: usize = 16;
/// Addresses that agree above this bit share a shard: a region of 64 KiB.
const REGION_BITS: u32 = 16;

/// Counts the live bytes of the allocator inside it.
///
/// ```
/// use nucleo_alloc::Counting;
///
/// #[global_allocator]
/// static ALLOCATOR: Counting = Counting::system();
///
/// let before = ALLOCATOR.live_bytes();
/// let block = vec![0_u8; 1 << 20];
/// assert!(ALLOCATOR.live_bytes() >= before + (1 << 20));
/// drop(block);
/// assert!(ALLOCATOR.live_bytes() < before + (1 << 20));
/// ```
#[derive(Debug)]
pub struct Counting<A = System> {
    inner: A,
    shards: [Shard; SHARDS],
}

/// Alone on its cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(AtomicUsize);

impl Counting {
    /// Around the system's allocator.
    #[must_use]
    pub const fn system() -> Self {
        Self::around(System)
    }
}

impl<A> Counting<A> {
    /// Around any allocator.
    #[must_use]
    pub const fn around(inner: A) -> Self {
        Self { inner, shards: [const { Shard(AtomicUsize::new(0)) }; SHARDS] }
    }

    /// How many bytes are allocated and not freed. While others allocate it is a moment's figure, off
    /// by what they do during the look.
    #[must_use]
    pub fn live_bytes(&self) -> u64 {
        let sum = self
            .shards
            .iter()
            .fold(0_usize, |sum, shard| sum.saturating_add(shard.0.load(Ordering::Relaxed)));
        u64::try_from(sum).unwrap_or(u64::MAX)
    }

    fn add(&self, block: *mut u8, bytes: usize) {
        self.shard(block).fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, block: *mut u8, bytes: usize) {
        self.shard(block).fetch_sub(bytes, Ordering::Relaxed);
    }

    fn shard(&self, block: *mut u8) -> &AtomicUsize {
        &self.shards[(block.addr() >> REGION_BITS) % SHARDS].0
    }
}

// SAFETY: every call goes on to `inner` with the very arguments it came with, and what `inner`
// answers is handed out unchanged, so the contract that `inner` keeps is kept. Beside that, only
// atomic counters in `self` are touched: they neither allocate nor panic (the index is below the
// length, and the additions of atomics wrap).
#[allow(unsafe_code, reason = "an allocator cannot be written without it")]
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are passed on.
        let block = unsafe { self.inner.alloc(layout) };
        if !block.is_null() {
            self.add(block, layout.size());
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are passed on.
        let block = unsafe { self.inner.alloc_zeroed(layout) };
        if !block.is_null() {
            self.add(block, layout.size());
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Before it is freed: after, another thread may count the same address.
        self.subtract(block, layout.size());
        // SAFETY: the caller's promises about `block` and `layout` are passed on; `block` came from
        // `inner`, because everything this allocator hands out does.
        unsafe { self.inner.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as for `dealloc`, and the caller's promises about `bytes` are passed on.
        let moved = unsafe { self.inner.realloc(block, layout, bytes) };
        if !moved.is_null() {
            // The new size first, so that a block resized in place never takes its shard below zero.
            self.add(moved, bytes);
            self.subtract(block, layout.size());
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "an allocator is called as the language calls it")]
    fn counts_what_is_live_through_growth_and_shrinking() {
        let counting = Counting::system();
        let layout = Layout::from_size_align(1_000, 8).unwrap();
        // SAFETY: the layout is of a size above zero, and every block is freed once with the layout
        // that it has.
        unsafe {
            let block = counting.alloc(layout);
            assert_eq!(counting.live_bytes(), 1_000);
            let block = counting.realloc(block, layout, 5_000_000);
            assert_eq!(counting.live_bytes(), 5_000_000);
            let large = Layout::from_size_align(5_000_000, 8).unwrap();
            let block = counting.realloc(block, large, 10);
            assert_eq!(counting.live_bytes(), 10);
            let zeroed = counting.alloc_zeroed(layout);
            assert_eq!(counting.live_bytes(), 1_010);
            counting.dealloc(zeroed, layout);
            counting.dealloc(block, Layout::from_size_align(10, 8).unwrap());
        }
        assert_eq!(counting.live_bytes(), 0);
    }
}
