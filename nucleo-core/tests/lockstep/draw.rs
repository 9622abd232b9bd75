//! Where a walk's choices come from: a seed, or bytes that somebody else chose.
//!
//! A seed gives choices without end. Bytes give as many as they last; after that each choice is the
//! least of its range, and [`Draw::is_over`] says so. Every choice takes as few bytes as its range
//! needs, so that changing one byte changes one choice: what a fuzzer, and shrinking, live from.

use std::fmt;
use std::ops::{Bound, RangeBounds};

/// A source of choices.
pub(crate) enum Draw<'b> {
    Seed(u64, fastrand::Rng),
    Bytes(&'b [u8]),
}

/// The ends of a range, the last included.
fn ends<T: Copy + Into<u128>>(range: &impl RangeBounds<T>) -> (u128, u128) {
    let low = match range.start_bound() {
        Bound::Included(low) => (*low).into(),
        Bound::Excluded(low) => (*low).into() + 1,
        Bound::Unbounded => 0,
    };
    let high = match range.end_bound() {
        Bound::Included(high) => (*high).into(),
        Bound::Excluded(high) => (*high).into().checked_sub(1).expect("a range is not empty"),
        Bound::Unbounded => panic!("a choice has an upper bound"),
    };
    assert!(low <= high, "a range is not empty");
    (low, high)
}

impl<'b> Draw<'b> {
    pub(crate) fn seed(seed: u64) -> Self {
        Self::Seed(seed, fastrand::Rng::with_seed(seed))
    }

    pub(crate) const fn bytes(bytes: &'b [u8]) -> Self {
        Self::Bytes(bytes)
    }

    /// Whether bytes have run out; a seed never does.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Bytes([]))
    }

    pub(crate) fn u8(&mut self, range: impl RangeBounds<u8>) -> u8 {
        match self {
            Self::Seed(_, random) => random.u8(range),
            Self::Bytes(bytes) => narrow(choose(bytes, ends(&range))),
        }
    }

    pub(crate) fn u32(&mut self, range: impl RangeBounds<u32>) -> u32 {
        match self {
            Self::Seed(_, random) => random.u32(range),
            Self::Bytes(bytes) => narrow(choose(bytes, ends(&range))),
        }
    }

    pub(crate) fn u64(&mut self, range: impl RangeBounds<u64>) -> u64 {
        match self {
            Self::Seed(_, random) => random.u64(range),
            Self::Bytes(bytes) => narrow(choose(bytes, ends(&range))),
        }
    }

    pub(crate) fn u128(&mut self, range: impl RangeBounds<u128>) -> u128 {
        match self {
            Self::Seed(_, random) => random.u128(range),
            Self::Bytes(bytes) => choose(bytes, ends(&range)),
        }
    }

    /// A place in a list of `length`.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.usize(0, length.checked_sub(1).expect("a list with a place in it"))
    }

    /// From `low` to `high`, both included.
    pub(crate) fn usize(&mut self, low: usize, high: usize) -> usize {
        match self {
            Self::Seed(_, random) => random.usize(low..=high),
            Self::Bytes(bytes) => narrow(choose(bytes, (low as u128, high as u128))),
        }
    }

    pub(crate) fn bool(&mut self) -> bool {
        match self {
            Self::Seed(_, random) => random.bool(),
            Self::Bytes(bytes) => choose(bytes, (0, 1)) == 1,
        }
    }

    /// Yes once in so many times.
    pub(crate) fn one_in(&mut self, times: u8) -> bool {
        self.u8(0..times) == 0
    }

    pub(crate) fn choice<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        if list.is_empty() { None } else { Some(&list[self.place(list.len())]) }
    }
}

/// What a panic's message calls it.
impl fmt::Display for Draw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed(seed, _) => write!(f, "seed {seed}"),
            Self::Bytes(left) => write!(f, "{} bytes before the end", left.len()),
        }
    }
}

fn choose(bytes: &mut &[u8], (low, high): (u128, u128)) -> u128 {
    let span = high - low;
    let wanted = usize::try_from((u128::BITS - span.leading_zeros()).div_ceil(8)).expect("16 most");
    let (taken, rest) = bytes.split_at(wanted.min(bytes.len()));
    *bytes = rest;
    let number = taken.iter().rfold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    low + span.checked_add(1).map_or(number, |count| number % count)
}

fn narrow<T: TryFrom<u128>>(number: u128) -> T {
    T::try_from(number).ok().expect("inside the range that was asked")
}
