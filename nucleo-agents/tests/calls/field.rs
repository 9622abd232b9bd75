//! Faults that limiters have had in the field, tried on whole calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use nucleo_agents::agent::{AgentContext, AgentError};
use nucleo_agents::catalog::Grade;
use nucleo_agents::transport::{BodyStream, BrokenAt, TransportError};
use nucleo_core::{Span, Time};
use nucleo_harness::attempt::RetryPolicy;

use crate::world::{Answer, World, catalog, fine, status};

/// So many seconds later.
async fn later(seconds: u64) {
    let span = std::time::Duration::from_secs(seconds);
    tokio::time::timeout(span, std::future::pending::<()>()).await.unwrap_err();
}

/// A server with so many connections that answers its n-th request so.
fn with<F>(connections: u64, answer: impl Fn(usize) -> F + Send + Sync + 'static) -> World
where
    F: Future<Output = Answer> + Send + 'static,
{
    World::served(catalog(""), answer, move |builder| builder.connections(connections))
}

async fn ask(context: AgentContext, number: usize) -> Result<usize, AgentError> {
    context.model(Grade::Small).user("Hello").output(100).text().await?;
    Ok(number)
}

/// A parent whose cap has room for five calls delegates eight at once: five run, three are refused
/// before anything is sent.
#[tokio::test(start_paused = true)]
async fn parallel_delegations_are_counted_before_they_run() {
    let world = with(100, |_| async {
        later(1).await;
        fine()
    });
    world.workflow.set_cap(Some("0.0055 USD".parse().unwrap()));
    let children = (0..8).map(|n| world.workflow.run(ask, n));
    let ends = join_all(children).await;
    let refused = ends.iter().filter(|end| matches!(end, Err(error) if error.refusal().is_some()));
    assert_eq!((refused.count(), world.asked()), (3, 5));
    assert_eq!(world.workflow.refusals()[0].siblings, 5);
}

/// Ten places and two hundred calls that end, by turns, without a connection, in a 502, in a body
/// that never comes and in a panic: all ten are there afterwards.
#[tokio::test(start_paused = true)]
async fn no_way_to_end_keeps_a_place() {
    let world = with(10, |n| async move {
        later(1).await;
        match n % 3 {
            0 => Err(TransportError::connect("nobody listens here")),
            1 => status(502, &[], "{}"),
            _ => Ok(http::Response::new(BodyStream::new(futures_util::stream::pending()))),
        }
    });
    async fn call(context: AgentContext, number: usize) -> Result<usize, AgentError> {
        let call = context.model(Grade::Small).user("Hello").output(100).retry(RetryPolicy::NEVER);
        let call = call.timeout(Span::from_secs(30)).text();
        if number % 4 == 3 {
            let (call, panic) = (Box::pin(call), Box::pin(later(1)));
            drop(futures_util::future::select(call, panic).await);
            // A panic that says nothing on the terminal.
            std::panic::resume_unwind(Box::new("while it calls"));
        }
        call.await.map(|_| number)
    }
    let report = world.workflow.fan_out(0..200, call).collect().await;
    assert_eq!((report.answered(), report.failed()), (0, 200));
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for item in report.failures() {
        *ends.entry(item.result.as_ref().unwrap_err().name()).or_default() += 1;
    }
    assert_eq!(ends.keys().collect::<Vec<_>>(), [&"panicked", &"timed_out", &"transient"]);
    world.pass(Span::from_secs(30)).await;
    world.nothing_is_held();
}

/// Twelve are cancelled while they wait and six while they run: the next starts at once.
#[tokio::test(start_paused = true)]
async fn the_cancelled_make_room_at_once() {
    let world = with(10, |_| async {
        later(60).await;
        fine()
    });
    let calls: Vec<_> = (0..30).map(|_| tokio::spawn(world.call())).collect();
    world.pass(Span::from_secs(1)).await;
    assert_eq!((world.asked(), world.runtime.harness().admission().waiting()), (10, 20));
    for call in calls[4..22].iter() {
        call.abort();
    }
    world.pass(Span::from_millis(1)).await;
    assert_eq!(world.asked(), 16, "six places, for those after the twelve");
    assert_eq!(world.runtime.harness().admission().waiting(), 2);
    let answered = join_all(calls).await.into_iter().filter(|end| matches!(end, Ok(Ok(_))));
    assert_eq!(answered.count(), 12);
    world.nothing_is_held();
}

/// Ten that run into their timeout together give ten places back in the same instant.
#[tokio::test(start_paused = true)]
async fn timeouts_that_come_together_free_all_places() {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&begun);
    let origin = tokio::time::Instant::now();
    let world = with(10, move |n| {
        seen.lock().unwrap().push(origin.elapsed().as_secs());
        async move {
            if n < 10 {
                std::future::pending::<()>().await;
            }
            fine()
        }
    });
    let call = || {
        let call = world.workflow.context().model(Grade::Small).user("Hello").output(100);
        tokio::spawn(call.timeout(Span::from_secs(60)).text())
    };
    let calls: Vec<_> = (0..20).map(|_| call()).collect();
    let ends = join_all(calls).await;
    assert_eq!(ends.iter().filter(|end| matches!(end, Ok(Ok(_)))).count(), 10);
    assert_eq!(*begun.lock().unwrap(), [[0; 10], [60; 10]].concat());
    world.nothing_is_held();
}

/// Overloaded twice, then well: tried again as a failure of the server's is.
#[tokio::test(start_paused = true)]
async fn an_overload_is_tried_again() {
    let world = World::new(|n| match n {
        0 | 1 => status(529, &[], "{}"),
        _ => fine(),
    });
    world.call().await.unwrap();
    assert_eq!(world.asked(), 3);
}

/// A caller's own number of retries is the number that is made.
#[tokio::test(start_paused = true)]
async fn as_many_retries_as_were_asked_for() {
    let world = World::new(|n| if n < 3 { status(500, &[], "{}") } else { fine() });
    let call = world.workflow.context().model(Grade::Small).user("Hello").output(100);
    call.retry(RetryPolicy { failures: 5, ..RetryPolicy::default() }).text().await.unwrap();
    assert_eq!(world.asked(), 4);
}

/// Five hundred calls over ten places: the wait is the line's, and no call's timeout counts it.
#[tokio::test(start_paused = true)]
async fn waiting_for_a_place_is_no_part_of_the_timeout() {
    let world = with(10, |_| async {
        later(1).await;
        fine()
    });
    async fn call(context: AgentContext, number: usize) -> Result<usize, AgentError> {
        let call = context.model(Grade::Small).user("Hello").output(100);
        call.timeout(Span::from_secs(2)).text().await.map(|_| number)
    }
    let report = world.workflow.fan_out(0..500, call).collect().await;
    assert_eq!(report.answered(), 500, "{report}");
    assert_eq!(world.now().since(Time::ZERO), Span::from_secs(50));
    let waited = world.workflow.context().record().waited_on["http"];
    assert_eq!(
        waited,
        Span::from_secs((0..50).sum::<u64>() * 10),
        "each is told what it waited on"
    );
    world.nothing_is_held();
}

/// One at a time runs all of them, one after the other.
#[tokio::test(start_paused = true)]
async fn one_place_serves_every_child() {
    let world = with(1, |_| async {
        later(1).await;
        fine()
    });
    let report = world.workflow.fan_out(0..6, ask).collect().await;
    assert_eq!((report.answered(), world.asked()), (6, 6));
    assert_eq!(world.now().since(Time::ZERO), Span::from_secs(6));
}

/// A connection that breaks where the server has finished is paid and tried again; nobody sends the
/// same request twice on the quiet.
#[tokio::test(start_paused = true)]
async fn every_request_is_an_attempt() {
    let world = World::new(|n| match n {
        0 => Err(TransportError::broken(BrokenAt::BeforeHead, "reset")),
        _ => fine(),
    });
    world.call().await.unwrap();
    let record = world.workflow.context().record();
    assert_eq!((record.attempts as usize, world.asked()), (2, 2));
    assert_eq!(record.estimated, 1, "what the first one cost nobody said");
}
