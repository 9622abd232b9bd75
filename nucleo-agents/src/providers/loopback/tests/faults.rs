//! Every fault in virtual time: what a client makes of it, and what the server bills for it.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use futures_util::StreamExt as _;
use nucleo_core::Span;
use tokio::time::Instant;

use super::super::*;
use super::support::{ask, call, client, priced, raw};
use crate::wire::EndsAt::{ErrorAnswer, FullAnswer, Incomplete, RateLimited};
use crate::wire::FailureClass::{OutOfCredit, Overload, RateLimit, Transient};
use crate::wire::{ChatRequest, EndsAt, FailureClass, Hints, Streaming};

const QUESTION: &str = "a question of some words";
const INPUT: u64 = 6 + TOKENS_A_MESSAGE;
const OUTPUT: u64 = 100;

/// What a call came to: a reply with its usage, a failure, or nothing within an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Came {
    Reply(Option<(u64, u64)>),
    Fails(&'static str, FailureClass, EndsAt),
    Nothing,
}

use Came::{Fails, Nothing, Reply};

const fn inside(says: InsideError, after: InsideAfter) -> Fault {
    Fault::ErrorInside { says, after }
}

const ALL: Option<(u64, u64)> = Some((INPUT, OUTPUT));
const UNSAID: AskedWait = AskedWait::Unsaid;

/// A fault, what comes of it, and the tokens on the bill, of a whole answer and of a streamed one.
type Row = (Fault, Came, [(u64, u64); 2]);

fn table() -> Vec<Row> {
    use InsideAfter::{Half, Nothing as Before};
    use InsideError::{Overload as Busy, RateLimit as Limit, ServerError};
    let both = |bill| [bill, bill];
    let (free, input) = (both((0, 0)), both((INPUT, 0)));
    let (half, all) = (both((INPUT, OUTPUT / 2)), both((INPUT, OUTPUT)));
    vec![
        (Fault::RateLimit(UNSAID), Fails("rate_limited", RateLimit, RateLimited), free),
        (Fault::OutOfCredit, Fails("out_of_credit", OutOfCredit, ErrorAnswer), free),
        (Fault::Overloaded(UNSAID), Fails("overloaded", Overload, ErrorAnswer), free),
        (Fault::ServerError, Fails("server_error", Transient, ErrorAnswer), free),
        (Fault::Unavailable(UNSAID), Fails("overloaded", Overload, ErrorAnswer), free),
        (Fault::Reset, Fails("broken", Transient, Incomplete), free),
        (Fault::WebPage, Fails("html", Transient, ErrorAnswer), free),
        (Fault::Silent, Nothing, input),
        (Fault::Stall, Nothing, input),
        (Fault::KeepAlive, Nothing, input),
        (Fault::Truncate, Fails("broken", Transient, Incomplete), half),
        (Fault::ResetAtEnd, Reply(ALL), all),
        (inside(Limit, Before), Fails("streamed_error", RateLimit, ErrorAnswer), free),
        (inside(Busy, Before), Fails("streamed_error", Overload, ErrorAnswer), free),
        (inside(ServerError, Before), Fails("streamed_error", Transient, ErrorAnswer), free),
        (inside(Limit, Half), Fails("streamed_error", RateLimit, Incomplete), half),
        (inside(Busy, Half), Fails("streamed_error", Overload, Incomplete), half),
        (inside(ServerError, Half), Fails("streamed_error", Transient, Incomplete), half),
        (Fault::MissingUsage, Reply(None), all),
        (Fault::RunningUsage, Reply(ALL), all),
        // A stream's client leaves at the event that it can't read: of 16 tokens, the fourth.
        (
            Fault::MalformedJson,
            Fails("unreadable", Transient, FullAnswer),
            [(INPUT, OUTPUT), (INPUT, 64)],
        ),
        (Fault::DoubledUsage, Reply(Some((2 * INPUT, 2 * OUTPUT))), both((2 * INPUT, 2 * OUTPUT))),
        (Fault::ClockJump { by_ms: -86_400_000 }, Reply(ALL), all),
    ]
}

fn question(streaming: Streaming) -> ChatRequest {
    ask(QUESTION, 200).streaming(streaming).hints(Hints::output_tokens(OUTPUT))
}

fn paced() -> LoopbackModel {
    priced().latency(Latency { first_token_ms: (100, 100), per_token_us: 1_000 })
}

async fn came(engine: &Engine, request: &ChatRequest) -> Came {
    let client = client("http://loopback", engine.transport());
    let hour = Duration::from_secs(3_600);
    match tokio::time::timeout(hour, call(&client, request)).await {
        Err(_) => Nothing,
        Ok(Ok(reply)) => Reply(reply.usage.map(|usage| (usage.input, usage.output))),
        Ok(Err(failure)) => {
            let usage = failure.usage();
            assert_eq!(usage, None, "no fault tells usage and then fails: {failure:?}");
            Fails(failure.name(), failure.class(), failure.ends_at())
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_of_every_fault_and_what_it_costs() {
    for (place, streaming) in [Streaming::Whole, Streaming::Pieces].into_iter().enumerate() {
        for (fault, expected, bills) in table() {
            let what = format!("{fault:?} {streaming:?}");
            let rule = FaultRule::new(When::First(1), fault);
            let quota = Quota::per_day(Dimension::Tokens, 10_000);
            let model = paced().quota(quota).concurrent_max(1);
            let engine = Engine::new(LoopbackConfig::new([model]).fault(rule)).unwrap();
            let request = question(streaming);
            assert_eq!(came(&engine, &request).await, expected, "{what}");
            let ledger = engine.ledger();
            assert_eq!((ledger.input_tokens, ledger.output_tokens), bills[place], "{what}");
            assert_eq!(ledger.faults, [(fault.name(), 1)].into(), "{what}");
            let ended = (ledger.answered, ledger.http_429, ledger.failed);
            let ends = match expected {
                Reply(_) => (1, 0, 0),
                Fails("rate_limited" | "out_of_credit", ..) => (0, 1, 0),
                Fails("unreadable", ..) if streaming == Streaming::Whole => (1, 0, 0),
                Fails(..) | Nothing => (0, 0, 1),
            };
            assert_eq!(ended, ends, "{what}");
            assert_eq!(came(&engine, &request).await, Reply(ALL), "the first one's only: {what}");
            assert_eq!(engine.ledger().faults, [(fault.name(), 1)].into(), "{what}");
        }
    }
}

#[test]
fn the_table_has_every_fault_and_each_has_a_name() {
    let names: BTreeSet<_> = table().iter().map(|(fault, ..)| fault.name()).collect();
    assert_eq!(names.len(), 19, "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fault_strikes_however_short_the_answer_is() {
    let half = inside(InsideError::ServerError, InsideAfter::Half);
    for output in [1_u64, 2, 3, 10, 16, 17, 32, 33, 100] {
        for (fault, billed) in
            [(Fault::Truncate, output / 2), (half, output.div_ceil(2)), (Fault::ResetAtEnd, output)]
        {
            for streaming in [Streaming::Whole, Streaming::Pieces] {
                let rule = FaultRule::new(When::First(1), fault);
                let engine = Engine::new(LoopbackConfig::new([paced()]).fault(rule)).unwrap();
                let request = question(streaming).hints(Hints::output_tokens(output));
                let what = format!("{fault:?} {streaming:?} of {output}");
                match came(&engine, &request).await {
                    Fails(_, _, Incomplete) => assert_ne!(fault, Fault::ResetAtEnd, "{what}"),
                    Reply(Some((_, whole))) => {
                        assert_eq!((fault, whole), (Fault::ResetAtEnd, output), "{what}");
                    }
                    other => panic!("{other:?}: {what}"),
                }
                assert_eq!(engine.ledger().output_tokens, billed, "{what}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn signs_of_life_come_every_fifteen_seconds_and_nothing_else() {
    for (streaming, sign) in [(Streaming::Whole, "\n"), (Streaming::Pieces, ": keep-alive\n\n")] {
        let rule = FaultRule::new(When::First(1), Fault::KeepAlive);
        let engine = Engine::new(LoopbackConfig::new([paced()]).fault(rule)).unwrap();
        let began = Instant::now();
        let answer = raw(&engine, QUESTION, streaming).await;
        assert_eq!(answer.status(), 200, "the head comes at once");
        let mut body = answer.into_body();
        for signs in 1..=100 {
            assert_eq!(body.next().await.unwrap().unwrap(), sign);
            assert_eq!(began.elapsed(), Duration::from_secs(15 * signs));
        }
        assert_eq!(engine.ledger().failed, 0, "as long as the client stays");
        drop(body);
        assert_eq!((engine.ledger().failed, engine.ledger().input_tokens), (1, INPUT));
    }
}

#[tokio::test(start_paused = true)]
async fn running_usage_is_a_total_and_holds_when_the_client_leaves() {
    struct Last(Option<(u64, u64)>);
    impl crate::wire::CallWatch for Last {
        fn usage(&mut self, usage: nucleo_core::Usage) {
            self.0 = Some((usage.input, usage.output));
        }
    }
    use crate::providers::Provider as _;
    let rule = FaultRule::new(When::First(1), Fault::RunningUsage);
    let engine = Engine::new(LoopbackConfig::new([paced()]).fault(rule)).unwrap();
    let client = client("http://loopback", engine.transport());
    let (request, mut last) = (question(Streaming::Pieces), Last(None));
    let leaves = Duration::from_millis(150);
    assert!(tokio::time::timeout(leaves, client.call(&request, &mut last)).await.is_err());
    assert_eq!(last.0, Some((INPUT, 48)), "three events of 16 tokens had come");
    assert_eq!(engine.ledger().output_tokens, 50, "the server had made two more");
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_asked_in_any_form_and_understood() {
    for (wait, ms) in [
        (AskedWait::Unsaid, None),
        (AskedWait::Garbage, None),
        (AskedWait::Millis(1_500), Some(1_500)),
        (AskedWait::Millis(0), Some(0)),
        (AskedWait::Seconds(30), Some(30_000)),
        (AskedWait::ZERO, Some(0)),
        (AskedWait::A_DAY, Some(86_400_000)),
        (AskedWait::Both(1_500), Some(2_000)),
        (AskedWait::Date(30), Some(30_000)),
        (AskedWait::Date(0), Some(0)),
        (AskedWait::Date(-30), Some(0)),
        (AskedWait::Date(86_400), Some(86_400_000)),
    ] {
        for fault in [Fault::RateLimit(wait), Fault::Overloaded(wait), Fault::Unavailable(wait)] {
            // A server whose clock is decades behind, and hours off from there.
            for jumped_ms in [0, 5 * 3_600_000, -5 * 3_600_000] {
                let wall = || httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
                let config = LoopbackConfig::new([priced()]).wall_clock(wall);
                let rule = FaultRule::new(When::First(1), fault);
                let engine = Engine::new(config.fault(rule)).unwrap();
                engine.jump_clock(jumped_ms);
                let client = client("http://loopback", engine.transport());
                let failure = call(&client, &question(Streaming::Whole)).await.unwrap_err();
                assert_eq!(failure.retry_after(), ms.map(Span::from_millis), "{fault:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn scripts_by_number_by_every_nth_and_by_time() {
    let config = LoopbackConfig::new([paced()])
        .fault(FaultRule::new(When::Numbers([2].into()), Fault::Reset))
        .fault(FaultRule::new(When::Every(NonZeroU64::new(3).unwrap()), Fault::ServerError))
        .fault(FaultRule::new(When::During { from_ms: 1_000, to_ms: 1_600 }, Fault::WebPage));
    let engine = Engine::new(config).unwrap();
    let request = question(Streaming::Whole);
    for round in ["at the start", "after a reset"] {
        let mut told = String::new();
        // An answer takes 200 ms, a fault none.
        for _ in 0..14 {
            told.push(match came(&engine, &request).await {
                Reply(_) => '.',
                Fails("broken", ..) => 'r',
                Fails("server_error", ..) => 'e',
                Fails("html", ..) => 'w',
                other => panic!("{other:?}"),
            });
        }
        // Answers 1, 4, 5, 7, 8: 1,000 ms. Time stands still under the faults that follow.
        assert_eq!(told, ".re..e..ewweww", "{round}");
        let faults = engine.ledger().faults;
        assert_eq!(faults["reset"], 1, "{round}");
        engine.jump_clock(3_600_000);
        engine.reset();
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_a_refused_request_is_not_played() {
    let model = priced().quota(Quota::per_minute(Dimension::Requests, 1));
    let rule = FaultRule::new(When::First(9), Fault::MissingUsage);
    let engine = Engine::new(LoopbackConfig::new([model]).fault(rule)).unwrap();
    let request = question(Streaming::Whole);
    assert_eq!(came(&engine, &request).await, Reply(None));
    assert_eq!(came(&engine, &request).await, Fails("rate_limited", RateLimit, RateLimited));
    assert_eq!(engine.ledger().faults, [("no_usage", 1)].into());
}
