//! A scenario: accounts, jobs and memory readings, as a file describes them.
//!
//! Strict: an unknown key is an error, and so is a name that nothing has. Times are milliseconds and
//! may have decimals; they are held in nanoseconds.
//!
//! Invariants: a scenario that `check` lets through can be run: every name resolves, every `after`
//! names an earlier or later job without a circle, every amount is in range.
//!
//! Not here: running it (`run`), reading files (`nucleo-cli`).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::outcome::millis;
use crate::limits::{AMOUNT_MAX, Limit, Permits, Rate, TokenBucket};
use crate::money::Money;
use crate::time::Time;

/// What to plan: accounts, jobs, memory readings.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nucleo_core::plan::{Scenario, plan};
/// let scenario: Scenario = serde_json::from_str(r#"{
///     "accounts": { "http": {"permits": 1} },
///     "jobs": [ {"id": "a", "arrive_ms": 0, "demand": {"http": 1}, "hold_ms": 700},
///               {"id": "b", "arrive_ms": 0, "demand": {"http": 1}, "hold_ms": 40} ] }"#)?;
/// let plan = plan(&scenario)?;
/// assert_eq!(plan.jobs[1].at_ms(), Some(700.0));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Accounts by name.
    pub accounts: BTreeMap<String, AccountSpec>,
    /// Memory readings, in order: an instant, and the share in use. None: memory is not watched.
    #[serde(default)]
    pub memory: Vec<(Millis, f64)>,
    /// The jobs; arrivals at one instant go in this order.
    pub jobs: Vec<JobSpec>,
    /// Who is served when many share; first come, first served unless told.
    #[serde(default)]
    pub policy: PolicySpec,
    /// Ignored: for people.
    #[serde(default)]
    pub name: Option<String>,
    /// Ignored: for tests.
    #[serde(default, skip_serializing)]
    pub expect: Option<serde::de::IgnoredAny>,
}

/// Who is served when many share.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// The order of the line.
    #[serde(default)]
    pub order: OrderSpec,
    /// Shares by workflow, under `fair`; one where a workflow is not named.
    #[serde(default)]
    pub weights: BTreeMap<String, u32>,
    /// When a waiter that is short on an account is protected there; never unless told.
    #[serde(default)]
    pub protect: Option<ProtectSpec>,
}

/// The order of the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderSpec {
    /// By arrival.
    #[default]
    Fifo,
    /// Fair between workflows.
    Fair,
}

/// When a waiter is protected.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtectSpec {
    /// Once so many later arrivals went before it.
    Overtaken(usize),
    /// Once it has waited so long.
    WaitedMs(Millis),
}

/// One account of a scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "AccountKeys", untagged)]
pub enum AccountSpec {
    /// So many at once.
    Permits(PermitsSpec),
    /// So many a minute.
    PerMinute(RateSpec),
}

/// The keys that an account may have, before it is told which kind it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountKeys {
    permits: Option<u64>,
    per_minute: Option<u64>,
    burst: Option<u64>,
}

impl TryFrom<AccountKeys> for AccountSpec {
    type Error = &'static str;
    fn try_from(keys: AccountKeys) -> Result<Self, Self::Error> {
        match keys {
            AccountKeys { permits: Some(permits), per_minute: None, burst: None } => {
                Ok(Self::Permits(PermitsSpec { permits }))
            }
            AccountKeys { permits: None, per_minute: Some(per_minute), burst } => {
                Ok(Self::PerMinute(RateSpec { per_minute, burst }))
            }
            _ => Err("an account has `permits`, or `per_minute` with or without `burst`"),
        }
    }
}

/// So many at once.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PermitsSpec {
    /// How many.
    pub permits: u64,
}

/// So many a minute; starts full.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RateSpec {
    /// How many a minute.
    pub per_minute: u64,
    /// How many at once, an amount; a minute's worth unless told.
    #[serde(default)]
    pub burst: Option<u64>,
}

/// One job of a scenario.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Its name.
    pub id: String,
    /// When it arrives; with `after`, how long after that job's hold has ended.
    pub arrive_ms: Millis,
    /// What it must hold at once, by account.
    pub demand: BTreeMap<String, u64>,
    /// How long it holds, from its grant.
    pub hold_ms: Millis,
    /// When it is cancelled if it has not been granted, an instant of the scenario.
    #[serde(default)]
    pub cancel_ms: Option<Millis>,
    /// What metered accounts are charged in the end; the demand where it is not named.
    #[serde(default)]
    pub actual: BTreeMap<String, u64>,
    /// The job that has to end before this one arrives.
    #[serde(default)]
    pub after: Option<String>,
    /// Whose it is.
    #[serde(default)]
    pub workflow: Option<String>,
    /// What it costs, summed in the summary.
    #[serde(default)]
    pub cost: Option<Money>,
}

/// Milliseconds, with decimals to a nanosecond; written as they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(Time);

impl Millis {
    /// As an instant after the scenario's start.
    #[must_use]
    pub const fn at(self) -> Time {
        self.0
    }
}

/// The latest instant a scenario may name: 200 years, so that sums of two stay in range.
const MILLIS_MAX: f64 = 6.3e12;

/// The greatest sum of costs, in 1e-12 units, whatever their currencies: 1e24 units.
const COST_SUM_MAX: i128 = 1_000_000_000_000_000_000_000_000 * crate::PICO;

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(millis(self.0))
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ms = f64::deserialize(deserializer)?;
        if !(0.0..=MILLIS_MAX).contains(&ms) {
            let message = format!("{ms} is no time: milliseconds from 0 to {MILLIS_MAX}");
            return Err(serde::de::Error::custom(message));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "just checked")]
        Ok(Self(Time::from_nanos((ms * 1e6).round() as u64)))
    }
}

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// A rate or a number of permits out of range.
    #[error("accounts.{account}: {what} must be within 1 ..= {AMOUNT_MAX}, not {value}")]
    Amount {
        /// The account.
        account: String,
        /// Which of its keys.
        what: &'static str,
        /// What it says.
        value: u64,
    },
    /// Two jobs of one name.
    #[error("jobs: `{id}` stands twice; every job needs a name of its own")]
    DuplicateJob {
        /// The name.
        id: String,
    },
    /// A job names an account that the scenario doesn't have.
    #[error("job {id}: {key} names `{account}`, which is none of the scenario's accounts")]
    UnknownAccount {
        /// The job.
        id: String,
        /// `demand` or `actual`.
        key: &'static str,
        /// What it names.
        account: String,
    },
    /// A job says what it is charged on an account that it does not ask, or that is held.
    #[error(
        "job {id}: actual.{account} is charged, but the job asks no metered account of that name"
    )]
    ActualWithoutDemand {
        /// The job.
        id: String,
        /// The account.
        account: String,
    },
    /// A job waits for one that isn't there.
    #[error("job {id}: after names `{after}`, which is no job of the scenario")]
    UnknownAfter {
        /// The job.
        id: String,
        /// What it names.
        after: String,
    },
    /// Jobs wait for each other.
    #[error("job {id}: waits for itself by way of `after`")]
    Circle {
        /// One of them.
        id: String,
    },
    /// A weight of zero, or one without `fair`.
    #[error(
        "policy.weights.{workflow}: a weight is at least 1, and goes with `\"order\": \"fair\"`"
    )]
    Weight {
        /// The workflow.
        workflow: String,
    },
    /// A cost below zero, or a sum of costs past what money can tell.
    #[error("job {id}: cost is below zero, or the costs up to here add up past 1e24 units")]
    Cost {
        /// The job.
        id: String,
    },
    /// Readings out of order, or no share.
    #[error("memory[{index}]: readings go forward in time, each with a share from 0 to 10")]
    Memory {
        /// Which reading, from 0.
        index: usize,
    },
}

impl AccountSpec {
    /// The account, full.
    ///
    /// # Errors
    /// [`ScenarioError::Amount`] when a number is out of range.
    pub fn limit(&self, name: &str) -> Result<Limit, ScenarioError> {
        let check = |what, value| {
            if (1..=AMOUNT_MAX).contains(&value) {
                return Ok(value);
            }
            Err(ScenarioError::Amount { account: name.to_owned(), what, value })
        };
        match self {
            Self::Permits(spec) => Ok(Permits::new(check("permits", spec.permits)?).into()),
            Self::PerMinute(spec) => {
                let rate = check("per_minute", spec.per_minute)?;
                let burst = check("burst", spec.burst.unwrap_or(rate))?;
                let bucket = TokenBucket::new(Rate::per_minute(rate).burst(burst));
                Ok(bucket.expect("both numbers are in range").into())
            }
        }
    }
}

impl Scenario {
    /// Checks what the format alone does not.
    ///
    /// # Errors
    /// The first thing that is wrong, by its name and place.
    pub fn check(&self) -> Result<(), ScenarioError> {
        for (name, spec) in &self.accounts {
            spec.limit(name)?;
        }
        let fair = self.policy.order == OrderSpec::Fair;
        let mut weights = self.policy.weights.iter();
        if let Some((workflow, _)) = weights.find(|(_, weight)| **weight == 0 || !fair) {
            return Err(ScenarioError::Weight { workflow: workflow.clone() });
        }
        for (index, window) in self.memory.windows(2).enumerate() {
            if window[1].0 < window[0].0 {
                return Err(ScenarioError::Memory { index: index + 1 });
            }
        }
        if let Some(index) = self.memory.iter().position(|(_, share)| !(0.0..=10.0).contains(share))
        {
            return Err(ScenarioError::Memory { index });
        }
        let mut places = BTreeMap::new();
        for (place, job) in self.jobs.iter().enumerate() {
            if places.insert(job.id.as_str(), place).is_some() {
                return Err(ScenarioError::DuplicateJob { id: job.id.clone() });
            }
        }
        for job in &self.jobs {
            self.check_job(job)?;
        }
        self.check_costs()?;
        self.check_circles(&places)
    }

    fn check_job(&self, job: &JobSpec) -> Result<(), ScenarioError> {
        let id = || job.id.clone();
        for (key, names) in [("demand", &job.demand), ("actual", &job.actual)] {
            if let Some(account) = names.keys().find(|name| !self.accounts.contains_key(*name)) {
                let account = account.clone();
                return Err(ScenarioError::UnknownAccount { id: id(), key, account });
            }
        }
        let uncharged = |name: &&String| {
            let metered = matches!(self.accounts[*name], AccountSpec::PerMinute(_));
            !metered || job.demand.get(*name).is_none_or(|amount| *amount == 0)
        };
        if let Some(account) = job.actual.keys().find(uncharged) {
            let account = account.clone();
            return Err(ScenarioError::ActualWithoutDemand { id: id(), account });
        }
        Ok(())
    }

    /// Whichever jobs are granted, their costs can be summed.
    fn check_costs(&self) -> Result<(), ScenarioError> {
        let mut sum = 0_i128;
        for job in &self.jobs {
            let Some(cost) = job.cost else { continue };
            sum = sum.saturating_add(cost.pico());
            if cost.pico() < 0 || sum > COST_SUM_MAX {
                return Err(ScenarioError::Cost { id: job.id.clone() });
            }
        }
        Ok(())
    }

    fn check_circles(&self, places: &BTreeMap<&str, usize>) -> Result<(), ScenarioError> {
        // 0: not looked at, else the number of the walk that came by.
        let mut walked = vec![0_usize; self.jobs.len()];
        for start in 0..self.jobs.len() {
            let mut at = start;
            loop {
                if walked[at] == start + 1 {
                    return Err(ScenarioError::Circle { id: self.jobs[at].id.clone() });
                }
                if walked[at] != 0 {
                    break;
                }
                walked[at] = start + 1;
                let Some(after) = &self.jobs[at].after else {
                    break;
                };
                let Some(next) = places.get(after.as_str()) else {
                    let (id, after) = (self.jobs[at].id.clone(), after.clone());
                    return Err(ScenarioError::UnknownAfter { id, after });
                };
                at = *next;
            }
        }
        Ok(())
    }
}
