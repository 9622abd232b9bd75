//! Workflows of agents: an id, a cap, and a tree of agents and their calls.
//!
//! Invariants: those of the harness's workflow: a cap refuses new work and cuts nothing; dropping
//! the handle cancels nothing unless asked.
//!
//! Not here: the harness's own workflow (`nucleo_harness::workflow`), fan-out (`fan_out`).

use std::sync::Arc;

use nucleo_core::spend::{SpendRefusal, Totals};
use nucleo_core::{Money, Span, WorkflowId};
use nucleo_harness::workflow as harness;

use crate::agent::{Agent, AgentContext, Submission};
use crate::fan_out::{FanOut, Inputs};
use crate::runtime::Runtime;

/// A workflow about to start.
#[derive(Debug)]
#[must_use = "a workflow begins with `start`"]
pub struct WorkflowBuilder {
    runtime: Runtime,
    inner: harness::WorkflowBuilder,
}

/// A workflow that runs.
#[derive(Clone, Debug)]
pub struct Workflow {
    inner: harness::Workflow,
    context: AgentContext,
}

impl WorkflowBuilder {
    pub(crate) const fn new(runtime: Runtime, inner: harness::WorkflowBuilder) -> Self {
        Self { runtime, inner }
    }

    /// The most it may spend; without one it is counted, not limited.
    pub fn cap(mut self, cap: Money) -> Self {
        self.inner = self.inner.cap(cap);
        self
    }

    /// Who its calls are for: a total of their own, and a cap where one is set for the user
    /// ([`Runtime::set_cap`]).
    pub fn user(mut self, user: impl Into<Arc<str>>) -> Self {
        self.inner = self.inner.user(user);
        self
    }

    /// How long after its start everything of it has to be over: it bounds every wait, every pause
    /// and every call's timeout; a fan-out pulls no further input then.
    pub fn deadline(mut self, after: Span) -> Self {
        self.inner = self.inner.deadline(after);
        self
    }

    /// Starts it.
    #[must_use]
    pub fn start(self) -> Workflow {
        let inner = self.inner.start();
        let name = Arc::clone(inner.name());
        let context = AgentContext::new(self.runtime, inner.clone(), inner.root().clone(), name);
        Workflow { inner, context }
    }
}

impl Workflow {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> WorkflowId {
        self.inner.id()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// What it runs on.
    #[must_use]
    pub const fn runtime(&self) -> &Runtime {
        self.context.runtime()
    }

    /// The place at its root: for calls outside of any agent.
    #[must_use]
    pub const fn context(&self) -> &AgentContext {
        &self.context
    }

    /// Runs one agent.
    ///
    /// # Errors
    /// The agent's own error.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the agent and its calls.
    pub async fn run<A, In>(&self, agent: A, input: In) -> Result<A::Out, A::Error>
    where
        A: Agent<In>,
    {
        self.context.run(agent, input).await
    }

    /// Runs an agent over many inputs.
    pub fn fan_out<A, In, Source>(&self, inputs: Source, agent: A) -> FanOut<A, In>
    where
        A: Agent<In>,
        In: Clone + Send + 'static,
        Source: Into<Inputs<In>>,
    {
        self.context.fan_out(inputs, agent)
    }

    /// An agent that runs by itself, after others if it depends on them: see [`AgentContext::submit`].
    pub fn submit<A, In>(&self, agent: A, input: In) -> Submission<A, In>
    where
        A: Agent<In>,
        A::Out: Sync,
        In: Send + 'static,
    {
        self.context.submit(agent, input)
    }

    /// Changes its cap; what is committed stays, and whoever waits for money is looked at anew.
    pub fn set_cap(&self, cap: Option<Money>) {
        self.inner.set_cap(cap);
    }

    /// Its cap.
    #[must_use]
    pub fn cap(&self) -> Option<Money> {
        self.view().cap()
    }

    /// What it spent so far, in its cap's currency, or in the only one it has.
    #[must_use]
    pub fn spent(&self) -> Option<Money> {
        self.view().spent()
    }

    /// Its calls, tokens and money.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.inner.totals()
    }

    /// Every refusal, oldest first; the first 1,000 are kept whole.
    #[must_use]
    pub fn refusals(&self) -> Vec<SpendRefusal> {
        self.inner.refusals()
    }

    /// The jobs that have not ended: who, where, since when.
    #[must_use]
    pub fn live(&self) -> Vec<harness::LiveJob> {
        self.inner.live()
    }

    /// The `most` jobs that have been longest where they are, with what they wait on: who stalls.
    /// Each prints as one sentence.
    #[must_use]
    pub fn longest(&self, most: usize) -> Vec<harness::Standing> {
        self.inner.longest(most)
    }

    /// Cancels all of it.
    pub fn cancel(&self) {
        self.inner.cancel();
    }

    /// Cancels the workflow when the guard is dropped.
    #[must_use = "dropping the guard cancels the workflow"]
    pub fn cancel_on_drop(&self) -> harness::CancelOnDrop {
        self.inner.cancel_on_drop()
    }

    fn view(&self) -> WorkflowView {
        self.context.view()
    }
}

/// What a report looks up about its workflow.
#[derive(Clone, Debug)]
pub(crate) struct WorkflowView {
    inner: harness::Workflow,
}

impl WorkflowView {
    pub(crate) const fn new(inner: harness::Workflow) -> Self {
        Self { inner }
    }

    pub(crate) fn refusals(&self) -> Vec<SpendRefusal> {
        self.inner.refusals()
    }

    pub(crate) fn cap(&self) -> Option<Money> {
        self.inner.position()?.cap
    }

    pub(crate) fn spent(&self) -> Option<Money> {
        let position = self.inner.position()?;
        match position.cap {
            Some(cap) => {
                let mut same = position.spent.iter().filter(|sum| sum.currency() == cap.currency());
                Some(same.next().copied().unwrap_or(Money::zero(cap.currency())))
            }
            None => position.spent.first().copied(),
        }
    }
}
