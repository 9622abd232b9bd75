//! Races, votes and pipelines: who wins, what the losers cost, and that nothing is left.

use nucleo_agents::agent::{NobodyAnswered, pipeline, race, vote};
use nucleo_agents::prelude::*;
use serde_json::json;

use crate::world::{FINE_COSTS, World, answer, catalog, fine, status};

/// So many seconds later.
async fn later(seconds: u64) {
    let span = std::time::Duration::from_secs(seconds);
    tokio::time::timeout(span, std::future::pending::<()>()).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn the_losers_of_a_race_are_cancelled_and_paid() {
    // The first fails at once, the second answers after a second, the third would take an hour.
    let served = |n| async move {
        match n {
            0 => status(400, &[], "{}"),
            1 => {
                later(1).await;
                fine()
            }
            _ => {
                later(3_600).await;
                fine()
            }
        }
    };
    let world = World::served(catalog(""), served, |builder| builder);
    let began = world.now();
    let won = race((0..3).map(|_| world.call())).await;
    assert_eq!(won.unwrap(), "fine");
    assert_eq!(world.now().since(began), Span::from_secs(1));
    world.pass(Span::from_secs(60)).await;
    let totals = world.workflow.totals();
    assert_eq!(
        (totals.calls, totals.estimates),
        (2, 1),
        "the winner's, and the loser's reservation"
    );
    assert!(world.spent().pico() > FINE_COSTS.parse::<Money>().unwrap().pico());
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_race_that_nobody_wins_tells_every_error() {
    let world = World::new(|n| status([400, 404, 403][n], &[], "{}"));
    let NobodyAnswered { errors } = race((0..3).map(|_| world.call())).await.unwrap_err();
    let said: Vec<_> = errors
        .iter()
        .map(|error| std::error::Error::source(error).map(ToString::to_string).unwrap_or_default())
        .collect();
    for (said, status) in said.iter().zip(["400", "404", "403"]) {
        assert!(said.contains(status), "in the order of the calls: {said}");
    }
    let none = race(Vec::<std::future::Ready<Result<(), String>>>::new()).await.unwrap_err();
    assert_eq!(none.to_string(), "none of 0 calls answered");
}

#[tokio::test(start_paused = true)]
async fn a_vote_counts_equal_answers() {
    let world = World::new(|n| match n {
        1 => status(400, &[], "{}"),
        n => answer(json!({"content": if n == 2 { "no" } else { "yes" }}), "stop", true),
    });
    let vote = vote((0..5).map(|_| world.call())).await;
    assert_eq!(vote.answers, [("yes".to_owned(), 3), ("no".to_owned(), 1)]);
    assert_eq!((vote.majority().map(String::as_str), vote.errors.len()), (Some("yes"), 1));
    assert_eq!(world.workflow.totals().calls, 4);
}

#[tokio::test(start_paused = true)]
async fn stages_of_a_pipeline_do_not_wait_for_each_other() {
    async fn first(context: AgentContext, number: u64) -> Result<u64, AgentError> {
        context.model(Grade::Small).user(format!("{number}")).output(10).text().await?;
        Ok(number + 1)
    }
    async fn second(context: AgentContext, number: u64) -> Result<u64, AgentError> {
        context.model(Grade::Small).user(format!("{number}")).output(10).text().await?;
        if number == 3 { Err(AgentError::other("three")) } else { Ok(number * 10) }
    }
    let served = |_| async {
        later(1).await;
        fine()
    };
    let world = World::served(catalog(""), served, |builder| builder.connections(2));
    let agent = pipeline(pipeline(first, first), second);
    let report = world.workflow.fan_out([0, 1, 5], agent).ordered().collect().await;
    let answers: Vec<_> = report.answers().iter().map(|(_, answer)| *answer).collect();
    assert_eq!(answers, [20, 70]);
    assert_eq!(report.failed(), 1);
    let item = &report.failures()[0];
    assert_eq!(item.record.attempts, 3, "what each stage did is the item's");
    assert_eq!(
        world.now().since(nucleo_core::Time::ZERO),
        Span::from_secs(5),
        "nine calls, two places"
    );
    world.nothing_is_held();
}
