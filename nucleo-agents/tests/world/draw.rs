//! Draws: swarm style, where a kind is absent from most seeds and frequent in some.

use fastrand::Rng;

pub(crate) struct Draw(Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        // Consecutive seeds spread over all bits.
        Self(Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x6e75_636c_656f))
    }

    /// True in so many of a hundred.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.0.u32(0..100) < percent
    }

    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.u64(least..=most)
    }

    pub(crate) fn size(&mut self, least: usize, most: usize) -> usize {
        self.0.usize(least..=most)
    }

    pub(crate) fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.usize(0..from.len())]
    }

    /// `Some` of a draw in so many of a hundred.
    pub(crate) fn maybe<T>(
        &mut self,
        percent: u32,
        draw: impl FnOnce(&mut Self) -> T,
    ) -> Option<T> {
        self.chance(percent).then(|| draw(self))
    }

    /// A rate in parts of a million: absent mostly, from rare to frequent else.
    pub(crate) fn swarm(&mut self, present_percent: u32) -> Option<u32> {
        self.maybe(present_percent, |draw| draw.of(&[5_000, 30_000, 100_000, 300_000]))
    }
}
