//! The table of what comes back, row by row: by where an attempt ended, and what was reported.

use nucleo_core::Span;
use nucleo_harness::attempt::{Ended, RetryPolicy, Signal, Unused};
use nucleo_harness::attempt::{JobOptions, Requirements};

use crate::script::Act;
use crate::world::{RESERVED, USAGE, USED, World, cost};

/// A request that is sent and ends there; answered when `fails` is none. Charged: requests and
/// tokens in thousands, money in millionths, and whether it is an estimate.
struct Row {
    name: &'static str,
    reports: bool,
    fails: Option<(Signal, Ended)>,
    unused: Unused,
    charged: (u64, u64, i128),
    is_estimate: bool,
}

const LIMITED: Signal = Signal::RateLimited { retry_after: Some(Span::ZERO) };
const TRANSIENT: Signal = Signal::Transient { retry_after: None };

fn rows() -> Vec<Row> {
    use Ended::{CouldNotConnect, InFull, Incomplete, RateLimited, Unsent, WithError};
    use Unused::{GivenBack, Kept};
    let row = |name, reports, fails, unused, charged, is_estimate| Row {
        name,
        reports,
        fails,
        unused,
        charged,
        is_estimate,
    };
    let permanent = |ended| Some((Signal::Permanent, ended));
    vec![
        row("unsent after all", false, permanent(Unsent), Kept, (0, 0, 0), false),
        row("no connection", false, Some((TRANSIENT, CouldNotConnect)), Kept, (0, 0, 0), false),
        row("a rate limit", false, Some((LIMITED, RateLimited)), Kept, (0, 0, 0), false),
        row("an error with usage", true, permanent(WithError), GivenBack, (1, 1, USED), false),
        row("an error, given back", false, permanent(WithError), GivenBack, (1, 0, 0), false),
        row("an error, kept", false, permanent(WithError), Kept, (1, 3, 0), false),
        row("answered", true, None, GivenBack, (1, 1, USED), false),
        row("answered, kept", true, None, Kept, (1, 3, USED), false),
        row("usage is missing", false, None, GivenBack, (1, 3, RESERVED), true),
        row("truncated", true, Some((Signal::Truncated, InFull)), GivenBack, (1, 1, USED), false),
        row("unreadable", false, Some((TRANSIENT, InFull)), GivenBack, (1, 3, RESERVED), true),
        row("broken off", false, Some((TRANSIENT, Incomplete)), GivenBack, (1, 3, RESERVED), true),
        row("broken off late", true, Some((TRANSIENT, Incomplete)), GivenBack, (1, 3, USED), true),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_row_of_the_table() {
    for row in rows() {
        let world = World::new();
        let mut acts = vec![Act::Send];
        acts.extend(row.reports.then_some(Act::Report(USAGE)));
        acts.extend(row.fails.map(|(signal, ended)| Act::Fail(signal, ended)));
        let mut script = world.script([&acts]);
        script.requirements.bindings[0].unused = row.unused;
        let options = JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
        let end = world.start(script, options).await;

        let (requests, tokens, money) = row.charged;
        let charged = (world.charged(world.requests), world.charged(world.tokens), world.spent());
        assert_eq!(charged, (requests * 1_000, tokens * 1_000, money), "{}", row.name);
        assert_eq!(cost(&end), money, "{}", row.name);
        assert_eq!(end.record.estimated > 0, row.is_estimate, "{}", row.name);
        world.check_rest();
    }
}

/// What a stream said of itself holds over what the failure says.
#[tokio::test(start_paused = true)]
async fn the_meter_knows_where_it_ended() {
    let world = World::new();
    let acts = [Act::Send, Act::Report(USAGE), Act::EndsAs(Ended::InFull), Act::Panic];
    let end = world.run(&world.script([&acts])).await;
    assert_eq!((cost(&end), end.record.estimated), (USED, 0), "the answer was there in full");
    assert_eq!(world.charged(world.tokens), 1_000);
}

/// Whoever used something was sent, whether it said so or not.
#[tokio::test(start_paused = true)]
async fn usage_without_a_mark_is_booked() {
    let world = World::new();
    let end = world.run(&world.script([&[Act::Report(USAGE)]])).await;
    assert_eq!((cost(&end), world.spent()), (USED, USED));
}

/// An orchestrator's own attempt: no binding, no need, no money.
#[tokio::test(start_paused = true)]
async fn a_job_that_needs_nothing_is_never_in_the_way() {
    let world = World::with(0, 0);
    let mut script = world.script([&[]]);
    script.requirements = Requirements::default();
    let end = world.run(&script).await;
    assert!(end.result.is_ok());
    assert_eq!((end.record.attempts, world.spent()), (1, 0));
}
