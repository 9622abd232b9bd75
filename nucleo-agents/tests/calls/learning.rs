//! What accounts learn from the heads of answers.

use nucleo_core::Span;

use crate::world::{Answer, World, status};

const FINE: &str = r#"{"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 20}}"#;

/// A good answer whose head says so much of the minute's requests.
fn says(limit: &str, remaining: &str) -> Answer {
    let headers =
        [("x-ratelimit-limit-requests", limit), ("x-ratelimit-remaining-requests", remaining)];
    let headers: Vec<_> = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    status(200, &headers, FINE)
}

/// The account of the minute's requests: 600 in the catalog.
fn requests(world: &World) -> nucleo_harness::admission::AccountStatus {
    let accounts = world.runtime.harness().admission().accounts();
    accounts.into_iter().find(|account| &*account.name == "scribe.requests").unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_run_at_within_what_the_catalog_says() {
    let world = World::new(|n| says(["60", "6000", "0", "many"][n], ""));
    assert_eq!((requests(&world).capacity, requests(&world).learnt), (599, false));
    world.call().await.unwrap();
    let learnt = requests(&world);
    assert_eq!((learnt.capacity, learnt.learnt), (59, true), "a tenth, the headroom's share kept");
    assert_eq!(learnt.available, 59, "the level is cut to the new capacity");
    world.pass(Span::from_secs(30)).await;
    world.call().await.unwrap();
    let back = requests(&world);
    assert_eq!((back.capacity, back.learnt), (599, false), "never above the catalog");
    for _ in 0..2 {
        world.call().await.unwrap();
        assert_eq!(requests(&world).capacity, 599, "what is no limit changes nothing");
    }
    world.nothing_is_held();
}

/// Others use the same quota: what remains there lowers our level, and never raises it.
#[tokio::test(start_paused = true)]
async fn what_remains_may_only_lower_a_level() {
    let world = World::new(|n| says("600", ["7", "500"][n]));
    world.call().await.unwrap();
    assert_eq!(requests(&world).available, 7);
    world.call().await.unwrap();
    assert_eq!(requests(&world).available, 6);
    world.nothing_is_held();
}

/// A word from before the last grant says nothing: of two answers under way together, the one to the
/// request that left first is not heard.
#[tokio::test(start_paused = true)]
async fn a_word_from_before_the_last_grant_is_not_heard() {
    let served = |n| async move {
        let span = std::time::Duration::from_secs([5, 1][n]);
        tokio::time::timeout(span, std::future::pending::<()>()).await.unwrap_err();
        says("600", ["3", "400"][n])
    };
    let world = World::served(crate::world::catalog(""), served, |builder| builder);
    let first = tokio::spawn(world.call());
    world.pass(Span::from_secs(1)).await;
    world.call().await.unwrap();
    assert_eq!(requests(&world).available, 400, "the second's is newer than every grant");
    first.await.unwrap().unwrap();
    assert!(requests(&world).available >= 400, "the first's is older than the second's grant");
}
