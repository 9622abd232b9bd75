//! Admission: the one place where a job waits.
//!
//! A job hands in one [`Demand`](crate::Demand): every account it must hold at once. It is granted
//! whole, or waits holding nothing, in a line ordered by arrival. The head's demand is set aside on
//! every account it names, so nobody takes what the head waits for; whoever fits beside that goes.
//!
//! - `monitor`: the rule, as a pure state machine;
//! - `order`, `settlement`: its vocabulary; `shares`: who is served when many share;
//! - `accounts`, `slots`: its tables; `attribution`: what the line waited on;
//! - `index`: the seam to the search; `classes` and its `tree`: the fast one, with the argument why
//!   it strands nobody; `naive`: the rule as it reads, the oracle that `tests/lockstep` runs beside.
//!
//! Why nobody is stranded: every input that can free something runs the line before the monitor is
//! left (the driving contract), the head is always among those tested, and what it waits for is
//! given to nobody else; so on each account the head names, the level only rises until it fits.
//! When the head goes, the next in order is the head.
//!
//! Not here: locks and wake-ups (`nucleo-harness`), money (`spend`).

mod accounts;
mod attribution;
mod classes;
mod index;
mod monitor;
mod naive;
mod order;
mod settlement;
mod shares;
mod slots;
mod tree;

pub use attribution::WaitedOn;
pub use classes::ByClass;
pub use index::Index;
pub use monitor::{AccountView, Action, Admitted, Learnt, Monitor, ShortOf, WhyWaiting};
pub use naive::Naive;
pub use order::{Order, Ticket};
pub use settlement::{Charge, Settlement};
pub use shares::{Policy, Protect};
