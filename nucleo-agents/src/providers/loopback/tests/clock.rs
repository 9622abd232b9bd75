//! The server's clock: the dates that it sends, and jumps in both directions.

use std::time::Duration;

use http::header::DATE;
use nucleo_core::Span;

use super::super::*;
use super::support::{ask, call, client, priced, raw};
use crate::wire::Streaming;

/// A server that began in 1994, of two requests a minute and one at a time.
fn old() -> LoopbackConfig {
    let quota = Quota::per_minute(Dimension::Requests, 2);
    let wall = || httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    LoopbackConfig::new([priced().quota(quota)]).wall_clock(wall)
}

async fn pass(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn every_answer_has_the_servers_date() {
    let rules = [
        FaultRule::new(When::Numbers([2].into()), Fault::ServerError),
        FaultRule::new(When::Numbers([3].into()), Fault::RateLimit(AskedWait::Date(60))),
        FaultRule::new(When::Numbers([4].into()), Fault::ClockJump { by_ms: -3_600_000 }),
    ];
    let engine = Engine::new(rules.into_iter().fold(old(), LoopbackConfig::fault)).unwrap();
    let mut dates = Vec::new();
    for streaming in [Streaming::Whole, Streaming::Pieces, Streaming::Whole, Streaming::Whole] {
        let answer = raw(&engine, "a question", streaming).await;
        dates.push(answer.headers()[DATE].to_str().unwrap()[17..25].to_owned());
        pass(10).await;
    }
    assert_eq!(dates, ["08:49:37", "08:49:47", "08:49:57", "07:50:07"]);
    assert_eq!(engine.ledger().faults["clock_jump"], 1);
    engine.jump_clock(i64::MAX);
    let date = raw(&engine, "a question", Streaming::Whole).await;
    assert_eq!(date.headers()[DATE], "Thu, 30 Dec 9999 22:00:00 GMT");
    engine.reset();
    let answer = raw(&engine, "a question", Streaming::Whole).await;
    assert_eq!(answer.headers()[DATE], "Sun, 06 Nov 1994 08:50:17 GMT", "set right");
}

#[tokio::test(start_paused = true)]
async fn a_jump_forward_fills_and_a_jump_backward_takes_no_time() {
    let engine = Engine::new(old()).unwrap();
    let client = client("http://loopback", engine.transport());
    let request = ask("a question", 10);
    let wait = async || match call(&client, &request).await {
        Ok(_) => None,
        Err(failure) => Some(failure.retry_after().expect("a quota says when")),
    };
    assert_eq!((wait().await, wait().await), (None, None));
    assert_eq!(wait().await, Some(Span::from_secs(30)));
    engine.jump_clock(-86_400_000);
    assert_eq!(wait().await, Some(Span::from_secs(30)), "the wait that it names is the wait");
    pass(29).await;
    assert_eq!(wait().await, Some(Span::from_secs(1)));
    pass(1).await;
    assert_eq!((wait().await, wait().await), (None, Some(Span::from_secs(30))));
    engine.jump_clock(10_000);
    assert_eq!(wait().await, Some(Span::from_secs(20)));
    engine.jump_clock(i64::MAX);
    assert_eq!((wait().await, wait().await), (None, None), "as much as its burst");
    assert_eq!(wait().await, Some(Span::from_secs(30)));
    engine.jump_clock(i64::MIN);
    pass(30).await;
    assert_eq!((wait().await, wait().await), (None, Some(Span::from_secs(30))));
}

#[tokio::test(start_paused = true)]
async fn a_jump_moves_neither_work_under_way_nor_a_script() {
    let latency = Latency { first_token_ms: (1_000, 1_000), per_token_us: 0 };
    let window = When::During { from_ms: 5_000, to_ms: 6_000 };
    let config = LoopbackConfig::new([priced().latency(latency)])
        .fault(FaultRule::new(window, Fault::ServerError));
    let engine = Engine::new(config).unwrap();
    let client = client("http://loopback", engine.transport());
    let request = ask("a question", 10);
    let began = tokio::time::Instant::now();
    let jumps = async {
        tokio::task::yield_now().await;
        engine.jump_clock(3_600_000);
        engine.jump_clock(-7_200_000);
    };
    let (reply, ()) = tokio::join!(call(&client, &request), jumps);
    assert!(reply.is_ok());
    assert_eq!(began.elapsed(), Duration::from_secs(1));
    engine.jump_clock(4_500);
    assert!(call(&client, &request).await.is_ok(), "its window has not come");
    pass(3).await;
    assert!(call(&client, &request).await.is_err(), "now it has");
}
