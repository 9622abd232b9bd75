//! Admission: the async shell around the monitor.
//!
//! - [`Admission`]: the handle; [`Admit`]: the future that waits; [`Grant`]: what it ends with;
//! - `shared`: the lock; `seats`: where outcomes are picked up.
//!
//! Invariants: decisions are made under the lock, wakers are called after it; nothing polls: the
//! thread that changed something runs the line, and one task sleeps until the earliest deadline.
//!
//! Not here: the rule itself (`nucleo_core::admission`), the timer task (`runtime`).

mod admit;
mod handle;
mod heard;
mod seats;
mod shared;

pub use admit::{Admit, Ending, Grant};
pub use handle::{AccountHandle, AccountStatus, Admission};
pub use heard::LimiterEvents;
pub(crate) use shared::{Shared, panic_text};
