//! A job from what it depends on to its end: the attempts, in order.
//!
//! First the ends of those it depends on, holding nothing. Then each attempt: requirements, spend
//! gates, line, running in a task of its own that owns the grant, settlement, and on a retry signal a
//! pause; everything before the grant runs in the caller's future and holds nothing but a commitment.
//!
//! Invariants: the result is told after everything is settled, once; every await before the grant
//! ends when the job is cancelled; dropping the caller's future cancels the job; a panic anywhere on
//! the way ends in the result.
//!
//! Not here: the running attempt (`running`), what comes back (`table`), the law of the steps (`step`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::{FutureExt as _, poll};
use nucleo_core::spend::NearCap;
use nucleo_core::{AdmitError, Demand, Order, Span, Time};
use smallvec::SmallVec;
use tokio_util::sync::CancellationToken;

use super::binding::Binding;
use super::dependency::{Dependency, all_ended};
use super::granted::{Granted, Meter};
use super::guard::{Guard, Leg};
use super::held::Held;
use super::holding::holder;
use super::job::{History, Job, JobError, JobOptions, Past, Requirements};
use super::record::{JobEnd, JobRecord};
use super::retry::{Budget, pause};
use super::running::{self, Cut, Running};
use super::signal::{Failure, Signal};
use super::step::StepEvent;
use crate::admission::{Grant, panic_text};
use crate::spend::{Commitment, SpendError, SpendGate as _};
use crate::workflow::{Harness, Place, WaitsOn};

/// Runs a job at its place, after what it depends on.
pub(crate) async fn run<J: Job>(
    place: Place,
    options: JobOptions,
    after: Vec<Dependency>,
    job: J,
) -> JobEnd<J::Out> {
    // Whoever drops this future cancels the job, also while its attempt runs in its own task.
    let _cancel = place.cancel().clone().drop_guard();
    let mut walk = Walk::new(place, options);
    // What is not the job's own may panic too: a gate, the end of what it depends on, a drop.
    let walked = AssertUnwindSafe(walk.whole(after, job)).catch_unwind().await;
    let result = walked.unwrap_or_else(|payload| {
        Err(JobError::Panicked { message: panic_text(&*payload).into() })
    });
    walk.place.step(StepEvent::Over, WaitsOn::Nothing);
    JobEnd { result, record: walk.record }
}

/// What an attempt waits for when only its siblings' money keeps it out.
const SIBLINGS: &str = "siblings under the same cap";

/// The models of an attempt.
type Models = SmallVec<[Arc<str>; 1]>;

/// A job on its way.
struct Walk {
    place: Arc<Place>,
    options: JobOptions,
    history: History,
    budget: Budget,
    wait_left: Span,
    order: Option<Order>,
    record: JobRecord,
}

impl Walk {
    fn new(place: Place, options: JobOptions) -> Self {
        Self {
            history: History::default(),
            budget: Budget::new(options.retry),
            wait_left: options.max_wait,
            order: None,
            record: JobRecord { job: place.job(), ..JobRecord::default() },
            place: Arc::new(place),
            options,
        }
    }

    fn harness(&self) -> &Harness {
        self.place.harness()
    }

    async fn whole<J: Job>(&mut self, after: Vec<Dependency>, job: J) -> Result<J::Out, JobError> {
        self.begin(after).await?;
        self.attempts(job).await
    }

    /// Waits for what it depends on.
    async fn begin(&mut self, after: Vec<Dependency>) -> Result<(), JobError> {
        if let Some(holder) = holder() {
            return Err(JobError::WaitsWhileHolding { holder, job: self.place.job() });
        }
        if after.is_empty() {
            return Ok(());
        }
        let clock = Arc::clone(self.harness().clock());
        let since = clock.now();
        let late = clock.sleep_until(since.saturating_add(self.in_time(self.wait_left)));
        tokio::select! {
            biased;
            () = self.place.cancel().cancelled() => return Err(self.place.cancelled()),
            ended = all_ended(after) => ended?,
            () = late => return Err(self.expired("what it depends on")),
        }
        self.wait_left = self.wait_left.saturating_sub(clock.now().since(since));
        self.place.step(StepEvent::Ready, WaitsOn::Nothing);
        Ok(())
    }

    async fn attempts<J: Job>(&mut self, mut job: J) -> Result<J::Out, JobError> {
        loop {
            let requirements = self.prepare(&mut job)?;
            let commitments = self.approve(&requirements.bindings).await?;
            let grant = self.admit(&requirements).await?;
            let models: Models = requirements.bindings.iter().map(|b| b.model.clone()).collect();
            let ran = self.execute(job, requirements, commitments, grant).await?;
            self.record.booked(&ran.settled.bills);
            job = ran.job;
            let failure = match ran.outcome {
                Ok(out) => {
                    self.answered(&models);
                    return Ok(out);
                }
                Err(Cut::Failed(failure)) => failure,
                Err(Cut::Cancelled) => return Err(self.place.cancelled()),
                Err(Cut::TimedOut(_)) if self.is_late() => return Err(self.too_late(None)),
                Err(Cut::TimedOut(after)) => return Err(JobError::TimedOut { after }),
                Err(Cut::Panicked(message)) => return Err(JobError::Panicked { message }),
            };
            if matches!(failure.signal, Signal::Truncated | Signal::Correction) {
                // What it said is another matter: the model answered.
                self.answered(&models);
            }
            self.pause(Past { models, blamed: ran.settled.blamed, failure }).await?;
        }
    }

    fn answered(&self, models: &Models) {
        let harness = self.harness();
        harness.retries().succeeded(models, harness.clock().now());
    }

    /// Whether the workflow's deadline has passed.
    fn is_late(&self) -> bool {
        self.place.deadline().is_some_and(|deadline| self.harness().clock().now() >= deadline)
    }

    fn too_late(&self, failure: Option<Failure>) -> JobError {
        JobError::DeadlinePassed { deadline: self.place.state().deadline_after(), failure }
    }

    /// As much of a span as there is before the workflow's deadline.
    fn in_time(&self, span: Span) -> Span {
        let left = |deadline: Time| deadline.since(self.harness().clock().now());
        self.place.deadline().map_or(span, |deadline| span.min(left(deadline)))
    }

    /// Reads the requirements of the next attempt.
    fn prepare<J: Job>(&self, job: &mut J) -> Result<Requirements, JobError> {
        if self.place.cancel().is_cancelled() {
            return Err(self.place.cancelled());
        }
        if self.is_late() {
            return Err(self.too_late(None));
        }
        let read = catch_unwind(AssertUnwindSafe(|| job.requirements(&self.history)));
        let requirements = read
            .map_err(|payload| JobError::Panicked { message: panic_text(payload.as_ref()).into() })?
            .map_err(|failure| JobError::failed(&self.history, failure))?;
        self.place.step(StepEvent::Prepared, WaitsOn::Nothing);
        Ok(requirements)
    }

    /// Asks the spend gates for every binding.
    async fn approve(
        &mut self,
        bindings: &[Binding],
    ) -> Result<SmallVec<[Commitment; 1]>, JobError> {
        let clock = Arc::clone(self.harness().clock());
        let since = clock.now();
        let mut commitments = SmallVec::new();
        for binding in bindings {
            let key = self.place.job().attempt(self.history.next_attempt());
            let mut ask = binding.ask(&self.place, key, &self.options);
            if !commitments.is_empty() {
                // A wait here would be one while holding: two such jobs would wait for each other.
                ask.near_cap = NearCap::Refuse;
            }
            let due = since.saturating_add(self.in_time(self.wait_left));
            let asked = self.harness().gates().approve(ask);
            let mut asked = pin!(asked);
            let approved = match poll!(asked.as_mut()) {
                Poll::Ready(approved) => approved,
                Poll::Pending => {
                    let _waits = self.options.siblings.enter();
                    self.place.waits_on(WaitsOn::Siblings);
                    tokio::select! {
                        biased;
                        () = self.place.cancel().cancelled() => return Err(self.place.cancelled()),
                        approved = asked => approved,
                        () = clock.sleep_until(due) => return Err(self.expired(SIBLINGS)),
                    }
                }
            };
            commitments.push(approved.map_err(|error| match error {
                SpendError::Refused(refusal) => JobError::Refused(refusal),
                SpendError::ShutDown => JobError::ShutDown,
                error => JobError::NotApproved(error),
            })?);
        }
        self.wait_left = self.wait_left.saturating_sub(clock.now().since(since));
        self.place.step(StepEvent::Approved, WaitsOn::Line);
        Ok(commitments)
    }

    /// It waited as long as it may, in no line of admission's.
    fn expired(&self, on: &str) -> JobError {
        if self.is_late() {
            return self.too_late(None);
        }
        let (waited, on) = (self.options.max_wait, Arc::from(on));
        JobError::NotAdmitted(AdmitError::Expired { waited, on })
    }

    /// Waits in the line.
    async fn admit(&mut self, requirements: &Requirements) -> Result<Grant, JobError> {
        let demand = self.demand(requirements);
        let admitted = tokio::select! {
            biased;
            () = self.place.cancel().cancelled() => return Err(self.place.cancelled()),
            admitted = self.harness().admission().admit(demand) => admitted,
        };
        let grant = admitted.map_err(|error| match error {
            AdmitError::ShutDown => JobError::ShutDown,
            AdmitError::Expired { .. } if self.is_late() => self.too_late(None),
            error => JobError::NotAdmitted(error),
        })?;
        if self.is_late() {
            // Granted at the deadline, or approved by a gate that took its time: it comes back.
            return Err(self.too_late(None));
        }
        self.order = Some(grant.order());
        self.wait_left = self.wait_left.saturating_sub(grant.waited());
        let admission = self.place.harness().admission();
        self.record.granted(admission, &grant);
        let models = requirements.bindings.iter().map(|binding| Arc::clone(&binding.model));
        self.place.step(StepEvent::Granted, WaitsOn::Answer(models.collect()));
        Ok(grant)
    }

    fn demand(&self, requirements: &Requirements) -> Demand {
        let key = self.place.job().attempt(self.history.next_attempt());
        let counted = requirements.bindings.iter().flat_map(|binding| binding.accounts.iter());
        let metered = counted.map(|counted| (counted.account, counted.amount));
        let besides = requirements.needs.iter().map(|need| (need.account, need.amount));
        metered
            .chain(besides)
            .fold(Demand::new(key), |demand, (account, amount)| demand.need(account, amount))
            .workflow(self.place.workflow_id())
            .max_wait(self.in_time(self.wait_left))
            .hold_at_most(requirements.timeout.saturating_add(running::grace(requirements.timeout)))
            .place(self.order)
    }

    /// Runs the attempt in a task of its own.
    async fn execute<J: Job>(
        &mut self,
        job: J,
        requirements: Requirements,
        commitments: SmallVec<[Commitment; 1]>,
        grant: Grant,
    ) -> Result<running::Ran<J>, JobError> {
        let clock = Arc::clone(self.harness().clock());
        let meter = |_| Meter::new(Arc::clone(&clock));
        let meters: SmallVec<[Meter; 1]> = requirements.bindings.iter().map(meter).collect();
        let work = Meter::new(Arc::clone(&clock));
        let token: CancellationToken = self.place.cancel().child_token();
        let held = Held::new(grant, Arc::clone(&self.place));
        let granted = Granted {
            key: self.place.job().attempt(self.history.next_attempt()),
            cancel: token.clone(),
            meters: meters.clone(),
            work: work.clone(),
            clock: Arc::clone(&clock),
            shares: held.shares(),
        };
        self.record.model = requirements.bindings.last().map(|b| Arc::clone(&b.model));
        let counted = requirements.bindings.iter().flat_map(|binding| &binding.accounts);
        let amounts = counted.map(|counted| counted.amount);
        let holds = amounts.chain(requirements.needs.iter().map(|need| need.amount)).any(|n| n > 0);
        let holder = holds.then(|| self.place.job());
        let legs = requirements.bindings.into_iter().zip(commitments).zip(meters);
        let legs = legs.map(|((binding, commitment), meter)| Leg { binding, commitment, meter });
        let guard = Guard::new(held, requirements.needs, work, legs.collect());
        let (timeout, place) = (self.in_time(requirements.timeout), Arc::clone(&self.place));
        let running = Running { job, granted, guard, token, timeout, holder, place };
        let task = self.harness().tasks().spawn(running.run(clock));
        // The task ends by itself and catches every panic; it can only be lost with its runtime.
        task.await.map_err(|_| JobError::ShutDown)
    }

    /// Pauses before the next attempt, or ends the job if there is none.
    async fn pause(&mut self, past: Past) -> Result<(), JobError> {
        if self.place.cancel().is_cancelled() {
            return Err(self.place.cancelled());
        }
        let until = self.retries(&past)?;
        self.history.push(past);
        self.place.step(StepEvent::Retrying, WaitsOn::Pause { until });
        let sleep = self.harness().clock().sleep_until(until);
        tokio::select! {
            biased;
            () = self.place.cancel().cancelled() => return Err(self.place.cancelled()),
            () = sleep => {}
        }
        self.place.step(StepEvent::Resumed, WaitsOn::Nothing);
        Ok(())
    }

    /// Whether another attempt comes, and when: the job's own budgets, then how long it may wait and
    /// the deadline, then its models' budgets, so that nothing is taken of those in vain.
    fn retries(&mut self, past: &Past) -> Result<Time, JobError> {
        let Past { models, blamed, failure } = past;
        if !self.budget.take(failure.signal) {
            return Err(JobError::failed(&self.history, failure.clone()));
        }
        let clock = self.place.harness().clock();
        let (asked, left) = (failure.signal.retry_after(), self.wait_left);
        if let Some(asked) = asked.filter(|asked| *asked > left) {
            let (until, failure) = (clock.wall().saturating_add(asked), failure.clone());
            return Err(JobError::WaitTooLong { asked, until, left, failure });
        }
        let attempt = self.history.next_attempt();
        let pause = self.harness().random(|random| pause(failure.signal, attempt, random));
        let until = clock.now().saturating_add(pause);
        if self.place.deadline().is_some_and(|deadline| until >= deadline) {
            return Err(self.too_late(Some(failure.clone())));
        }
        let blamed = if blamed.is_empty() { models } else { blamed };
        let retries = self.place.harness().retries();
        retries.take(failure.signal, blamed, clock.now()).map_err(|model| {
            JobError::RetriesSpent { model, attempts: attempt, failure: failure.clone() }
        })?;
        tracing::debug!(job = %self.place.job(), attempt, signal = failure.signal.name(), %pause, "retry");
        Ok(until)
    }
}
