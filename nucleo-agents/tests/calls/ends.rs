//! Calls that are dropped, cancelled or shut down: nothing leaks, and each ends once.

use std::pin::pin;
use std::task::{Context, Waker};

use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::Grade;
use nucleo_agents::fan_out::Inputs;
use nucleo_agents::transport::BodyStream;
use nucleo_core::Span;
use nucleo_harness::attempt::JobError;

use crate::world::{Answer, FINE_COSTS, World, catalog, fine, status};

/// A server whose head and body each come only after a while, and whose first answer is a 500.
fn slow() -> World {
    let answer = |n: usize| async move {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        if n == 0 { status(500, &[], "{}") } else { in_pieces(fine()) }
    };
    World::served(catalog(""), answer, |builder| builder)
}

/// The same answer, in a body that is pending before each piece.
fn in_pieces(answer: Answer) -> Answer {
    answer.map(|head| {
        head.map(|body| {
            BodyStream::new(body.then(|piece| async {
                tokio::task::yield_now().await;
                piece
            }))
        })
    })
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_at_any_await_leaks_nothing() {
    let mut ended_after = None;
    for polls in 0..200 {
        let world = slow();
        {
            let mut call = pin!(world.call());
            let mut ended = false;
            for _ in 0..polls {
                if call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                    ended = true;
                    break;
                }
                // The attempt's own task goes on; once nothing is left to do, time does.
                tokio::task::yield_now().await;
                if polls % 2 == 1 {
                    world.pass(Span::from_secs(1)).await;
                }
            }
            if ended {
                ended_after.get_or_insert(polls);
            }
        }
        world.pass(Span::from_mins(2)).await;
        world.nothing_is_held();
    }
    assert!(ended_after.is_some(), "the last drops come after the end");
}

#[tokio::test(start_paused = true)]
async fn dropping_those_in_the_line_lets_the_others_go() {
    let pending = |_| std::future::pending();
    let world = World::served(catalog(", max_concurrent = 1"), pending, |builder| builder);
    let mut calls: Vec<_> = (0..5).map(|_| Box::pin(world.call())).collect();
    let mut context = Context::from_waker(Waker::noop());
    for call in &mut calls {
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    tokio::task::yield_now().await;
    assert_eq!(world.runtime.harness().admission().waiting(), 4);
    // The three in the middle leave; the first ends; the last goes at once.
    calls.drain(1..4);
    assert_eq!(world.runtime.harness().admission().waiting(), 1);
    drop(calls.remove(0));
    world.pass(Span::from_mins(1)).await;
    assert!(calls[0].as_mut().poll(&mut context).is_pending());
    tokio::task::yield_now().await;
    assert_eq!((world.asked(), world.runtime.harness().admission().waiting()), (2, 0));
    drop(calls);
    world.pass(Span::from_mins(1)).await;
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_workflow_ends_every_call_and_books_what_was_sent() {
    let pending = |_| std::future::pending();
    let world = World::served(catalog(", max_concurrent = 3"), pending, |builder| builder);
    let calls: Vec<_> = (0..5).map(|_| tokio::spawn(world.call())).collect();
    world.pass(Span::from_secs(1)).await;
    assert_eq!(world.asked(), 3);
    world.workflow.cancel();
    for ended in join_all(calls).await {
        let error = ended.unwrap().unwrap_err();
        assert!(matches!(error, AgentError::Job(JobError::Cancelled)), "{error:?}");
    }
    assert_eq!(world.workflow.totals().estimates, 3, "sent, and no answer: as reserved");
    assert!(world.spent().pico() > 0);
    world.nothing_is_held();
    let late = world.call().await.unwrap_err();
    assert!(matches!(late, AgentError::Job(JobError::Cancelled)), "{late:?}");
    assert_eq!(world.asked(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_fan_out_tells_what_its_items_paid() {
    async fn ask(context: AgentContext, number: usize) -> Result<String, AgentError> {
        if number == 0 {
            // Not a call of ours: nothing to book, and it is cut.
            std::future::pending::<()>().await;
        }
        context.model(Grade::Small).user("Hello").output(100).text().await
    }
    let pending = |_| std::future::pending();
    let world = World::served(catalog(""), pending, |builder| builder);
    let fan_out = world.workflow.fan_out(0..10, ask).max_in_flight(4);
    let collecting = tokio::spawn(fan_out.collect());
    world.pass(Span::from_secs(1)).await;
    assert_eq!(world.asked(), 3);
    world.workflow.cancel();
    let report = collecting.await.unwrap();
    assert_eq!((report.failed(), report.not_submitted()), (4, Some(6)), "{report}");
    assert!(
        report
            .failures()
            .iter()
            .all(|item| item.result.as_ref().unwrap_err().name() == "cancelled")
    );
    let items: i128 = report.tally().cost.iter().map(|cost| cost.pico()).sum();
    assert_eq!(items, world.spent().pico(), "the items' costs are the workflow's");
    assert_eq!(report.failures().iter().filter(|item| !item.record.cost.is_empty()).count(), 3);
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn dropping_a_fan_out_cancels_what_runs() {
    let pending = |_| std::future::pending();
    let world = World::served(catalog(""), pending, |builder| builder);
    async fn ask(context: AgentContext, _: usize) -> Result<String, AgentError> {
        context.model(Grade::Small).user("Hello").output(100).text().await
    }
    let collecting = tokio::spawn(world.workflow.fan_out(0..10, ask).collect());
    world.pass(Span::from_secs(1)).await;
    assert_eq!(world.asked(), 10);
    collecting.abort();
    world.pass(Span::from_mins(1)).await;
    world.nothing_is_held();
    assert_eq!(world.workflow.totals().estimates, 10);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_refuses_who_waits_and_ends_who_runs() {
    let pending = |_| std::future::pending();
    let world = World::served(catalog(", max_concurrent = 1"), pending, |builder| builder);
    let calls: Vec<_> = (0..3).map(|_| tokio::spawn(world.call())).collect();
    world.pass(Span::from_secs(1)).await;
    world.runtime.shutdown(Span::from_secs(5)).await;
    let ended = join_all(calls).await.into_iter().map(|ended| ended.unwrap().unwrap_err());
    let (mut refused, mut cut) = (0, 0);
    for error in ended {
        match error {
            AgentError::Job(JobError::ShutDown) => refused += 1,
            AgentError::Job(JobError::Cancelled) => cut += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused + cut, 3);
    assert!(refused >= 2, "whoever waits is told why");
    assert_eq!(world.workflow.totals().estimates, 1, "what had been sent is booked");
    world.nothing_is_held();
    let late = world.call().await.unwrap_err();
    assert!(matches!(late, AgentError::Job(JobError::ShutDown)), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn shutting_down_lets_what_runs_end_within_the_limit() {
    let later = |_| async {
        // A second, by tokio's paused clock.
        tokio::time::timeout(std::time::Duration::from_secs(1), std::future::pending::<()>())
            .await
            .unwrap_err();
        fine()
    };
    let world = World::served(catalog(""), later, |builder| builder);
    let call = tokio::spawn(world.call());
    tokio::task::yield_now().await;
    world.pass(Span::from_millis(10)).await;
    world.runtime.shutdown(Span::from_secs(5)).await;
    assert_eq!(call.await.unwrap().unwrap(), "fine");
    world.nothing_is_held();
}

/// Pays for one call, and never comes back.
async fn lingers(context: AgentContext, _: ()) -> Result<(), AgentError> {
    context.model(Grade::Small).user("Hello").output(100).text().await?;
    std::future::pending().await
}

/// Pays for one call, and panics.
async fn breaks(context: AgentContext, _: ()) -> Result<(), AgentError> {
    context.model(Grade::Small).user("Hello").output(100).text().await?;
    panic!("planned")
}

#[tokio::test(start_paused = true)]
async fn what_a_lost_child_paid_is_told_all_the_same() {
    let world = World::new(|_| fine());
    let parent = |context: AgentContext, panics: bool| async move {
        if panics {
            return context.run(breaks, ()).await;
        }
        let minute = std::time::Duration::from_secs(60);
        let gone = tokio::time::timeout(minute, context.run(lingers, ())).await;
        gone.map_err(AgentError::other)?
    };
    let report = world.workflow.fan_out([false, true], parent).collect().await;
    assert_eq!(report.failed(), 2, "{report}");
    for item in report.failures() {
        let told: Vec<_> = item.record.cost.iter().map(ToString::to_string).collect();
        assert_eq!(told, [FINE_COSTS], "{:?}", item.result);
    }
    world.nothing_is_held();
}

/// An item that dropped a call and was refused afterwards may have paid: it is not among those that go
/// on without paying twice.
#[tokio::test(start_paused = true)]
async fn an_item_that_dropped_a_call_may_have_paid() {
    async fn impatient(context: AgentContext, number: usize) -> Result<String, AgentError> {
        let call = context.model(Grade::Small).user("Hello").output(100).text();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), call).await;
        // More than the cap has left for it.
        context.model(Grade::Small).user(format!("{number}")).output(3_000).text().await
    }
    let never = |_| std::future::pending();
    let world = World::served(catalog(""), never, |builder| builder);
    world.workflow.set_cap(Some("0.02 USD".parse().unwrap()));
    let fan_out = world.workflow.fan_out(0..3, impatient).max_in_flight(1);
    let report = fan_out.refuse_at_once().collect().await;
    assert_eq!((report.refused(), report.not_submitted()), (1, Some(2)), "{report}");
    let interrupted: Vec<_> = report.interrupted().map(|item| item.index).collect();
    assert_eq!(interrupted, [0]);
    assert_eq!(report.rest().into_iterator().unwrap().collect::<Vec<_>>(), [1, 2]);
    world.pass(Span::from_secs(60)).await;
    assert!(world.spent().pico() > 0, "it was booked when it had ended");
    world.nothing_is_held();
}

/// Inputs that never come hold nobody: cancelled, shut down or too late, the fan-out ends.
#[tokio::test(start_paused = true)]
async fn a_fan_out_waits_for_no_input_after_its_end() {
    async fn ask(context: AgentContext, _: usize) -> Result<String, AgentError> {
        context.model(Grade::Small).user("Hello").output(100).text().await
    }
    for ends_by in ["cancel", "shutdown", "deadline"] {
        let world = World::new(|_| fine());
        let workflow = world.runtime.workflow("w").deadline(Span::from_secs(60)).start();
        let inputs = stream::iter([1]).chain(stream::pending());
        let fan_out = workflow.fan_out(Inputs::stream(inputs), ask).collect();
        let began = world.now();
        let fan_out = tokio::spawn(fan_out);
        world.pass(Span::from_secs(1)).await;
        assert!(!fan_out.is_finished(), "it waits for inputs");
        match ends_by {
            "cancel" => workflow.cancel(),
            "shutdown" => world.runtime.shutdown(Span::from_secs(1)).await,
            _ => world.pass(Span::from_secs(60)).await,
        }
        let report = fan_out.await.unwrap();
        assert_eq!((report.answered(), report.not_submitted()), (1, None), "{ends_by}");
        assert!(world.now().since(began) <= Span::from_secs(61), "{ends_by}");
        world.nothing_is_held();
    }
}
