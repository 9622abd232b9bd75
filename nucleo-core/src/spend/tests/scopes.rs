//! Cases that need more words than a script: several scopes, other currencies, days, and bounds.
//!
//! Helpers and the unit, cents, are those of `script`.

use super::script::{V, W, ask, cent_price, cents, run, used};
use crate::spend::*;
use crate::{Reserved, Usage};

#[test]
fn no_price_and_no_currency_is_guessed() {
    let mut ledger = Ledger::new();
    ledger.open_workflow(W, "", Some(cents(100))).unwrap();
    ledger.open_workflow(V, "", None).unwrap();
    let tokens = Reserved { input: 3, output: 4 };
    let refusal = |ledger: &mut Ledger, ask: Ask| match ledger.approve(ask) {
        Decision::Refused(refusal) => (refusal.reason, refusal.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refusal(&mut ledger, Ask::new(W, "local", tokens).near_cap(NearCap::WaitForSiblings)),
        (
            RefusalReason::Unpriced,
            "workflow w-00000007 has a cap of 1.00 USD, and local has no price: give it one, or \
             run it without a cap"
                .to_owned()
        )
    );
    assert_eq!(
        refusal(&mut ledger, Ask::new(W, "m", tokens).price(cent_price("EUR"))),
        (
            RefusalReason::OtherCurrency,
            "workflow w-00000007 has a cap of 1.00 USD, and m is priced in EUR, which is never \
             converted: set the cap in EUR, or use a model that is priced in USD"
                .to_owned()
        )
    );
    let Decision::Approved(id) = ledger.approve(Ask::new(V, "local", tokens)) else { panic!() };
    assert_eq!(ledger.settle(id, Booking::Reservation), Booked { cost: None, overspent: None });
    let totals = ledger.totals(Of::Workflow(V)).unwrap();
    assert_eq!((totals.unpriced, totals.estimates, totals.cost.len()), (1, 1, 0));
}

#[test]
fn all_scopes_or_none() {
    let mut ledger = Ledger::new();
    let ann = ScopeId::User("ann".into());
    ledger.open_workflow(W, "", Some(cents(100))).unwrap();
    ledger.set_cap(ann.clone(), Some(cents(30))).unwrap();
    let Decision::Refused(refusal) = ledger.approve(ask(W, 40).user("ann")) else { panic!() };
    assert_eq!(refusal.scope.id, ann);
    let rest = ledger.position(&ScopeId::Workflow(W)).unwrap();
    assert!(rest.committed.iter().all(|sum| sum.pico() == 0), "nothing is half committed");
    // A scope that is named twice counts once; one that nobody configured counts for nothing.
    let twice = ask(W, 30).user("ann").scope(ann.clone()).scope(ScopeId::Key("k".into()));
    assert!(matches!(ledger.approve(twice), Decision::Approved(_)));
    assert_eq!(ledger.position(&ann).unwrap().committed, [cents(30)]);
}

#[test]
fn a_bill_above_the_reservation_is_booked_and_told() {
    let (_, mut ledger) = run("100", "90");
    let Decision::Approved(id) = ledger.approve(ask(W, 10)) else { panic!() };
    let booked = ledger.settle(id, used(25));
    let overspent = booked.overspent.unwrap();
    assert_eq!((overspent.reservation, overspent.cost), (cents(10), cents(25)));
    let Decision::Refused(refusal) = ledger.approve(ask(W, 0)) else { panic!() };
    assert_eq!(refusal.exceeds_by, Some(cents(15)), "the overshoot refuses new work");
}

#[test]
fn estimates_are_held_against_the_cap() {
    let (_, mut ledger) = run("100", "");
    for booking in [Booking::Reservation, Booking::SoFar(Usage { output: 3, ..<_>::default() })] {
        let Decision::Approved(id) = ledger.approve(ask(W, 20)) else { panic!() };
        ledger.settle(id, booking);
    }
    let totals = ledger.totals(Of::Agent("a")).unwrap();
    assert_eq!((totals.calls, totals.estimates, totals.cost[0]), (2, 2, cents(23)));
    assert_eq!(ledger.position(&ScopeId::Workflow(W)).unwrap().spent, [cents(23)]);
}

#[test]
fn a_new_day_starts_at_nothing() {
    let mut ledger = Ledger::new();
    let day = ScopeId::Day("Asia/Tokyo".into());
    ledger.open_workflow(W, "", None).unwrap();
    ledger.set_cap(day.clone(), Some(cents(50))).unwrap();
    ledger.begin_day("Asia/Tokyo", "2026-03-29");
    let ask = |n| ask(W, n).scope(day.clone()).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(early) = ledger.approve(ask(30)) else { panic!() };
    let Decision::Approved(late) = ledger.approve(ask(20)) else { panic!() };
    ledger.settle(early, used(30));
    let Decision::Refused(refusal) = ledger.approve(ask(30)) else { panic!() };
    assert!(refusal.to_string().starts_with("day 2026-03-29 (Asia/Tokyo) has a cap of 0.50 USD"));
    assert!(refusal.to_string().ends_with("the next day begins at midnight in Asia/Tokyo"));
    ledger.begin_day("Asia/Tokyo", "2026-03-30");
    let Decision::Waiting(_) = ledger.approve(ask(40)) else { panic!("20 are under way") };
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
    ledger.open_workflow(W, "", Some(cents(100))).unwrap();
    ledger.open_workflow(V, "", Some(cents(100))).unwrap();
    let ann = ScopeId::User("ann".into());
    ledger.set_cap(ann, Some(cents(100))).unwrap();
    let wait = |workflow, n| ask(workflow, n).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(in_v) = ledger.approve(wait(V, 60).user("ann")) else { panic!() };
    let Decision::Waiting(moves) = ledger.approve(wait(W, 50).user("ann")) else { panic!() };
    // Its own workflow has room for this one, which is not ann's: it doesn't stand in her line.
    let Decision::Approved(in_w) = ledger.approve(wait(W, 60)) else { panic!() };
    let Decision::Waiting(younger) = ledger.approve(wait(W, 50)) else { panic!() };
    ledger.settle(in_v, used(0));
    assert_eq!(ledger.poll(), None, "now its workflow keeps it out");
    ledger.settle(in_w, used(0));
    let order: Vec<_> = std::iter::from_fn(|| ledger.poll()).map(|(id, _)| id).collect();
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
    assert_eq!(closing.refusals.further().collect::<Vec<_>>(), [(&scope, "m", 3)]);
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
    ledger.open_workflow(W, "", None).unwrap();
    ledger.set_cap(key.clone(), Some(cents(10))).unwrap();
    let wait = || ask(W, 10).scope(key.clone()).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(first) = ledger.approve(wait()) else { panic!() };
    let Decision::Waiting(_) = ledger.approve(wait()) else { panic!() };
    ledger.forget(&key);
    let Some((_, Outcome::Approved(second))) = ledger.poll() else { panic!() };
    ledger.settle(first, used(10));
    ledger.release(second);
    assert_eq!(ledger.scopes.len(), 1, "only the workflow's is left");
}

#[test]
fn an_outcome_nobody_looked_at_is_given_back() {
    let mut ledger = Ledger::new();
    ledger.open_workflow(W, "", Some(cents(10))).unwrap();
    let wait = || ask(W, 10).near_cap(NearCap::WaitForSiblings);
    let Decision::Approved(first) = ledger.approve(wait()) else { panic!() };
    let Decision::Waiting(second) = ledger.approve(wait()) else { panic!() };
    let Decision::Waiting(third) = ledger.approve(wait()) else { panic!() };
    ledger.release(first);
    ledger.leave(second);
    assert!(matches!(ledger.poll(), Some((id, Outcome::Approved(_))) if id == third));
}

#[test]
#[should_panic(expected = "a commitment ends exactly once")]
fn ending_twice_is_a_defect() {
    let (_, mut ledger) = run("100", "");
    let Decision::Approved(id) = ledger.approve(ask(W, 20)) else { panic!() };
    ledger.release(id);
    ledger.settle(id, used(1));
}

#[test]
fn a_workflow_is_opened_once() {
    let (_, mut ledger) = run("100", "20");
    assert_eq!(ledger.open_workflow(W, "", None), Err(AlreadyOpen(W)), "the cap stays");
    ledger.close_workflow(W).unwrap();
    ledger.open_workflow(W, "", None).unwrap();
    assert_eq!(ledger.totals(Of::Workflow(W)), Some(&Totals::default()));
}
