//! Scripts on the ledger: one line a step, and what is expected of it.
//!
//! Money is told in cents of a dollar: an ask of 20 reserves 0.20 USD, and a settlement of 5 books
//! 0.05 USD. The random walk against the naive rule is in `lockstep`.

use std::collections::BTreeMap;

use super::*;
use crate::{Currency, Money, Reserved, Usage, WorkflowId};

const W: WorkflowId = WorkflowId::from_u128(7);
const V: WorkflowId = WorkflowId::from_u128(8);

pub(super) fn cents(n: i128) -> Money {
    Money::from_pico(n * crate::PICO / 100, Currency::USD)
}

/// A price at which one output token costs a cent.
pub(super) fn cent_price(currency: &str) -> Price {
    let rates = Rates::new(Rate::FREE, "10000".parse().unwrap());
    Price::new(currency.parse().unwrap(), rates)
}

pub(super) fn ask(workflow: WorkflowId, cents: u64) -> Ask {
    let tokens = Reserved {
        input: 0,
        output: cents,
    };
    Ask::new(workflow, "m", tokens)
        .agent("a")
        .price(cent_price("USD"))
}

pub(super) fn used(cents: u64) -> Booking {
    Booking::Actual(Usage {
        output: cents,
        ..Usage::default()
    })
}

/// Runs a script over workflow `W` (cap in cents, or `-` for none) and tells what came of it.
///
/// `20` asks and won't wait, `w20` may wait, `s0=5` settles the first ask for 5, `r0` releases
/// it, `l0` leaves the line, `c50` sets the cap, `c-` lifts it, `x` closes, `z` shuts down.
/// Told are `+0` approved, `?0` waiting, `-0` refused, `!0` stopped.
fn run(cap: &str, script: &str) -> (String, Ledger) {
    let mut ledger = Ledger::new();
    let amount = |text: &str| (text != "-").then(|| cents(text.parse().unwrap()));
    ledger.open_workflow(W, amount(cap));
    let (mut asked, mut told) = (0, Vec::new());
    let (mut commitments, mut waits) = (BTreeMap::new(), BTreeMap::new());
    for step in script.split_whitespace() {
        let (op, rest) = step.split_at(usize::from(!step.as_bytes()[0].is_ascii_digit()));
        let number = |text: &str| text.parse::<usize>().unwrap();
        match op {
            "" | "w" => {
                let ask = ask(W, rest.parse().unwrap());
                let near_cap = if op == "w" {
                    NearCap::WaitForSiblings
                } else {
                    NearCap::Refuse
                };
                told.push(match ledger.approve(ask.near_cap(near_cap)) {
                    Decision::Approved(id) => {
                        commitments.insert(asked, id);
                        format!("+{asked}")
                    }
                    Decision::Waiting(id) => {
                        waits.insert(id, asked);
                        format!("?{asked}")
                    }
                    Decision::Refused(_) => format!("-{asked}"),
                    Decision::Stopped(_) => format!("!{asked}"),
                });
                asked += 1;
            }
            "s" => {
                let (who, cost) = rest.split_once('=').unwrap();
                let id = commitments.remove(&number(who)).unwrap();
                ledger.settle(id, used(cost.parse().unwrap()));
            }
            "r" => ledger.release(commitments.remove(&number(rest)).unwrap()),
            "l" => {
                let id = waits
                    .iter()
                    .find(|(_, n)| **n == number(rest))
                    .map(|(id, _)| *id);
                ledger.leave(id.unwrap());
            }
            "c" => ledger.set_cap(ScopeId::Workflow(W), amount(rest)).unwrap(),
            "x" => assert!(ledger.close_workflow(W).is_some()),
            "z" => ledger.shut_down(),
            other => panic!("unknown step {other}"),
        }
        while let Some((id, outcome)) = ledger.poll() {
            let who = waits.remove(&id).unwrap();
            told.push(match outcome {
                Outcome::Approved(id) => {
                    commitments.insert(who, id);
                    format!("+{who}")
                }
                Outcome::Refused(_) => format!("-{who}"),
                Outcome::Stopped(_) => format!("!{who}"),
            });
        }
    }
    (told.join(" "), ledger)
}

#[track_caller]
fn check(cap: &str, script: &str, expected: &str) {
    assert_eq!(run(cap, script).0, expected, "cap {cap}: {script}");
}

#[test]
fn the_cap_itself_may_be_spent() {
    check("100", "20 20 20 20 20 1", "+0 +1 +2 +3 +4 -5");
    check("100", "50 s0=50 50 s1=50 1", "+0 +1 -2");
    check("0", "0 1", "+0 -1");
}

#[test]
fn what_is_not_spent_comes_back() {
    check("100", "60 60 s0=40 60", "+0 -1 +2");
    check("100", "60 60 r0 100", "+0 -1 +2");
}

#[test]
fn only_siblings_make_one_wait() {
    check("100", "60 w60 s0=10", "+0 ?1 +1");
    check("100", "60 w60 s0=41", "+0 ?1 -1");
    check("100", "60 w101", "+0 -1");
    check("100", "60 w60 r0", "+0 ?1 +1");
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    check("100", "60 w60 w20 s0=10", "+0 ?1 ?2 +1 +2");
    check("100", "90 w60 w5 s0=45", "+0 ?1 ?2 -1 +2");
    check(
        "100",
        "60 30 w40 w20 w20 s1=0 s0=0",
        "+0 +1 ?2 ?3 ?4 +2 +3 +4",
    );
}

#[test]
fn one_who_would_not_wait_may_pass_the_line() {
    check("100", "60 w60 30 w5 s2=30 s0=0", "+0 ?1 +2 ?3 +1 +3");
}

#[test]
fn leaving_lets_the_next_one_pass() {
    check("100", "60 w60 w20 l1 s0=0", "+0 ?1 ?2 +2");
    check("100", "60 w60 w40 l1", "+0 ?1 ?2 +2");
}

#[test]
fn caps_change_while_running() {
    check("100", "60 w60 c120", "+0 ?1 +1");
    check("100", "60 w60 w30 c50", "+0 ?1 ?2 -1");
    check("100", "60 w60 w30 c-", "+0 ?1 ?2 +1 +2");
    check("-", "600 c100 1 s0=10 w80", "+0 -1 +2");
}

#[test]
fn nothing_is_approved_after_the_end() {
    check("100", "60 w60 x 1", "+0 ?1 !1 !2");
    check("100", "60 w60 z 1 s0=5", "+0 ?1 !1 !2");
}

#[test]
fn a_closed_workflow_gives_its_memory_back() {
    let (_, ledger) = run("100", "60 w60 x s0=5");
    assert_eq!(ledger.scopes.len(), 0);
    assert_eq!(ledger.position(&ScopeId::Workflow(W)), None);
    let totals = ledger.totals(Of::Workflow(W)).unwrap();
    assert_eq!(
        (totals.calls, totals.cost.clone()),
        (1, vec![cents(5)]),
        "totals stay"
    );

    let mut ledger = Ledger::new();
    for n in 0..CLOSED_KEPT as u128 + 5 {
        ledger.open_workflow(WorkflowId::from_u128(n), None);
        let closing = ledger.close_workflow(WorkflowId::from_u128(n)).unwrap();
        assert_eq!(closing.refusals.total(), 0);
    }
    assert_eq!(ledger.totals(Of::Workflow(WorkflowId::from_u128(4))), None);
    assert!(
        ledger
            .totals(Of::Workflow(WorkflowId::from_u128(5)))
            .is_some()
    );
}

#[test]
fn a_refusal_tells_the_whole_case() {
    let (_, ledger) = run("100", "20 20 20 20 20 20");
    let refusal = &ledger.refusals(W).unwrap().kept()[0];
    assert_eq!(
        serde_json::to_string(refusal).unwrap(),
        r#"{"scope":"workflow w-00000007","reason":"over_cap","cap":"1.00 USD","#.to_owned()
            + r#""spent":"0.00 USD","committed":"1.00 USD","siblings":5,"#
            + r#""reservation":"0.20 USD","exceeds_by":"0.20 USD","model":"m","#
            + r#""input_tokens":0,"output_tokens":20,"waiting_helps":true,"#
            + r#""admitted_from_cap":"1.20 USD"}"#
    );
    assert_eq!(
        refusal.to_string(),
        "workflow w-00000007 has a cap of 1.00 USD, with 0.00 USD spent and 1.00 USD committed \
         to 5 siblings: 0.20 USD more (m, 0 input and at most 20 output tokens) exceeds it by \
         0.20 USD; a cap of 1.20 USD admits it now, and waiting for the siblings to settle can \
         help"
    );
}

#[test]
fn the_smallest_admitting_cap_is_that() {
    let (_, mut ledger) = run("100", "60 s0=35 50 70");
    let cap = ledger.refusals(W).unwrap().kept()[0]
        .admitted_from_cap
        .unwrap();
    let less = cap.minus(Money::from_pico(1, Currency::USD)).unwrap();
    ledger.set_cap(ScopeId::Workflow(W), Some(less)).unwrap();
    assert!(matches!(ledger.approve(ask(W, 70)), Decision::Refused(_)));
    ledger.set_cap(ScopeId::Workflow(W), Some(cap)).unwrap();
    assert!(matches!(ledger.approve(ask(W, 70)), Decision::Approved(_)));
}

#[test]
fn no_price_and_no_currency_is_guessed() {
    let mut ledger = Ledger::new();
    ledger.open_workflow(W, Some(cents(100)));
    ledger.open_workflow(V, None);
    let tokens = Reserved {
        input: 3,
        output: 4,
    };
    let refusal = |ledger: &mut Ledger, ask: Ask| match ledger.approve(ask) {
        Decision::Refused(refusal) => (refusal.reason, refusal.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal(
            &mut ledger,
            Ask::new(W, "local", tokens).near_cap(NearCap::WaitForSiblings)
        ),
        (
            RefusalReason::Unpriced,
            "workflow w-00000007 has a cap of 1.00 USD, and local has no price: give it one, or \
             run it without a cap"
                .to_owned()
        )
    );
    assert_eq!(
        refusal(
            &mut ledger,
            Ask::new(W, "m", tokens).price(cent_price("EUR"))
        ),
        (
            RefusalReason::OtherCurrency,
            "workflow w-00000007 has a cap of 1.00 USD, and m is priced in EUR, which is never \
             converted: set the cap in EUR, or use a model that is priced in USD"
                .to_owned()
        )
    );
    let Decision::Approved(id) = ledger.approve(Ask::new(V, "local", tokens)) else {
        panic!()
    };
    assert_eq!(
        ledger.settle(id, Booking::Reservation),
        Booked {
            cost: None,
            overspent: None
        }
    );
    let totals = ledger.totals(Of::Workflow(V)).unwrap();
    assert_eq!(
        (totals.unpriced, totals.estimates, totals.cost.len()),
        (1, 1, 0)
    );
}

#[test]
fn all_scopes_or_none() {
    let mut ledger = Ledger::new();
    let ann = ScopeId::User("ann".into());
    ledger.open_workflow(W, Some(cents(100)));
    ledger.set_cap(ann.clone(), Some(cents(30))).unwrap();
    let Decision::Refused(refusal) = ledger.approve(ask(W, 40).user("ann")) else {
        panic!()
    };
    assert_eq!(refusal.scope, ann);
    let rest = ledger.position(&ScopeId::Workflow(W)).unwrap();
    assert!(
        rest.committed.iter().all(|sum| sum.pico() == 0),
        "nothing is half committed"
    );
    // A scope that is named twice counts once; one that nobody configured counts for nothing.
    let twice = ask(W, 30)
        .user("ann")
        .scope(ann.clone())
        .scope(ScopeId::Key("k".into()));
    assert!(matches!(ledger.approve(twice), Decision::Approved(_)));
    assert_eq!(ledger.position(&ann).unwrap().committed, [cents(30)]);
}

#[test]
fn a_bill_above_the_reservation_is_booked_and_told() {
    let (_, mut ledger) = run("100", "90");
    let Decision::Approved(id) = ledger.approve(ask(W, 10)) else {
        panic!()
    };
    let booked = ledger.settle(id, used(25));
    let overspent = booked.overspent.unwrap();
    assert_eq!(
        (overspent.reservation, overspent.cost),
        (cents(10), cents(25))
    );
    let Decision::Refused(refusal) = ledger.approve(ask(W, 0)) else {
        panic!()
    };
    assert_eq!(
        refusal.exceeds_by,
        Some(cents(15)),
        "the overshoot refuses new work"
    );
}

#[test]
fn estimates_are_held_against_the_cap() {
    let (_, mut ledger) = run("100", "");
    for booking in [
        Booking::Reservation,
        Booking::SoFar(Usage {
            output: 3,
            ..<_>::default()
        }),
    ] {
        let Decision::Approved(id) = ledger.approve(ask(W, 20)) else {
            panic!()
        };
        ledger.settle(id, booking);
    }
    let totals = ledger.totals(Of::Agent("a")).unwrap();
    assert_eq!(
        (totals.calls, totals.estimates, totals.cost[0]),
        (2, 2, cents(23))
    );
    assert_eq!(
        ledger.position(&ScopeId::Workflow(W)).unwrap().spent,
        [cents(23)]
    );
}

#[test]
fn a_new_day_starts_at_nothing() {
    let mut ledger = Ledger::new();
    let day = ScopeId::Day("Asia/Tokyo".into());
    ledger.open_workflow(W, None);
    ledger.set_cap(day.clone(), Some(cents(50))).unwrap();
    ledger.begin_day("Asia/Tokyo", "2026-03-29");
    let ask = |n| {
        ask(W, n)
            .scope(day.clone())
            .near_cap(NearCap::WaitForSiblings)
    };
    let Decision::Approved(early) = ledger.approve(ask(30)) else {
        panic!()
    };
    let Decision::Approved(late) = ledger.approve(ask(20)) else {
        panic!()
    };
    ledger.settle(early, used(30));
    let Decision::Refused(refusal) = ledger.approve(ask(30)) else {
        panic!()
    };
    assert!(
        refusal
            .to_string()
            .starts_with("day 2026-03-29 (Asia/Tokyo) has a cap of 0.50 USD")
    );
    assert!(
        refusal
            .to_string()
            .ends_with("the next day begins at midnight in Asia/Tokyo")
    );
    ledger.begin_day("Asia/Tokyo", "2026-03-30");
    let Decision::Waiting(_) = ledger.approve(ask(40)) else {
        panic!("20 are under way")
    };
    ledger.settle(late, used(10));
    assert!(matches!(ledger.poll(), Some((_, Outcome::Approved(_)))));
    assert_eq!(ledger.position(&day).unwrap().spent, [cents(10)]);
}

#[test]
fn earlier_runs_count_against_the_cap() {
    let (_, mut ledger) = run("100", "30");
    let scope = ScopeId::Workflow(W);
    let Decision::Waiting(_) = ledger.approve(ask(W, 80).near_cap(NearCap::WaitForSiblings)) else {
        panic!()
    };
    ledger.carry_over(&scope, cents(40)).unwrap();
    assert!(matches!(ledger.poll(), Some((_, Outcome::Refused(_)))));
    assert_eq!(ledger.totals(Of::All).unwrap().calls, 0);
    assert!(ledger.carry_over(&ScopeId::Workflow(V), cents(1)).is_err());
}

#[test]
fn a_head_goes_over_to_the_line_of_the_next_scope_that_keeps_it_out() {
    let mut ledger = Ledger::new();
    ledger.open_workflow(W, Some(cents(100)));
    ledger.open_workflow(V, Some(cents(100)));
    let ann = ScopeId::User("ann".into());
    ledger.set_cap(ann, Some(cents(100))).unwrap();
    let wait = |workflow, n| ask(workflow, n).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(in_v) = ledger.approve(wait(V, 60).user("ann")) else {
        panic!()
    };
    let Decision::Waiting(moves) = ledger.approve(wait(W, 50).user("ann")) else {
        panic!()
    };
    // Its own workflow has room for this one, which is not ann's: it doesn't stand in her line.
    let Decision::Approved(in_w) = ledger.approve(wait(W, 60)) else {
        panic!()
    };
    let Decision::Waiting(younger) = ledger.approve(wait(W, 50)) else {
        panic!()
    };
    ledger.settle(in_v, used(0));
    assert_eq!(ledger.poll(), None, "now its workflow keeps it out");
    ledger.settle(in_w, used(0));
    let order: Vec<_> = std::iter::from_fn(|| ledger.poll())
        .map(|(id, _)| id)
        .collect();
    assert_eq!(order, [moves, younger]);
}

#[test]
fn refusals_past_the_bound_are_counted() {
    let (_, mut ledger) = run("10", "");
    for _ in 0..REFUSALS_KEPT + 3 {
        assert!(matches!(ledger.approve(ask(W, 11)), Decision::Refused(_)));
    }
    let closing = ledger.close_workflow(W).unwrap();
    assert_eq!(closing.refusals.kept().len(), REFUSALS_KEPT);
    let scope = ScopeId::Workflow(W);
    assert_eq!(
        closing.refusals.further().collect::<Vec<_>>(),
        [(&scope, "m", 3)]
    );
    assert_eq!(closing.totals.refusals, closing.refusals.total());
}

#[test]
fn names_past_the_bound_are_summed_under_one() {
    let (_, mut ledger) = run("-", "");
    for n in 0..NAMES_KEPT + 2 {
        let Decision::Approved(id) = ledger.approve(ask(W, 1).user(format!("u{n}"))) else {
            panic!()
        };
        ledger.settle(id, used(1));
    }
    assert_eq!(ledger.users().count(), NAMES_KEPT + 1);
    assert_eq!(ledger.users().last().unwrap().1.cost, [cents(2)]);
}

#[test]
fn a_forgotten_scope_frees_its_line() {
    let mut ledger = Ledger::new();
    let key = ScopeId::Key("k".into());
    ledger.open_workflow(W, None);
    ledger.set_cap(key.clone(), Some(cents(10))).unwrap();
    let wait = || {
        ask(W, 10)
            .scope(key.clone())
            .near_cap(NearCap::WaitForSiblings)
    };
    let Decision::Approved(first) = ledger.approve(wait()) else {
        panic!()
    };
    let Decision::Waiting(_) = ledger.approve(wait()) else {
        panic!()
    };
    ledger.forget(&key);
    let Some((_, Outcome::Approved(second))) = ledger.poll() else {
        panic!()
    };
    ledger.settle(first, used(10));
    ledger.release(second);
    assert_eq!(ledger.scopes.len(), 1, "only the workflow's is left");
}

#[test]
fn an_outcome_nobody_looked_at_is_given_back() {
    let mut ledger = Ledger::new();
    ledger.open_workflow(W, Some(cents(10)));
    let wait = || ask(W, 10).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(first) = ledger.approve(wait()) else {
        panic!()
    };
    let Decision::Waiting(second) = ledger.approve(wait()) else {
        panic!()
    };
    let Decision::Waiting(third) = ledger.approve(wait()) else {
        panic!()
    };
    ledger.release(first);
    ledger.leave(second);
    assert!(matches!(ledger.poll(), Some((id, Outcome::Approved(_))) if id == third));
}

#[test]
#[should_panic(expected = "a commitment ends exactly once")]
fn ending_twice_is_a_defect() {
    let (_, mut ledger) = run("100", "");
    let Decision::Approved(id) = ledger.approve(ask(W, 20)) else {
        panic!()
    };
    ledger.release(id);
    ledger.settle(id, used(1));
}
