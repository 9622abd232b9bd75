//! The accounts that nucleo ships: one per file.
//!
//! - [`Permits`]: so many at once, held until the work ends;
//! - [`TokenBucket`]: so many a period, coming back with the clock, with a slow-down that answers
//!   pushback and an instant before which nothing goes;
//! - [`DailyQuota`]: so many a day, all of it back at midnight;
//! - [`ElasticWindow`]: so many in a window that stretches under pushback, with a circuit;
//! - [`Foreign`]: a user's own, its faults contained;
//! - [`RetryBudget`]: no account, but a bound on the retries at one model;
//! - [`Limit`]: the closed set of them, as the monitor holds them.
//!
//! Invariants: those of the contract (`account`); no account knows who waits.
//!
//! Not here: the line (`admission`), the memory gate (`memory`).

mod daily;
mod elastic_window;
mod foreign;
mod limit;
mod permits;
mod retry_budget;
mod throttle;
mod token_bucket;

pub use daily::DailyQuota;
pub use elastic_window::{ElasticWindow, WINDOW_MAX};
pub use foreign::Foreign;
pub use limit::Limit;
pub use permits::Permits;
pub use retry_budget::{RETRIES_A_MINUTE_DEFAULT, RETRY_PERCENT_DEFAULT, RetryBudget, RetryShare};
pub use token_bucket::{AMOUNT_MAX, Rate, RateError, TokenBucket};
