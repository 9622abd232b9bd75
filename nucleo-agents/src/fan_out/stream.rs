//! The fan-out itself: a stream of outcomes.
//!
//! Each input's agent is polled once where it is pulled, so that a refusal is seen before the next
//! input is, and then runs in a task of its own.
//!
//! Invariants: at most `max_in_flight` agents run; nothing is pulled after the first spend refusal,
//! nor while an attempt waits for siblings, nor past the workflow's deadline; its end waits for no
//! input that may not be pulled any more; dropping the stream cancels what runs.
//!
//! Not here: what an outcome is (`item`), counting (`report`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use nucleo_core::spend::NearCap;
use nucleo_harness::attempt::{JobError, Siblings, holder};
use tokio::task::{Id, JoinSet};

use super::inputs::Inputs;
use super::item::{Item, ItemError, ItemStatus};
use super::report::Report;
use crate::agent::{Agent, AgentContext, Deeds, Runs, flatten, until_cancelled};

/// What a fan-out does at a spend refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnRefusal {
    /// It pulls no further input; what runs ends normally.
    #[default]
    Stop,
    /// It goes on: a smaller job may still fit.
    Continue,
}

/// How many agents run at once, unless told.
pub const IN_FLIGHT_DEFAULT: usize = 1_000;

/// One agent over many inputs: a stream of outcomes, in order of completion.
#[must_use = "a fan-out runs as it is polled: `collect` it, or take its items"]
pub struct FanOut<A: Agent<In>, In> {
    context: AgentContext,
    agent: Arc<A>,
    name: Arc<str>,
    inputs: Inputs<In>,
    exhausted: bool,
    running: JoinSet<Result<A::Out, ItemError>>,
    /// Whose task it is.
    tasks: HashMap<Id, Begun<In>>,
    /// Ended already at their first poll.
    ended: Vec<Item<In, A::Out>>,
    siblings: Siblings,
    /// When nothing is pulled any more, whether an input comes or not.
    over: BoxFuture<'static, ()>,
    options: Options,
    stopped: bool,
    order: Option<Ordered<In, A::Out>>,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    in_flight_max: usize,
    on_refusal: OnRefusal,
    near_cap: NearCap,
    fail_fast: bool,
}

/// An input whose agent runs.
struct Begun<In> {
    index: usize,
    input: In,
    deeds: Arc<Deeds>,
}

/// Outcomes that wait for earlier ones.
struct Ordered<In, Out> {
    ready: BTreeMap<usize, Item<In, Out>>,
    open: BTreeSet<usize>,
}

impl<A, In> FanOut<A, In>
where
    A: Agent<In>,
    In: Clone + Send + 'static,
{
    pub(crate) fn new(context: AgentContext, inputs: Inputs<In>, agent: A) -> Self {
        Self {
            over: context.node().over().fuse().boxed(),
            context,
            name: agent.name().into(),
            agent: Arc::new(agent),
            inputs,
            exhausted: false,
            running: JoinSet::new(),
            tasks: HashMap::new(),
            ended: Vec::new(),
            siblings: Siblings::default(),
            options: Options {
                in_flight_max: IN_FLIGHT_DEFAULT,
                on_refusal: OnRefusal::Stop,
                near_cap: NearCap::WaitForSiblings,
                fail_fast: false,
            },
            stopped: false,
            order: None,
        }
    }

    /// How many agents run at once; 1,000 unless told, at least one.
    pub const fn max_in_flight(mut self, agents: usize) -> Self {
        self.options.in_flight_max = if agents == 0 { 1 } else { agents };
        self
    }

    /// Near the cap, refuse at once: don't wait for siblings to settle for less than they reserved.
    pub const fn refuse_at_once(mut self) -> Self {
        self.options.near_cap = NearCap::Refuse;
        self
    }

    /// What it does at a spend refusal; it stops pulling unless told.
    pub const fn on_refusal(mut self, on_refusal: OnRefusal) -> Self {
        self.options.on_refusal = on_refusal;
        self
    }

    /// Stop pulling and cancel the others at the first failure.
    pub const fn fail_fast(mut self) -> Self {
        self.options.fail_fast = true;
        self
    }

    /// Outcomes in input order. Those that end early wait in memory for earlier ones.
    pub fn ordered(mut self) -> Self {
        self.order = Some(Ordered { ready: BTreeMap::new(), open: BTreeSet::new() });
        self
    }

    /// Runs to the end.
    ///
    /// # Cancel safety
    /// Dropping the future cancels what runs and loses the outcomes so far; take the items of the
    /// stream one by one where that matters.
    pub async fn collect(mut self) -> Report<In, A::Out> {
        let view = self.context.view();
        let mut report = Report::new(Inputs::iter(Vec::new()), view);
        while let Some(item) = self.next().await {
            report.add(item);
        }
        report.set_rest(self.into_rest());
        report
    }

    /// Stops pulling; what runs ends normally.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// How many agents run.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// The inputs that were never pulled.
    #[must_use]
    pub fn into_rest(mut self) -> Inputs<In> {
        std::mem::replace(&mut self.inputs, Inputs::iter(Vec::new()))
    }

    /// Whether another input may be pulled, now or later.
    fn goes_on(&self) -> bool {
        !self.stopped
            && !self.exhausted
            && !self.context.cancel_token().is_cancelled()
            && !self.context.node().is_late()
    }

    /// Whether another input may be pulled now.
    fn may_pull(&self) -> bool {
        self.goes_on()
            && self.running.len() < self.options.in_flight_max
            && self.siblings.waiting() == 0
    }

    /// Pulls inputs and starts their agents, as long as it may.
    fn pull(&mut self, cx: &mut Context<'_>) {
        while self.ended.is_empty() && self.may_pull() {
            match self.inputs.poll_pull(cx) {
                Poll::Pending => return,
                Poll::Ready(None) => self.exhausted = true,
                Poll::Ready(Some((index, input))) => self.begin(index, input, cx),
            }
        }
    }

    /// Polls an agent once, and lets it run on in a task of its own.
    fn begin(&mut self, index: usize, input: In, cx: &mut Context<'_>) {
        let child = self.context.child(Arc::clone(&self.name));
        let child = child.in_fan_out(self.options.near_cap, self.siblings.clone());
        let begun = Begun { index, input: input.clone(), deeds: Arc::clone(child.deeds()) };
        if let Some(order) = &mut self.order {
            order.open.insert(index);
        }
        if let Some(holder) = holder() {
            // Whoever polls us holds something, and what runs in a task of its own isn't seen there.
            let error = JobError::WaitsWhileHolding { holder, job: child.id() };
            let item = self.item(begun, Err(ItemError::Agent(Arc::new(error))));
            self.ended.push(item);
            return;
        }
        let agent = Arc::clone(&self.agent);
        let cancel = child.cancel_token().clone();
        let runs = Runs::of(child.deeds());
        let work = async move {
            let _runs = runs;
            let called = agent.call(child, input).await;
            called.map_err(|error| ItemError::Agent(Arc::from(error.into())))
        };
        let mut work = Box::pin(AssertUnwindSafe(work).catch_unwind());
        // The first poll is here, so that its refusal is known before the next input is pulled.
        match work.as_mut().poll(cx) {
            Poll::Ready(result) => {
                let item = self.item(begun, flatten(result));
                self.ended.push(item);
            }
            Poll::Pending => {
                let clock = Arc::clone(self.context.runtime().harness().clock());
                let task = self.running.spawn(until_cancelled(work, cancel, clock));
                self.tasks.insert(task.id(), begun);
            }
        }
    }

    /// Makes an outcome of an ended agent, and sees what it means for the others.
    fn item(&mut self, begun: Begun<In>, result: Result<A::Out, ItemError>) -> Item<In, A::Out> {
        let refused = begun.deeds.was_refused();
        let status = match &result {
            Ok(_) => ItemStatus::Answered,
            Err(_) if refused => ItemStatus::Refused,
            Err(_) => ItemStatus::Failed,
        };
        if refused && self.options.on_refusal == OnRefusal::Stop {
            self.stopped = true;
        }
        if status == ItemStatus::Failed && self.options.fail_fast {
            self.stopped = true;
            self.running.abort_all();
        }
        let record = begun.deeds.record();
        Item { index: begun.index, input: begun.input, result, status, record }
    }

    /// The next agent that has ended.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item<In, A::Out>>> {
        if let Some(item) = self.ended.pop() {
            return Poll::Ready(Some(item));
        }
        let joined = std::task::ready!(self.running.poll_join_next_with_id(cx));
        let Some(joined) = joined else {
            return Poll::Ready(None);
        };
        let (id, result) = match joined {
            Ok((id, result)) => (id, result),
            Err(lost) => (lost.id(), Err(ItemError::Cancelled)),
        };
        let begun = self.tasks.remove(&id).expect("every task has its input");
        let item = self.item(begun, result);
        Poll::Ready(Some(item))
    }

    /// Whether a refusal of a running agent has been noted: nothing is pulled after it.
    fn notice_refusals(&mut self) {
        let refused = || self.tasks.values().any(|begun| begun.deeds.was_refused());
        if !self.stopped && self.options.on_refusal == OnRefusal::Stop && refused() {
            self.stopped = true;
        }
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Item<In, A::Out>>> {
        self.siblings.watch(cx.waker());
        self.notice_refusals();
        self.pull(cx);
        let item = std::task::ready!(self.poll_ended(cx));
        if item.is_none() && self.goes_on() {
            // The inputs have nothing yet, or what an ended agent left behind waits for siblings:
            // either wakes us, and so does the end of it all.
            return self.over.as_mut().poll(cx).map(|()| None);
        }
        Poll::Ready(item)
    }
}

impl<A, In> Stream for FanOut<A, In>
where
    A: Agent<In>,
    In: Clone + Send + 'static,
{
    type Item = Item<In, A::Out>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(order) = &mut this.order
                && let Some(first) = order.open.first().copied()
                && let Some(item) = order.ready.remove(&first)
            {
                order.open.remove(&first);
                return Poll::Ready(Some(item));
            }
            let item = std::task::ready!(this.poll_item(cx));
            match (item, &mut this.order) {
                (Some(item), Some(order)) => {
                    order.ready.insert(item.index, item);
                }
                (item, _) => return Poll::Ready(item),
            }
        }
    }
}

/// Everything in it is owned, and no future of it is pinned in place.
impl<A: Agent<In>, In> Unpin for FanOut<A, In> {}

impl<A: Agent<In>, In> fmt::Debug for FanOut<A, In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut")
            .field("agent", &self.name)
            .field("inputs", &self.inputs)
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}
