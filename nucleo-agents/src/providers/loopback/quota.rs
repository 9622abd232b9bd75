//! All quotas of a model, asked and taken together.
//!
//! Invariants: a request takes from every bucket or from none; what it took is settled once, at its
//! end; requests are never given back. A share of the quotas, or a jump of the clock, concerns every
//! bucket alike; how many requests there may be at a time is no quota and stays as it is.
//!
//! Not here: one bucket's arithmetic (`bucket`), the words of a 429 (`answer`).

use super::bucket::Bucket;
use super::config::{Dimension, LoopbackModel, Quota, Settle};

/// The quotas that one model, or several that share them, are under.
#[derive(Debug)]
pub(super) struct Quotas {
    buckets: Vec<(Quota, Bucket)>,
    /// What is in force of them at the start.
    permille: u32,
    concurrent: u64,
    concurrent_max: Option<u64>,
    settle: Settle,
}

/// Tokens of a request: before its end the output is its limit, after it what was produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A quota has no room for it.
    Quota {
        dimension: Dimension,
        limit: u64,
        asked: u64,
        /// `None`: it will never fit.
        wait_ns: Option<u64>,
    },
    /// Too many at a time.
    Concurrent { limit: u64 },
}

/// What the headers say of one dimension.
pub(super) struct Shown {
    pub(super) dimension: Dimension,
    pub(super) limit: u64,
    pub(super) remaining: u64,
    pub(super) full_in_ns: u64,
}

impl Quotas {
    pub(super) fn of(model: &LoopbackModel, now_ns: u64) -> Self {
        let permille = model.quota_permille;
        let bucket = |quota: &Quota| {
            let quota = model.enforced.of(*quota);
            (quota, Bucket::full(&quota, permille, now_ns))
        };
        Self {
            buckets: model.quotas.iter().map(bucket).collect(),
            permille,
            concurrent: 0,
            concurrent_max: model.concurrent_max,
            settle: model.settle,
        }
    }

    /// Fills every bucket, as at the start; requests under way stay under way.
    pub(super) fn refill(&mut self, now_ns: u64) {
        for (quota, bucket) in &mut self.buckets {
            *bucket = Bucket::full(quota, self.permille, now_ns);
        }
    }

    /// From now on so many thousandths of each quota are in force.
    pub(super) fn set_permille(&mut self, permille: u32, now_ns: u64) {
        self.buckets.iter_mut().for_each(|(_, bucket)| bucket.set_permille(permille, now_ns));
    }

    /// So much time passed at once.
    pub(super) fn pass(&mut self, ns: u128) {
        self.buckets.iter_mut().for_each(|(_, bucket)| bucket.pass(ns));
    }

    /// Takes `asked` from every bucket, or nothing from any and says which one waits longest.
    pub(super) fn take(&mut self, asked: Amounts, now_ns: u64) -> Result<(), Refused> {
        if let Some(limit) = self.concurrent_max.filter(|limit| self.concurrent >= *limit) {
            return Err(Refused::Concurrent { limit });
        }
        let mut worst: Option<(u64, Refused)> = None;
        for (quota, bucket) in &mut self.buckets {
            let units = asked.of(quota.dimension);
            let wait_ns = bucket.wait_ns(units, now_ns);
            let order = wait_ns.unwrap_or(u64::MAX);
            if order > worst.map_or(0, |(order, _)| order) {
                let (dimension, limit) = (quota.dimension, bucket.limit());
                worst = Some((order, Refused::Quota { dimension, limit, asked: units, wait_ns }));
            }
        }
        if let Some((_, refused)) = worst {
            return Err(refused);
        }
        for (quota, bucket) in &mut self.buckets {
            bucket.take(asked.of(quota.dimension));
        }
        self.concurrent += 1;
        Ok(())
    }

    /// Ends a request that took `taken` and used `used`.
    pub(super) fn settle(&mut self, taken: Amounts, used: Amounts, now_ns: u64) {
        self.concurrent =
            self.concurrent.checked_sub(1).expect("a request ends once, after it was taken");
        for (quota, bucket) in &mut self.buckets {
            let (taken, used) = (taken.of(quota.dimension), used.of(quota.dimension));
            // What was kept is still charged when more was used than taken.
            let used = if self.settle == Settle::Keep { used.max(taken) } else { used };
            bucket.correct(taken, used, now_ns);
        }
    }

    /// What the headers say. Only a minute's quotas: the names of the headers mean a minute.
    pub(super) fn shown(&mut self, now_ns: u64) -> Vec<Shown> {
        let minutes = self.buckets.iter_mut().filter(|(quota, _)| quota.period_s == 60);
        minutes
            .map(|(quota, bucket)| {
                let (remaining, full_in_ns) = bucket.shown(now_ns);
                let (dimension, limit) = (quota.dimension, bucket.limit());
                Shown { dimension, limit, remaining, full_in_ns }
            })
            .collect()
    }
}

impl Amounts {
    fn of(self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::Requests => 1,
            Dimension::InputTokens => self.input,
            Dimension::OutputTokens => self.output,
            Dimension::Tokens => self.input.saturating_add(self.output),
        }
    }
}

#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
