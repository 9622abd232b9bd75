//! What must hold when every handle has resolved and every grace has passed.

use nucleo_core::spend::{Of, Totals};
use nucleo_core::{JobId, Money};
use nucleo_harness::attempt::JobRecord;

use crate::bills::{Bills, pico};
use crate::run::{Records, World};

/// Nothing held, committed, waiting or running; every job ended; the books add up.
pub(crate) fn check(world: &World, records: &Records) {
    nothing_is_left(world);
    let (on_wire, quota_refusals, bills) = world.observer.wire();
    world.log.check(on_wire == 0, || format!("{on_wire} exchanges have not ended"));
    if world.plan.never_refused() {
        world.log.check(quota_refusals == 0, || {
            format!("the server refused {quota_refusals} for its quotas")
        });
    }
    ours(world, &bills);
    theirs(world, &bills);
    sums(world);
    told(world, records);
}

fn nothing_is_left(world: &World) {
    let log = &world.log;
    let harness = world.runtime.harness();
    for account in harness.admission().accounts() {
        let name = &account.name;
        let held = &**name == "http" || name.ends_with(".concurrent") || &**name == "own.permits";
        let whole = account.available == i128::from(account.capacity);
        log.check(!held || whole, || {
            format!("{name}: {} free of {} at rest", account.available, account.capacity)
        });
    }
    let waiting = harness.admission().waiting();
    log.check(waiting == 0, || format!("{waiting} wait at rest"));
    let under_way = harness.ledger().under_way();
    log.check(under_way == 0, || format!("{under_way} commitments at rest"));
    let unended = world.observer.unended();
    log.check(unended.is_empty(), || format!("jobs without an end: {unended:?}"));
    for workflow in world.handles.lock().unwrap().iter().flatten() {
        log.check(workflow.live().is_empty(), || format!("live at rest: {:?}", workflow.live()));
        let position =
            harness.ledger().position(&nucleo_core::spend::ScopeId::Workflow(workflow.id()));
        let committed = position.is_some_and(|at| at.committed.iter().any(|sum| sum.pico() != 0));
        log.check(!committed, || format!("{} has money committed at rest", workflow.name()));
        let root = JobId::root(workflow.id());
        log.line(format_args!("{root} spent {:?}", workflow.spent()));
    }
}

/// Our ledger is what the wire says.
fn ours(world: &World, bills: &Bills) {
    let all = world.runtime.harness().ledger().totals(Of::All).unwrap_or_default();
    let log = &world.log;
    let told = (all.calls, all.estimates, all.unpriced);
    let seen = (bills.calls, bills.estimates, bills.unpriced);
    log.check(told == seen, || {
        format!("calls, estimates, unpriced: {told:?} booked, {seen:?} on the wire")
    });
    for (currency, amount) in &bills.ours {
        let booked = of_currency(&all, currency);
        log.check(booked == *amount, || {
            format!("{booked} {currency} booked, {amount} on the wire")
        });
    }
}

/// The server's ledger is within the bound of `bills`.
fn theirs(world: &World, bills: &Bills) {
    let all = world.runtime.harness().ledger().totals(Of::All).unwrap_or_default();
    let server = world.engine.ledger();
    let ended = server.answered + server.http_429 + server.failed;
    world
        .log
        .check(server.requests == ended, || format!("the server has open requests: {server:?}"));
    for (currency, billed) in &server.billed {
        let (ours, billed) = (of_currency(&all, currency), pico(billed));
        let estimated = bills.estimated.get(&**currency).copied().unwrap_or(0);
        let within = billed <= ours && ours <= billed + estimated;
        world.log.check(within, || {
            format!("{currency}: {ours} ours, {billed} theirs, {estimated} estimated")
        });
        if estimated == 0 {
            world.log.saw("bills: equal to the server's");
        }
    }
}

fn of_currency(totals: &Totals, currency: &str) -> i128 {
    let mut sums = totals.cost.iter().filter(|sum| sum.currency().code() == currency);
    sums.next().map_or(0, |sum| sum.pico())
}

/// What the agents were told of their calls is what was booked, unless a call was dropped: of that one
/// nobody is told.
fn told(world: &World, records: &Records) {
    let all = world.runtime.harness().ledger().totals(Of::All).unwrap_or_default();
    let mut sum = JobRecord::default();
    records.iter().flatten().for_each(|record| sum.absorb(record));
    let dropped = records.iter().any(Option::is_none) || sum.untold > 0;
    let counts = (u64::from(sum.estimated), u64::from(sum.unpriced), sum.usage);
    let booked = (all.estimates, all.unpriced, all.usage);
    let costs = all.cost.iter().all(|cost| *cost == of(&sum.cost, *cost));
    world.log.check(dropped || (counts == booked && costs), || {
        format!("agents were told {sum:?}, booked is {all:?}")
    });
    let less = all.cost.iter().all(|cost| of(&sum.cost, *cost).pico() <= cost.pico());
    world.log.check(less, || format!("agents were told {sum:?}, only {all:?} is booked"));
    if !dropped {
        world.log.saw("records: equal to the books");
    }
}

/// The sum in this money's currency.
fn of(sums: &[Money], money: Money) -> Money {
    let same = sums.iter().find(|sum| sum.currency() == money.currency());
    same.copied().unwrap_or(Money::zero(money.currency()))
}

/// Workflows, models and agents each add up to the whole.
fn sums(world: &World) {
    let ledger = world.runtime.harness().ledger();
    let all = ledger.totals(Of::All).unwrap_or_default();
    let flows = (0..world.plan.flows.len()).filter_map(|flow| world.observer.workflow(flow));
    let flows = flows.filter_map(|id| ledger.totals(Of::Workflow(id)));
    add_up(world, "workflows", &all, flows);
    add_up(world, "models", &all, ledger.models().into_iter().map(|(_, totals)| totals));
    add_up(world, "agents", &all, ledger.agents().into_iter().map(|(_, totals)| totals));
}

fn add_up(world: &World, what: &str, all: &Totals, parts: impl Iterator<Item = Totals>) {
    let mut sum = Totals::default();
    let mut cost = std::collections::BTreeMap::<String, i128>::new();
    for part in parts {
        sum.calls += part.calls;
        sum.estimates += part.estimates;
        sum.unpriced += part.unpriced;
        sum.refusals += part.refusals;
        sum.usage = sum.usage.plus(&part.usage);
        for money in &part.cost {
            *cost.entry(money.currency().code().to_owned()).or_default() += money.pico();
        }
    }
    let counts = |totals: &Totals| {
        (totals.calls, totals.estimates, totals.unpriced, totals.refusals, totals.usage)
    };
    let same = counts(&sum) == counts(all)
        && cost.iter().all(|(code, pico)| of_currency(all, code) == *pico);
    world
        .log
        .check(same, || format!("{what} add up to {sum:?} and {cost:?}, the whole is {all:?}"));
}
