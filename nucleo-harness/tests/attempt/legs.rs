//! Attempts of several bindings: sent, settled and blamed one by one.

use futures_util::future::join;
use futures_util::poll;
use nucleo_core::limits::{Rate, RetryShare, TokenBucket};
use nucleo_core::spend::{Ask, NearCap};
use nucleo_core::{AccountId, Currency, Money, Need, Reserved, Span};
use nucleo_harness::attempt::{
    Counted, Counts, Ended, Failure, Granted, History, Job, JobOptions, Requirements, RetryPolicy,
    Signal,
};
use nucleo_harness::spend::SpendGate as _;

use crate::script::{Act, failure};
use crate::world::{RESERVED, TOKENS, USAGE, USED, World, cost, price, word};

/// Sends the legs it is told to, reports on those that answered, and ends so.
struct Legs {
    requirements: Requirements,
    sent: usize,
    answered: usize,
    fails: Option<Signal>,
}

impl Legs {
    /// Two bindings on the same accounts.
    fn two(world: &World, sent: usize, answered: usize, fails: Option<Signal>) -> Self {
        let mut requirements = world.script([&[]]).requirements;
        requirements.bindings.push(world.binding());
        Self { requirements, sent, answered, fails }
    }
}

impl Job for Legs {
    type Out = ();

    fn requirements(&mut self, _: &History) -> Result<Requirements, Failure> {
        Ok(self.requirements.clone())
    }

    async fn execute(&mut self, granted: Granted) -> Result<(), Failure> {
        for leg in 0..self.sent {
            granted.meter(leg).mark_sent();
        }
        for leg in 0..self.answered {
            granted.meter(leg).usage(USAGE);
            granted.meter(leg).ended(Ended::InFull);
        }
        match self.fails {
            None => Ok(()),
            Some(signal) => Err(failure(signal, Ended::RateLimited)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn legs_that_share_an_account_are_charged_together() {
    for (sent, answered, charged, money) in [
        (2, 2, 2_000, 2 * USED),
        (1, 1, 1_000, USED),
        // The second was sent, and what it used is not known.
        (2, 1, 1_000 + TOKENS, USED + RESERVED),
    ] {
        let world = World::new();
        let legs = Legs::two(&world, sent, answered, None);
        let end = world.workflow.root().run(legs, JobOptions::default()).await;
        assert_eq!(word(&end), "answered");
        assert_eq!(world.charged(world.tokens), charged, "{sent} sent, {answered} answered");
        assert_eq!(world.charged(world.requests), 1_000 * sent as u64);
        assert_eq!((world.spent(), cost(&end)), (money, money));
        world.check_rest();
    }
}

/// What a tool meters besides its binding, on the binding's own account.
#[tokio::test(start_paused = true)]
async fn a_need_on_a_binding_s_account_is_charged_besides() {
    let world = World::new();
    let mut script = world.script([&[Act::Send, Act::Report(USAGE)]]);
    script.requirements.needs.push(Need { account: world.tokens, amount: 500 });
    world.run(&script).await;
    assert_eq!(world.charged(world.tokens), 1_000 + 500);
}

/// One leg answered in full, the other met a rate limit: only the other's buckets hear of it.
#[tokio::test(start_paused = true)]
async fn only_the_binding_that_failed_is_blamed() {
    let world = World::new();
    let other = world.harness.admission().open("other requests", bucket()).unwrap();
    let asked = Span::from_mins(10);
    let limited = Signal::RateLimited { retry_after: Some(asked) };
    let mut legs = Legs::two(&world, 2, 1, Some(limited));
    legs.requirements.bindings[1].accounts =
        [Counted { account: other, counts: Counts::Requests, amount: 1 }].into_iter().collect();
    let options = JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
    let end = world.workflow.root().run(legs, options).await;
    assert_eq!(word(&end), "rate_limited");
    assert_eq!(world.harness.admission().free(other), 0, "parked");
    assert_eq!(world.charged(world.requests), 1_000, "not parked");
    world.check_rest();
}

/// One retry is one of each model that is blamed: not two of one that both legs name, and none of a
/// model where the other's is spent.
#[tokio::test(start_paused = true)]
async fn a_retry_is_one_of_each_model() {
    let share = RetryShare { percent: 0, least_a_minute: 2 };
    let world = World::set(2, 4, |builder| builder.retry_share(share));
    let attempts = async |models: [&str; 2]| {
        let at_once = Signal::Transient { retry_after: Some(Span::ZERO) };
        let mut legs = Legs::two(&world, 2, 0, Some(at_once));
        for (binding, model) in legs.requirements.bindings.iter_mut().zip(models) {
            binding.accounts.clear();
            binding.model = model.into();
        }
        let end = world.workflow.root().run(legs, JobOptions::default()).await;
        assert_eq!(word(&end), "transient");
        end.record.attempts
    };
    assert_eq!(attempts(["a", "a"]).await, 3);
    assert_eq!(attempts(["b", "a"]).await, 1);
    assert_eq!(attempts(["b", "c"]).await, 3, "nothing of b was taken in vain");
    world.check_rest();
}

fn patient() -> JobOptions {
    JobOptions { near_cap: NearCap::WaitForSiblings, ..JobOptions::default() }
}

fn cap(world: &World, attempts: i128) {
    let cap = Money::from_pico(RESERVED * attempts * 1_000_000, Currency::USD);
    world.workflow.set_cap(Some(cap));
}

/// A cap that one of the two bindings fits: the other has nobody to wait for but its own job.
#[tokio::test(start_paused = true)]
async fn no_job_waits_for_its_own_money() {
    let world = World::new();
    cap(&world, 1);
    let end = world.workflow.root().run(Legs::two(&world, 2, 2, None), patient()).await;
    assert_eq!(word(&end), "refused");
    world.check_rest();
}

/// Two jobs of two bindings each, let in by one settlement that frees two: each could hold one and
/// wait for the other's for ever.
#[tokio::test(start_paused = true)]
async fn no_job_waits_for_money_while_it_holds_some() {
    let world = World::with(4, 4);
    cap(&world, 2);
    let tokens = Reserved { input: 2_000, output: 4_000 };
    let ask = Ask::new(world.workflow.id(), "model", tokens).price(price());
    let both = world.harness.ledger().approve(ask).await.unwrap();
    let start = || Box::pin(world.workflow.root().run(Legs::two(&world, 2, 2, None), patient()));
    let (mut one, mut other) = (start(), start());
    assert!(poll!(&mut one).is_pending() && poll!(&mut other).is_pending());
    drop(both);
    let began = world.now();
    let (one, other) = join(one, other).await;
    assert_eq!((word(&one), word(&other)), ("refused", "answered"));
    assert_eq!(world.now(), began, "neither waited for the other");
    world.check_rest();
}

fn bucket() -> TokenBucket {
    TokenBucket::new(Rate::per_minute(60)).unwrap()
}

/// Two legs on one bucket are one answer about its pace: a rate limit is one step down.
#[tokio::test(start_paused = true)]
async fn one_answer_is_one_step() {
    let world = World::new();
    let paced: AccountId = world.harness.admission().open("paced", bucket()).unwrap();
    let mut legs = Legs::two(&world, 2, 0, Some(Signal::RateLimited { retry_after: None }));
    for binding in &mut legs.requirements.bindings {
        binding.accounts.iter_mut().for_each(|counted| counted.amount = 1);
        binding.accounts[1].account = paced;
    }
    let options = JobOptions { retry: RetryPolicy::NEVER, ..JobOptions::default() };
    drop(world.workflow.root().run(legs, options).await);
    // Drained to zero, and at three quarters of one a second: 45 in a minute.
    world.sleep(Span::from_secs(60)).await;
    assert_eq!(world.harness.admission().free(paced), 45);
}
