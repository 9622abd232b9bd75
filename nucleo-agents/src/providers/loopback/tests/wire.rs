//! What only a real connection shows: ends that are no ends, clients that go, requests that are
//! counted where they arrive.

use super::super::*;
use super::support::{ask, call, priced, serve, until};
use crate::wire::{EndsAt, FailureClass, Hints, Streaming};

const FORMS: [Streaming; 2] = [Streaming::Whole, Streaming::Pieces];

#[tokio::test]
async fn an_answer_whose_connection_breaks_at_its_end_is_an_answer() {
    for streaming in FORMS {
        for output in [1, 100, 20_000] {
            let rule = FaultRule::new(When::First(1), Fault::ResetAtEnd);
            let (server, client) = serve(LoopbackConfig::new([priced()]).fault(rule)).await;
            let request = ask("a question of some words", 50_000).streaming(streaming);
            let request = request.hints(Hints::output_tokens(output));
            let reply = call(&client, &request).await.unwrap();
            assert_eq!(reply.usage.unwrap().output, output, "{streaming:?}");
            assert_eq!(reply.text.len() as u64, output * 4, "{streaming:?}");
            let again = call(&client, &request).await.unwrap();
            assert_eq!(reply.text, again.text, "{streaming:?}: over a connection of its own");
            let ledger = server.ledger();
            assert_eq!((ledger.requests, ledger.answered), (2, 2), "{streaming:?}");
            assert_eq!(ledger.output_tokens, 2 * output, "paid once each");
        }
    }
}

#[tokio::test]
async fn an_error_inside_leaves_the_connection_whole() {
    for streaming in FORMS {
        for (after, ends_at) in
            [(InsideAfter::Nothing, EndsAt::ErrorAnswer), (InsideAfter::Half, EndsAt::Incomplete)]
        {
            let fault = Fault::ErrorInside { says: InsideError::Overload, after };
            let rule = FaultRule::new(When::First(1), fault);
            let (server, client) = serve(LoopbackConfig::new([priced()]).fault(rule)).await;
            let request = ask("a question of some words", 200).streaming(streaming);
            let request = request.hints(Hints::output_tokens(100));
            let failure = call(&client, &request).await.unwrap_err();
            assert_eq!((failure.name(), failure.ends_at()), ("streamed_error", ends_at));
            assert_eq!(failure.class(), FailureClass::Overload);
            assert!(call(&client, &request).await.is_ok(), "{streaming:?}");
            assert_eq!(server.ledger().requests, 2);
        }
    }
}

/// Whoever retries must be able to count: nobody below a call does it for him.
#[tokio::test]
async fn one_call_is_one_request_whatever_is_answered() {
    let faults = [
        Fault::RateLimit(AskedWait::Unsaid),
        Fault::RateLimit(AskedWait::ZERO),
        Fault::ServerError,
        Fault::Overloaded(AskedWait::ZERO),
        Fault::Unavailable(AskedWait::ZERO),
        Fault::WebPage,
        Fault::Reset,
        Fault::Truncate,
        Fault::MalformedJson,
    ];
    for fault in faults {
        let rule = FaultRule::new(When::PerMillion(1_000_000), fault);
        let (server, client) = serve(LoopbackConfig::new([priced()]).fault(rule)).await;
        let request = ask("a question", 20);
        for calls in 1..=5 {
            assert!(call(&client, &request).await.is_err(), "{fault:?}");
            let ended = |ledger: &Ledger| {
                ledger.answered + ledger.failed + ledger.http_429 == ledger.requests
            };
            let ledger = until(server.engine(), ended).await;
            assert_eq!(ledger.requests, calls, "{fault:?}");
            assert_eq!(ledger.faults[fault.name()], calls, "{fault:?}");
        }
    }
}
