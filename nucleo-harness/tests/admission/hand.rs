//! Scripts at a clock that stands still: each input wakes exactly those whom it lets go.

use std::sync::Arc;
use std::task::Poll;

use nucleo_core::limits::{Permits, Rate, TokenBucket};
use nucleo_core::{AccountId, AdmitError, Charge, Monitor, Settlement, Span};
use nucleo_harness::admission::{Admission, Ending};
use nucleo_harness::runtime::ManualClock;

use crate::waiter::{Waiter, demand, hold};

/// A pool of four, a pool of two, a hundred tokens a second; nothing moves by itself.
struct World {
    admission: Admission,
    clock: Arc<ManualClock>,
    pool: AccountId,
    other: AccountId,
    tokens: AccountId,
}

impl World {
    fn new() -> Self {
        let mut monitor = Monitor::new();
        let pool = monitor.open("pool", Permits::new(4));
        let other = monitor.open("other", Permits::new(2));
        let tokens = monitor.open("tokens", TokenBucket::new(Rate::per_second(100)).unwrap());
        let clock = Arc::new(ManualClock::new());
        let admission = Admission::without_timer(monitor, Arc::clone(&clock) as _);
        Self { admission, clock, pool, other, tokens }
    }

    fn free(&self) -> [i128; 3] {
        [self.pool, self.other, self.tokens].map(|account| self.admission.free(account))
    }
}

#[test]
fn what_comes_back_wakes_those_whom_it_lets_go_and_nobody_else() {
    let world = World::new();
    let (first, second) =
        (hold(&world.admission, &[(world.pool, 3)]), hold(&world.admission, &[(world.pool, 1)]));
    let head = Waiter::waits(&world.admission, &[(world.pool, 2)]);
    let next = Waiter::waits(&world.admission, &[(world.pool, 1)]);
    let last = Waiter::waits(&world.admission, &[(world.pool, 1)]);
    drop(second);
    assert_eq!(
        [head.woken(), next.woken(), last.woken()],
        [0, 0, 0],
        "one is too few for the head"
    );
    drop(first);
    let held = [head.decided().unwrap(), next.decided().unwrap(), last.decided().unwrap()];
    assert_eq!(world.free(), [0, 2, 100]);
    drop(held);
    assert_eq!(world.free(), [4, 2, 100]);
}

/// What the head waits for is set aside; when it leaves, those behind it go in the same lock hold.
#[test]
fn a_head_that_leaves_lets_its_followers_go() {
    let world = World::new();
    let holder = hold(&world.admission, &[(world.pool, 2)]);
    let head = Waiter::waits(&world.admission, &[(world.pool, 4)]);
    let followers = [1, 1].map(|n| Waiter::waits(&world.admission, &[(world.pool, n)]));
    let behind = Waiter::waits(&world.admission, &[(world.pool, 1), (world.other, 1)]);
    // Nothing of the head's is wanted here.
    drop(hold(&world.admission, &[(world.other, 2)]));
    drop(head);
    assert_eq!(behind.woken(), 0, "two were free");
    let granted = followers.map(|follower| follower.decided().unwrap());
    drop(granted);
    drop(behind.decided().unwrap());
    drop(holder);
    assert_eq!((world.free(), world.admission.waiting()), ([4, 2, 100], 0));
}

/// A grant that landed and was never picked up is given back by the future's drop.
#[test]
fn a_grant_that_nobody_took_goes_to_the_next() {
    let world = World::new();
    let holder = hold(&world.admission, &[(world.pool, 4), (world.tokens, 60)]);
    let first = Waiter::waits(&world.admission, &[(world.pool, 4), (world.tokens, 60)]);
    let second = Waiter::waits(&world.admission, &[(world.pool, 4), (world.tokens, 60)]);
    drop(holder);
    assert_eq!((first.woken(), second.woken()), (1, 0));
    drop(first);
    let grant = second.decided().unwrap();
    assert_eq!(world.free(), [0, 2, 40]);
    grant.roll_back();
    assert_eq!(world.free(), [4, 2, 100]);
}

/// Every way for a grant to end, and what it leaves of 60 tokens and 3 permits.
#[test]
fn the_ends_of_a_grant() {
    let take = |world: &World| hold(&world.admission, &[(world.pool, 3), (world.tokens, 60)]);
    let used =
        |world: &World, charge| Ending::new(Settlement::in_full().charge(world.tokens, charge));

    let world = World::new();
    drop(take(&world));
    assert_eq!(world.free(), [4, 2, 100], "dropped unsent: as if it never happened");
    take(&world).roll_back();
    assert_eq!(world.free(), [4, 2, 100]);

    let mut sent = take(&world);
    sent.mark_sent();
    drop(sent);
    assert_eq!(world.free(), [4, 2, 40], "dropped after it was sent: metered stays spent");

    let world = World::new();
    take(&world).settle(Ending::default());
    assert_eq!(world.free(), [4, 2, 40], "in full");
    let world = World::new();
    take(&world).settle(used(&world, Charge::Used(10)));
    assert_eq!(world.free(), [4, 2, 90]);
    let world = World::new();
    take(&world).settle(used(&world, Charge::Used(250)));
    assert_eq!(world.free(), [4, 2, -150], "a debit past the level is a fact");
    let world = World::new();
    take(&world).settle(used(&world, Charge::RolledBack));
    assert_eq!(world.free(), [4, 2, 100]);
}

/// The clock alone lets it go, at the instant that a turn names, and not before.
#[test]
fn a_turn_names_the_next_instant() {
    let world = World::new();
    hold(&world.admission, &[(world.tokens, 100)]).settle(Ending::default());
    let waits = Waiter::waits(&world.admission, &[(world.tokens, 25)]);
    let due = world.admission.turn().unwrap();
    assert_eq!(due.as_nanos(), 250_000_000);
    world.clock.advance(Span::from_nanos(249_999_999));
    assert_eq!(
        (world.admission.turn(), waits.woken()),
        (Some(due), 0),
        "an early turn is harmless"
    );
    world.clock.advance(Span::from_nanos(1));
    world.admission.turn();
    let grant = waits.decided().unwrap();
    assert_eq!(grant.waited(), Span::from_millis(250));
    assert_eq!(grant.waited_on().accounts(), [(world.tokens, Span::from_millis(250))]);
}

#[test]
fn a_wait_that_ends_names_what_it_was_short_of_and_for_how_long() {
    let world = World::new();
    let holder = hold(&world.admission, &[(world.other, 2)]);
    let needs = [(world.pool, 1), (world.other, 1)];
    let patience = Span::from_secs(90);
    let mut waits = Waiter::new(&world.admission, demand(&needs).max_wait(patience));
    assert!(waits.poll().is_pending());
    let due = world.admission.turn().unwrap();
    assert_eq!(due.as_nanos(), patience.as_nanos());
    world.clock.advance(patience);
    world.admission.turn();
    let error = waits.decided().unwrap_err();
    assert_eq!(error, AdmitError::Expired { waited: patience, on: "other".into() });
    drop(holder);
    assert_eq!(world.free(), [4, 2, 100]);
}

/// An expired head is a head that leaves.
#[test]
fn an_expired_head_lets_its_followers_go() {
    let world = World::new();
    let _holder = hold(&world.admission, &[(world.pool, 1)]);
    let patience = Span::from_secs(1);
    let mut head = Waiter::new(&world.admission, demand(&[(world.pool, 4)]).max_wait(patience));
    assert!(head.poll().is_pending());
    let follower = Waiter::waits(&world.admission, &[(world.pool, 3)]);
    world.clock.advance(patience);
    world.admission.turn();
    assert!(matches!(head.decided(), Err(AdmitError::Expired { .. })));
    drop(follower.decided().unwrap());
}

#[test]
fn stop_tells_everyone_and_grants_live_on() {
    let world = World::new();
    let mut holder = hold(&world.admission, &[(world.pool, 4), (world.tokens, 60)]);
    let waits = [1, 2, 3].map(|n| Waiter::waits(&world.admission, &[(world.pool, n)]));
    world.admission.stop();
    for waiter in waits {
        assert_eq!(waiter.decided().unwrap_err(), AdmitError::ShutDown);
    }
    let late = Waiter::new(&world.admission, demand(&[(world.other, 1)])).poll();
    assert!(matches!(late, Poll::Ready(Err(AdmitError::ShutDown))));
    holder.mark_sent();
    drop(holder);
    assert_eq!(world.free(), [4, 2, 40]);
}

/// Limits that change while someone waits.
#[test]
fn a_changed_limit_is_looked_at_at_once() {
    let world = World::new();
    let holder = hold(&world.admission, &[(world.pool, 4)]);
    let two = Waiter::waits(&world.admission, &[(world.pool, 2)]);
    let four = Waiter::waits(&world.admission, &[(world.pool, 4)]);
    world.admission.resize(world.pool, 6);
    let granted = two.decided().unwrap();
    world.admission.resize(world.pool, 3);
    let error = four.decided().unwrap_err();
    let expected = AdmitError::LargerThanLimit { account: "pool".into(), asked: 4, capacity: 3 };
    assert_eq!(error, expected);
    drop((holder, granted));
    assert_eq!(world.admission.free(world.pool), 3);

    hold(&world.admission, &[(world.tokens, 100)]).settle(Ending::default());
    let waits = Waiter::waits(&world.admission, &[(world.tokens, 60)]);
    assert_eq!(world.admission.turn().unwrap().as_nanos(), 600_000_000);
    world.admission.reconfigure(world.tokens, Rate::per_second(600)).unwrap();
    assert_eq!(world.admission.turn().unwrap().as_nanos(), 100_000_000, "the deadline is new");
    world.clock.advance(Span::from_millis(100));
    world.admission.turn();
    drop(waits.decided().unwrap());
}

/// A retry asks with the place of its first attempt: before those who came after it.
#[test]
fn a_place_is_kept() {
    let world = World::new();
    let first = hold(&world.admission, &[(world.pool, 1)]);
    let place = first.order();
    drop(first);
    let holder = hold(&world.admission, &[(world.pool, 4)]);
    let later = Waiter::waits(&world.admission, &[(world.pool, 4)]);
    let mut retry = Waiter::new(&world.admission, demand(&[(world.pool, 4)]).place(Some(place)));
    assert!(retry.poll().is_pending());
    drop(holder);
    assert_eq!(later.woken(), 0);
    drop(retry.decided().unwrap());
    drop(later.decided().unwrap());
}

/// More than a pass decides: the rest is owed, and done before anything younger.
#[test]
fn owed_grants_come_before_younger_ones() {
    let world = World::new();
    world.admission.resize(world.pool, 100);
    let holder = hold(&world.admission, &[(world.pool, 100)]);
    let waits: Vec<_> =
        (0..100).map(|_| Waiter::waits(&world.admission, &[(world.pool, 1)])).collect();
    drop(holder);
    let woken = || waits.iter().map(Waiter::woken).sum::<usize>();
    assert_eq!(woken(), 64, "a pass ends");
    let young = Waiter::waits(&world.admission, &[(world.pool, 1)]);
    assert_eq!(woken(), 100, "whoever enters does the rest");
    assert_eq!(young.woken(), 0);
    drop(waits);
    drop(young.decided().unwrap());
    assert_eq!(world.admission.free(world.pool), 100);
}
