//! Scripts on the ledger: one line a step, and what is expected of it.
//!
//! Money is told in cents of a dollar: an ask of 20 reserves 0.20 USD, and a settlement of 5 books
//! 0.05 USD. The walk beside the naive rule is in the crate's `tests/lockstep`.

use std::collections::BTreeMap;

use crate::spend::*;
use crate::{Currency, Money, Reserved, Usage, WorkflowId};

pub(super) const W: WorkflowId = WorkflowId::from_u128(7);
pub(super) const V: WorkflowId = WorkflowId::from_u128(8);

pub(super) fn cents(n: i128) -> Money {
    Money::from_pico(n * crate::PICO / 100, Currency::USD)
}

/// A price at which one output token costs a cent.
pub(super) fn cent_price(currency: &str) -> Price {
    let rates = Rates::new(Rate::FREE, "10000".parse().unwrap());
    Price::new(currency.parse().unwrap(), rates)
}

pub(super) fn ask(workflow: WorkflowId, cents: u64) -> Ask {
    let tokens = Reserved { input: 0, output: cents };
    Ask::new(workflow, "m", tokens).agent("a").price(cent_price("USD"))
}

pub(super) fn used(cents: u64) -> Booking {
    Booking::Actual(Usage { output: cents, ..Usage::default() })
}

/// Runs a script over workflow `W` (cap in cents, or `-` for none) and tells what came of it.
///
/// `20` asks and won't wait, `w20` may wait, `s0=5` settles the first ask for 5, `r0` releases
/// it, `l0` leaves the line, `c50` sets the cap, `c-` lifts it, `x` closes, `z` shuts down.
/// Told are `+0` approved, `?0` waiting, `-0` refused, `!0` stopped.
pub(super) fn run(cap: &str, script: &str) -> (String, Ledger) {
    let mut ledger = Ledger::new();
    let amount = |text: &str| (text != "-").then(|| cents(text.parse().unwrap()));
    ledger.open_workflow(W, "", amount(cap)).unwrap();
    let (mut asked, mut told) = (0, Vec::new());
    let (mut commitments, mut waits) = (BTreeMap::new(), BTreeMap::new());
    for step in script.split_whitespace() {
        let (op, rest) = step.split_at(usize::from(!step.as_bytes()[0].is_ascii_digit()));
        let number = |text: &str| text.parse::<usize>().unwrap();
        match op {
            "" | "w" => {
                let ask = ask(W, rest.parse().unwrap());
                let near_cap = if op == "w" { NearCap::WaitForSiblings } else { NearCap::Refuse };
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
                let id = waits.iter().find(|(_, n)| **n == number(rest)).map(|(id, _)| *id);
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
    check("100", "60 30 w40 w20 w20 s1=0 s0=0", "+0 +1 ?2 ?3 ?4 +2 +3 +4");
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
    assert_eq!((totals.calls, totals.cost.clone()), (1, vec![cents(5)]), "totals stay");

    let mut ledger = Ledger::new();
    for n in 0..CLOSED_KEPT as u128 + 5 {
        ledger.open_workflow(WorkflowId::from_u128(n), "", None).unwrap();
        let closing = ledger.close_workflow(WorkflowId::from_u128(n)).unwrap();
        assert_eq!(closing.refusals.total(), 0);
    }
    assert_eq!(ledger.totals(Of::Workflow(WorkflowId::from_u128(4))), None);
    assert!(ledger.totals(Of::Workflow(WorkflowId::from_u128(5))).is_some());
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
    let cap = ledger.refusals(W).unwrap().kept()[0].admitted_from_cap.unwrap();
    let less = cap.minus(Money::from_pico(1, Currency::USD)).unwrap();
    ledger.set_cap(ScopeId::Workflow(W), Some(less)).unwrap();
    assert!(matches!(ledger.approve(ask(W, 70)), Decision::Refused(_)));
    ledger.set_cap(ScopeId::Workflow(W), Some(cap)).unwrap();
    assert!(matches!(ledger.approve(ask(W, 70)), Decision::Approved(_)));
}
