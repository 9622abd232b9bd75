//! What calls wait for: siblings near a cap, the next midnight, a place.

use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::Grade;
use nucleo_core::{Span, Time};

use crate::world::{FINE_COSTS, World, catalog, fine};

async fn ask(context: AgentContext, _: usize) -> Result<String, AgentError> {
    context.model(Grade::Small).user("Hello").output(100).text().await
}

/// Answers a second after each request.
fn a_second_later(limits: &str) -> World {
    let answer = |_| async {
        let second = std::time::Duration::from_secs(1);
        tokio::time::timeout(second, std::future::pending::<()>()).await.unwrap_err();
        fine()
    };
    World::served(catalog(limits), answer, |builder| builder)
}

#[tokio::test(start_paused = true)]
async fn near_a_cap_calls_wait_for_their_siblings() {
    let world = a_second_later("");
    // Two reservations of about 0.001 USD; an answer costs a fifth of one.
    world.workflow.set_cap(Some("0.0021 USD".parse().unwrap()));
    let report = world.workflow.fan_out(0..5, ask).collect().await;
    assert_eq!((report.answered(), report.refused()), (5, 0), "{report}");
    assert!(world.now().since(Time::ZERO) >= Span::from_secs(2), "they took turns");
    let expected: nucleo_core::Money = FINE_COSTS.parse().unwrap();
    assert_eq!(world.spent().pico(), expected.pico() * 5);

    // What is left holds no further reservation once all have settled: that is a refusal.
    world.workflow.set_cap(Some("0.0015 USD".parse().unwrap()));
    let report = world.workflow.fan_out(0..5, ask).collect().await;
    assert_eq!((report.answered(), report.refused()), (0, 1), "{report}");
    assert_eq!(report.not_submitted(), Some(4));
    assert!(!report.refusals()[0].waiting_helps);
    world.nothing_is_held();
}

/// What an ended item left behind waits for money: nothing is pulled meanwhile, and all is after.
#[tokio::test(start_paused = true)]
async fn a_fan_out_is_not_over_while_what_it_left_behind_waits() {
    async fn leaves(context: AgentContext, number: usize) -> Result<usize, AgentError> {
        // Enough for one of them at a time: the other waits.
        let two = [0, 1].map(|_| context.submit(ask, number).start());
        tokio::task::yield_now().await;
        drop(two);
        Ok(number)
    }
    let world = a_second_later("");
    world.workflow.set_cap(Some("0.0015 USD".parse().unwrap()));
    let report = world.workflow.fan_out(0..2, leaves).max_in_flight(1).collect().await;
    assert_eq!((report.answered(), report.not_submitted()), (2, Some(0)), "{report}");
    world.pass(Span::from_secs(10)).await;
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn refusing_at_once_stops_where_reservations_end() {
    let world = a_second_later("");
    world.workflow.set_cap(Some("0.0215 USD".parse().unwrap()));
    let report = world.workflow.fan_out(0..1_000, ask).refuse_at_once().collect().await;
    let refusal = &report.refusals()[0];
    let fit = refusal.cap.pico() / refusal.reservation.unwrap().pico();
    assert_eq!(report.answered() as i128, fit, "{report}");
    assert_eq!((report.refused(), refusal.siblings as i128), (1, fit), "{report}");
    assert_eq!(report.not_submitted(), Some(1_000 - report.answered() - 1));
    assert!(refusal.waiting_helps, "its siblings settle for less");
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_daily_quota_is_filled_at_midnight() {
    let world = World::served(
        catalog(r#", requests_per_day = 3, zone = "Asia/Tokyo""#),
        |_| std::future::ready(fine()),
        |builder| builder,
    );
    let begun = world.now();
    for _ in 0..3 {
        world.call().await.unwrap();
    }
    assert_eq!(world.now().since(begun), Span::ZERO);
    let admission = world.runtime.harness().admission().clone();
    assert_eq!(available(&admission), 0);
    world.call().await.unwrap();
    let waited = world.now().since(begun);
    assert!(waited > Span::ZERO && waited <= Span::from_mins(24 * 60), "{waited}");
    let wall = world.runtime.harness().clock().wall().as_nanos() / 1_000_000_000;
    let of_day = (wall + 9 * 3_600) % 86_400;
    assert!(of_day < 2, "it is midnight in Tokyo: {of_day} s");
    assert_eq!(available(&admission), 2);
    world.nothing_is_held();
}

fn available(admission: &nucleo_harness::admission::Admission) -> i128 {
    let accounts = admission.accounts();
    let daily = accounts.iter().find(|account| &*account.name == "scribe.requests_per_day");
    daily.expect("the catalog names it").available
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_are_as_many_as_the_catalog_says() {
    let world = a_second_later(", max_concurrent = 4");
    let report = world.workflow.fan_out(0..20, ask).collect().await;
    assert_eq!(report.answered(), 20);
    let took = world.now().since(Time::ZERO);
    assert!(took >= Span::from_secs(5) && took < Span::from_millis(5_500), "{took}");
    let waits = &report.tally().waits["scribe.concurrent"];
    assert_eq!(waits.jobs, 16, "{:?}", report.tally());
    world.nothing_is_held();
}
