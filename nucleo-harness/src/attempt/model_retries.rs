//! The retry budgets of all models: what bounds a storm of retries over many jobs.
//!
//! Invariants: only overloads and transient failures are counted, because a rate limit says when; a
//! model that nobody has asked has a full budget; one budget a model that was ever named.
//!
//! Not here: the budget's rule (`nucleo_core::limits`), a job's own (`retry`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_core::Time;
use nucleo_core::limits::{RetryBudget, RetryShare};
use smallvec::SmallVec;

use super::signal::Signal;
use crate::sync::Mutex;

/// The budgets, by model.
#[derive(Debug)]
pub(crate) struct ModelRetries {
    share: RetryShare,
    budgets: Mutex<BTreeMap<Arc<str>, RetryBudget>>,
}

impl ModelRetries {
    pub(crate) fn new(share: RetryShare) -> Self {
        Self { share, budgets: Mutex::default() }
    }

    /// These models answered.
    pub(crate) fn succeeded<'m>(&self, models: impl IntoIterator<Item = &'m Arc<str>>, now: Time) {
        let mut budgets = self.budgets.lock();
        for model in models {
            self.of(&mut budgets, model).success(now);
        }
    }

    /// Takes a retry of each of these models, once however often it is named; or takes none, and says
    /// which has none left.
    pub(crate) fn take<'m>(
        &self,
        signal: Signal,
        models: impl IntoIterator<Item = &'m Arc<str>>,
        now: Time,
    ) -> Result<(), Arc<str>> {
        if !matches!(signal, Signal::Overloaded { .. } | Signal::Transient { .. }) {
            return Ok(());
        }
        let mut each = SmallVec::<[&Arc<str>; 2]>::from_iter(models);
        each.sort_unstable();
        each.dedup();
        let mut budgets = self.budgets.lock();
        if let Some(spent) = each.iter().find(|model| !self.of(&mut budgets, model).has_one(now)) {
            return Err(Arc::clone(spent));
        }
        for model in each {
            self.of(&mut budgets, model).take(now);
        }
        Ok(())
    }

    fn of<'b>(
        &self,
        budgets: &'b mut BTreeMap<Arc<str>, RetryBudget>,
        model: &Arc<str>,
    ) -> &'b mut RetryBudget {
        // Looked up first: the name is cloned once, not at every call.
        if !budgets.contains_key(model) {
            budgets.insert(Arc::clone(model), RetryBudget::new(self.share));
        }
        budgets.get_mut(model).expect("just seen or inserted")
    }
}
