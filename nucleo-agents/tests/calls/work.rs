//! Tools that hold, agents after agents, deadlines, days, and who stalls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nucleo_agents::agent::AgentHandle;
use nucleo_agents::catalog::Grade;
use nucleo_agents::fan_out::Item;
use nucleo_agents::prelude::*;
use nucleo_core::Time;
use nucleo_core::limits::Permits;
use nucleo_core::spend::ScopeId;
use nucleo_harness::attempt::{BlockingError, Dependency};
use nucleo_harness::runtime::{Clock, TokioClock};
use nucleo_harness::workflow::WaitsOn;

use crate::world::{FINE_COSTS, World, catalog, fine};

async fn ask(context: AgentContext, number: usize) -> Result<usize, AgentError> {
    context.model(Grade::Small).user(format!("{number}?")).output(100).text().await?;
    Ok(number)
}

async fn sum(_: AgentContext, of: Vec<AgentHandle<usize>>) -> Result<usize, AgentError> {
    let mut sum = 0;
    for one in of {
        sum += one
            .end()
            .await
            .result
            .as_ref()
            .map_err(|error| AgentError::other(error.to_string()))?;
    }
    Ok(sum)
}

/// So many seconds later.
async fn later(seconds: u64) {
    let span = std::time::Duration::from_secs(seconds);
    tokio::time::timeout(span, std::future::pending::<()>()).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn agents_after_agents_see_their_answers() {
    let world = World::new(|_| fine());
    let parts: Vec<_> = (1..=3).map(|n| world.workflow.submit(ask, n).start()).collect();
    let whole = parts.iter().fold(world.workflow.submit(sum, parts.clone()), |s, p| s.after(p));
    let end = whole.start().end().await;
    assert_eq!(end.result.as_ref().unwrap(), &6);
    assert_eq!(parts[0].try_end().unwrap().record.cost, [FINE_COSTS.parse().unwrap()]);
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_failed_agent_fails_those_after_it_before_they_are_called() {
    async fn bad(_: AgentContext, _: ()) -> Result<usize, String> {
        Err("no good".to_owned())
    }
    let world = World::new(|_| fine());
    let bad = world.workflow.submit(bad, ()).start();
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let after = move |_: AgentContext, (): ()| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, String>(7) }
    };
    let strict = world.workflow.submit(after.clone(), ()).after(&bad).start().end().await;
    let error = strict.result.as_ref().unwrap_err();
    assert_eq!(error.name(), "dependency_failed");
    let said = format!("{}, which it depends on, has no result: no good", bad.id());
    assert_eq!(error.chain(), said);
    assert_eq!(called.load(Ordering::SeqCst), 0);
    let tolerant = world.workflow.submit(after, ()).after_end_of(&bad).start().end().await;
    assert_eq!(tolerant.result.as_ref().unwrap(), &7);
}

/// What never ends, or panics: the agent after it ends with its deadline, or tells the panic.
#[tokio::test(start_paused = true)]
async fn an_agent_outlasts_no_dependency() {
    let world = World::new(|_| fine());
    let workflow = world.runtime.workflow("hurried").deadline(Span::from_secs(10)).start();
    let (on, began) = (workflow.context().id(), world.now());
    let never = Dependency::new(on, std::future::pending());
    let never = workflow.submit(ask, 1).depends_on(never).start();
    let bad = Dependency::new(on, async { panic!("asked for it") });
    let bad = workflow.submit(ask, 1).depends_on(bad).start();
    let ended = tokio::spawn(async move { never.end().await.result.as_ref().unwrap_err().name() });
    assert_eq!(bad.end().await.result.as_ref().unwrap_err().to_string(), "panicked: asked for it");
    assert_eq!(ended.await.unwrap(), "deadline_passed");
    assert_eq!(world.now().since(began), Span::from_secs(10));
    let late = workflow.submit(ask, 1).start().end().await;
    assert_eq!(late.result.as_ref().unwrap_err().name(), "deadline_passed");
    assert_eq!(world.asked(), 0);
}

/// The only place is the tool's: what it fans out would wait for that.
#[tokio::test(start_paused = true)]
async fn a_tool_fans_nothing_out() {
    async fn starts_later(context: AgentContext, number: usize) -> Result<usize, AgentError> {
        tokio::task::yield_now().await;
        ask(context, number).await
    }
    let set = |builder: nucleo_agents::runtime::RuntimeBuilder| builder.connections(1);
    let world = World::served(catalog(""), |_| async { fine() }, set);
    let (context, began) = (world.workflow.context().clone(), world.now());
    let smuggled = context.clone();
    let tool = |_| async move {
        let report = smuggled.fan_out(0..2, starts_later).ordered().collect().await;
        let name = |item: &Item<usize, usize>| item.result.as_ref().unwrap_err().name();
        Ok::<_, std::io::Error>(report.failures().iter().map(name).collect::<Vec<_>>())
    };
    let names = context.tool(Needs::http(), tool).await.unwrap();
    assert_eq!(names, ["waits_while_holding"; 2]);
    assert_eq!(world.now(), began);
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_submitted_agent_can_be_cancelled_and_a_shutdown_waits_for_it() {
    async fn never(_: AgentContext, _: ()) -> Result<(), String> {
        std::future::pending().await
    }
    let world = World::new(|_| fine());
    let one = world.workflow.submit(never, ()).start();
    let guard = one.cancel_on_drop();
    let after = world.workflow.submit(ask, 1).after(&one).start();
    let other = world.workflow.submit(never, ()).start();
    drop(guard);
    assert_eq!(one.end().await.result.as_ref().unwrap_err().name(), "cancelled");
    assert_eq!(after.end().await.result.as_ref().unwrap_err().name(), "dependency_failed");
    world.runtime.shutdown(Span::from_secs(1)).await;
    assert_eq!(other.try_end().unwrap().result.as_ref().unwrap_err().name(), "cancelled");
    world.nothing_is_held();
}

/// Ten tools on an account of two: at no time do more than two run, and each hears its own result.
#[tokio::test(start_paused = true)]
async fn tools_hold_what_they_need() {
    let world = World::new(|_| fine());
    let geocoder = world.runtime.harness().admission().open("geocoder", Permits::new(2)).unwrap();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tools = (0..10).map(|number| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        world.workflow.context().tool(Needs::http().account(geocoder), move |_| async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            later(1).await;
            running.fetch_sub(1, Ordering::SeqCst);
            if number == 3 { Err(format!("{number} is no address")) } else { Ok(number) }
        })
    });
    let began = world.now();
    let ends = futures_util::future::join_all(tools).await;
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(world.now().since(began), Span::from_secs(5));
    let error = ends[3].as_ref().unwrap_err();
    assert_eq!(error.name(), "permanent");
    assert_eq!(std::error::Error::source(error).unwrap().to_string(), "3 is no address");
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 9);
    world.nothing_is_held();
}

/// A tool that captured its agent's context can call nobody while it holds something.
#[tokio::test(start_paused = true)]
async fn a_context_that_was_smuggled_into_a_tool_is_refused() {
    let world = World::new(|_| fine());
    let context = world.workflow.context().clone();
    let smuggled = context.clone();
    let tool = move |_: ToolContext| async move { ask(smuggled, 1).await };
    let error = context.tool(Needs::http(), tool).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("can't be waited for while"), "{cause}");
    assert_eq!(world.asked(), 0);
    world.nothing_is_held();
}

#[tokio::test]
async fn blocking_work_of_a_tool_has_a_result() {
    let world = World::new(|_| fine());
    let tool = |context: ToolContext| async move {
        let sum = context.blocking(|| (1..=100).sum::<u32>()).await?;
        let panic = context.blocking(|| panic!("on a thread")).await;
        assert_eq!(panic, Err(BlockingError::Panicked("on a thread".into())));
        Ok::<_, BlockingError>(sum)
    };
    assert_eq!(world.workflow.context().tool(Needs::http(), tool).await.unwrap(), 5050);
    world.nothing_is_held();
}

/// A fan-out under a deadline: what was answered is kept, what runs ends, nothing more is pulled.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_a_fan_out() {
    let served = |_| async {
        later(3).await;
        fine()
    };
    let world = World::served(catalog(""), served, |builder| builder);
    let workflow = world.runtime.workflow("hurried").deadline(Span::from_secs(10)).start();
    let began = world.now();
    let report = workflow.fan_out(0..100, ask).max_in_flight(5).collect().await;
    assert_eq!(world.now().since(began), Span::from_secs(10), "a cut call uses no grace");
    assert_eq!((report.answered(), report.failed()), (15, 5), "{report}");
    assert_eq!(report.not_submitted(), Some(80));
    let names: Vec<_> =
        report.failures().iter().map(|item| item.result.as_ref().unwrap_err().name()).collect();
    assert_eq!(names, ["deadline_passed"; 5]);
    world.nothing_is_held();
}

/// A day of 23 hours: the cap refuses until its midnight, and not after it.
#[tokio::test(start_paused = true)]
async fn a_day_begins_at_its_zone_s_midnight() {
    // Noon in Berlin, on the day before the clocks go forward.
    let wall = Span::from_secs(1_774_695_600);
    let clock = Arc::new(TokioClock::at(wall));
    let world = World::served(catalog(""), |_| async { fine() }, |builder| builder.clock(clock));
    let day = ScopeId::Day("Europe/Berlin".into());
    // Enough for one call: 0.001 USD are reserved for it.
    world.runtime.set_cap(day.clone(), Some("0.0012 USD".parse().unwrap())).unwrap();
    let mut dates = Vec::new();
    for hours in [0, 13, 23] {
        world.pass(Span::from_mins(60 * hours)).await;
        world.call().await.unwrap();
        let error = world.call().await.unwrap_err();
        let refusal = error.refusal().unwrap();
        assert_eq!(refusal.spent, FINE_COSTS.parse().unwrap());
        dates.push(refusal.scope.to_string());
    }
    let of = |date| format!("day {date} (Europe/Berlin)");
    assert_eq!(dates, [of("2026-03-28"), of("2026-03-29"), of("2026-03-30")]);
    let error = world.runtime.set_cap(ScopeId::Day("Mars/Olympus".into()), None).unwrap_err();
    assert!(error.to_string().starts_with("`Mars/Olympus` is no time zone"), "{error}");
}

/// A resumed run's day goes on: what was carried over into it counts, at once and until midnight,
/// whichever thread set the cap.
#[tokio::test(start_paused = true)]
async fn what_a_day_has_spent_before_stays() {
    let world = World::new(|_| fine());
    let (day, runtime) = (ScopeId::Day("Asia/Tokyo".into()), world.runtime.clone());
    let carried = "0.0995 USD".parse().unwrap();
    let set = {
        let day = day.clone();
        move || runtime.set_cap(day, Some("0.1 USD".parse().unwrap()))
    };
    std::thread::spawn(set).join().unwrap().unwrap();
    let ledger = world.runtime.harness().ledger();
    ledger.carry_over(&day, carried).unwrap();
    world.pass(Span::from_millis(1)).await;
    assert_eq!(world.runtime.position(&day).unwrap().spent, [carried]);
    let refused = world.call().await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().spent, carried);
    world.pass(Span::from_mins(24 * 60)).await;
    world.call().await.unwrap();
}

/// A time of day that goes back by an hour at its first midnight.
#[derive(Debug)]
struct Jumps {
    clock: TokioClock,
    at: Span,
}

impl Clock for Jumps {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn sleep_until(&self, at: Time) -> futures_util::future::BoxFuture<'static, ()> {
        self.clock.sleep_until(at)
    }

    fn wall(&self) -> Span {
        let wall = self.clock.wall();
        if wall < self.at { wall } else { wall.saturating_sub(Span::from_mins(60)) }
    }
}

/// No money twice for one day: it begins once, at the midnight that its zone has.
#[tokio::test(start_paused = true)]
async fn a_time_of_day_that_goes_back_begins_no_day() {
    // 23:00 in UTC, on a day after which the clock is set back.
    let day_s = 86_400;
    let wall = |hour: u64| Span::from_secs(20_000 * day_s + hour * 3_600);
    let clock = Arc::new(Jumps { clock: TokioClock::at(wall(23)), at: wall(24) });
    let world = World::served(catalog(""), |_| async { fine() }, |builder| builder.clock(clock));
    let day = ScopeId::Day("UTC".into());
    world.runtime.set_cap(day.clone(), Some("0.0012 USD".parse().unwrap())).unwrap();
    world.call().await.unwrap();
    let spent = || world.runtime.position(&day).unwrap().spent;
    for minutes in [61, 58] {
        world.pass(Span::from_mins(minutes)).await;
        assert_eq!(spent(), [FINE_COSTS.parse().unwrap()], "it is the same day");
    }
    world.pass(Span::from_mins(2)).await;
    assert_eq!(spent(), ["0 USD".parse().unwrap()]);
}

/// Of a thousand calls two are never answered: the report names them, and since when.
#[tokio::test(start_paused = true)]
async fn the_last_two_of_a_thousand_are_named() {
    let served = |n| async move {
        if n == 998 || n == 77 {
            std::future::pending::<()>().await;
        }
        later(1).await;
        fine()
    };
    let world = World::served(catalog(""), served, |builder| builder);
    let workflow = world.workflow.clone();
    let mut fan_out = workflow.fan_out(0..1_000, ask);
    let mut answered = 0;
    while answered < 998 {
        let item = futures_util::StreamExt::next(&mut fan_out).await.unwrap();
        answered += usize::from(item.result.is_ok());
    }
    world.pass(Span::from_secs(30)).await;
    let longest = world.workflow.longest(10);
    assert_eq!(longest.len(), 2);
    for standing in &longest {
        assert_eq!(&*standing.live.agent, "ask");
        assert_eq!(standing.live.waits_on, WaitsOn::Answer(vec!["scribe".into()]));
        assert!(standing.stands >= Span::from_secs(30));
        let said = standing.to_string();
        let told =
            format!("ask ({}), attempt 1: waits for an answer of scribe, for ", standing.live.job);
        assert!(said.starts_with(&told), "{said}");
    }
    drop(fan_out);
    world.pass(Span::from_secs(10)).await;
    world.nothing_is_held();
}

/// Three that wait for three reasons, each told in a sentence of its own.
#[tokio::test(start_paused = true)]
async fn every_wait_has_a_reason() {
    let served = |_| async {
        later(60).await;
        fine()
    };
    let set = |builder: nucleo_agents::runtime::RuntimeBuilder| builder.connections(1);
    let world = World::served(catalog(""), served, set);
    let running = tokio::spawn(world.call());
    tokio::task::yield_now().await;
    world.pass(Span::from_secs(1)).await;
    let in_line = tokio::spawn(world.call());
    world.pass(Span::from_secs(1)).await;
    let behind = tokio::spawn(world.call());
    world.pass(Span::from_secs(1)).await;
    let said: Vec<_> = world
        .workflow
        .longest(9)
        .iter()
        .map(|one| {
            let said = one.to_string();
            said[said.find("attempt").unwrap()..].to_owned()
        })
        .collect();
    assert_eq!(said[0], "attempt 1: waits for an answer of scribe, for 3s");
    assert_eq!(said[1], "attempt 1: waits for 1 of http, first in line, for 2s");
    assert!(
        said[2].starts_with("attempt 1: waits for 2 of http (1 of them set aside), behind j-"),
        "{}",
        said[2]
    );
    drop((running.await, in_line.await, behind.await));
}

/// An agent that waits for one that depends on it: the circle ends as any wait does, after a day.
#[tokio::test(start_paused = true)]
async fn a_circle_of_agents_ends() {
    type Own = tokio::sync::oneshot::Receiver<AgentHandle<usize>>;
    async fn circle(context: AgentContext, own: Own) -> Result<usize, AgentError> {
        let own = own.await.map_err(AgentError::other)?;
        let after = context.submit(ask, 1).after(&own).start();
        let end = after.end().await;
        end.result.as_ref().copied().map_err(|error| AgentError::other(error.chain()))
    }
    let world = World::new(|_| fine());
    let (tell, own) = tokio::sync::oneshot::channel();
    let agent = world.workflow.submit(circle, own).start();
    tell.send(agent.clone()).unwrap();
    let began = world.now();
    let said = agent.end().await.result.as_ref().unwrap_err().chain();
    assert!(said.contains("what it depends on"), "{said}");
    assert_eq!(world.now().since(began), nucleo_core::MAX_WAIT_DEFAULT);
    assert_eq!(world.asked(), 0);
}
