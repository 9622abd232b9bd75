//! Classification as a table: status, typed kind, typed code, and what follows.

use super::*;
use crate::transport::BrokenAt;

fn judged(status: u16, kind: &str, code: &str) -> (FailureClass, EndsAt) {
    let word = |word: &str| (!word.is_empty()).then(|| word.into());
    let failure = CallFailure::from_answer(ErrorAnswer {
        status,
        kind: word(kind),
        code: word(code),
        said: Some(ServerSaid::new("the service is overloaded, insufficient_quota, slow down")),
        ..ErrorAnswer::default()
    });
    (failure.class(), failure.ends_at())
}

#[test]
fn the_order_of_classification() {
    use FailureClass::{OutOfCredit, Overload, RateLimit, Rejected, Transient};
    for (status, kind, code, class) in [
        (429, "insufficient_quota", "insufficient_quota", OutOfCredit),
        (400, "invalid_request_error", "billing_hard_limit_reached", OutOfCredit),
        (402, "", "", OutOfCredit),
        (429, "tokens", "rate_limit_exceeded", RateLimit),
        (429, "overloaded_error", "", RateLimit),
        (429, "", "", RateLimit),
        (529, "", "", Overload),
        (503, "overloaded_error", "", Overload),
        (503, "server_error", "engine_overloaded", Overload),
        (503, "", "", Transient),
        (500, "overloaded_error", "", Transient),
        (502, "", "", Transient),
        (400, "", "", Rejected),
        (401, "", "invalid_api_key", Rejected),
        (403, "", "", Rejected),
        (404, "", "model_not_found", Rejected),
        (408, "", "", Rejected),
        (413, "", "", Rejected),
        (422, "", "", Rejected),
        (302, "", "", Rejected),
    ] {
        let ends_at = if class == RateLimit { EndsAt::RateLimited } else { EndsAt::ErrorAnswer };
        assert_eq!(judged(status, kind, code), (class, ends_at), "{status} {kind} {code}");
    }
}

#[test]
fn where_the_others_end() {
    let cut = TransportError::broken(BrokenAt::InBody, "cut");
    let usage = Some(Usage { input: 3, ..Usage::default() });
    let streamed = |after, usage| CallFailure::StreamedError {
        class: FailureClass::Transient,
        code: None,
        after,
        usage,
        said: None,
    };
    for (failure, ends_at) in [
        (CallFailure::CouldNotConnect(TransportError::connect("no")), EndsAt::Unconnected),
        (CallFailure::Broken { missing: "the rest", usage, source: Some(cut) }, EndsAt::Incomplete),
        (CallFailure::Unreadable { missing: "choices", usage: None }, EndsAt::FullAnswer),
        (CallFailure::Html { status: 200, content_type: "text/html".into() }, EndsAt::ErrorAnswer),
        (streamed(StreamedAfter::Nothing, None), EndsAt::ErrorAnswer),
        (streamed(StreamedAfter::Nothing, usage), EndsAt::Incomplete),
        (streamed(StreamedAfter::Text, None), EndsAt::Incomplete),
    ] {
        assert_eq!(failure.ends_at(), ends_at, "{failure:?}");
        assert_eq!(failure.class(), FailureClass::Transient, "{failure:?}");
    }
}

#[test]
fn display_is_one_fragment_that_says_what_to_do() {
    let waits = CallFailure::RateLimited {
        retry_after: Some(Span::from_millis(1_500)),
        said: Some(ServerSaid::new("Slow down.")),
    };
    assert_eq!(waits.to_string(), "rate limited: ask again in 1.5s; the server said: Slow down.");
    let rejected = CallFailure::from_answer(ErrorAnswer { status: 401, ..ErrorAnswer::default() });
    assert_eq!(rejected.to_string(), "rejected with status 401: check the API key");
    let unreached = CallFailure::CouldNotConnect(TransportError::connect("refused"));
    assert_eq!(unreached.to_string(), "the server was not reached");
}

#[test]
fn failures_stay_small() {
    assert!(size_of::<CallFailure>() <= 112, "{}", size_of::<CallFailure>());
}
