//! A provider's failure as the harness's signal.
//!
//! Invariants: the class decides the signal, the place where the call ended decides what comes back;
//! both are the failure's own answers, nothing is judged from its words.
//!
//! Not here: reading a provider's answer (`wire::failure`).

use nucleo_harness::attempt::{Ended, Failure, Signal};

use crate::wire::{CallFailure, EndsAt, FailureClass};

/// The failure, as the harness retries and settles it.
pub(crate) fn failure(call: CallFailure) -> Failure {
    let retry_after = call.retry_after();
    let signal = match call.class() {
        FailureClass::OutOfCredit => Signal::OutOfCredit,
        FailureClass::RateLimit => Signal::RateLimited { retry_after },
        FailureClass::Overload => Signal::Overloaded { retry_after },
        FailureClass::Transient => Signal::Transient { retry_after },
        FailureClass::Rejected => Signal::Permanent,
    };
    Failure::new(signal, ended(&call), call)
}

/// Where it ended.
pub(crate) const fn ended(call: &CallFailure) -> Ended {
    match call.ends_at() {
        EndsAt::Unconnected => Ended::CouldNotConnect,
        EndsAt::RateLimited => Ended::RateLimited,
        EndsAt::ErrorAnswer => Ended::WithError,
        EndsAt::FullAnswer => Ended::InFull,
        EndsAt::Incomplete => Ended::Incomplete,
    }
}
