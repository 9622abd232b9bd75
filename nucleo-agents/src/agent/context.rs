//! What an agent is given: a place in the tree, and no resources.
//!
//! Invariants: an agent holds nothing; its calls are jobs, each admitted by itself; what they waited,
//! used and cost is summed on the agent, and so is whether the money wall refused one.
//!
//! Not here: tools, which hold what their job was granted (`tool`).

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nucleo_core::JobId;
use nucleo_core::spend::NearCap;
use nucleo_harness::attempt::{Job, JobEnd, JobError, JobOptions, JobRecord, Siblings};
use nucleo_harness::workflow::{self as harness, Node};
use tokio_util::sync::CancellationToken;

use super::contract::Agent;
use super::submit::Submission;
use crate::call::ModelCall;
use crate::catalog::Grade;
use crate::fan_out::{FanOut, Inputs};
use crate::runtime::Runtime;
use crate::tool::{Needs, ToolContext, ToolJob};
use crate::workflow::WorkflowView;

/// An agent's place: it can ask models, run child agents and fan out, and holds nothing.
///
/// Cheap to clone. See the crate's root for an example.
#[derive(Clone, Debug)]
pub struct AgentContext {
    runtime: Runtime,
    workflow: harness::Workflow,
    node: Node,
    name: Arc<str>,
    deeds: Arc<Deeds>,
    near_cap: NearCap,
    siblings: Siblings,
}

/// What an agent's calls did so far, those of its children included as they end: a child that panics
/// or is dropped has done what it has done.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    /// Whose they are.
    id: JobId,
    record: std::sync::Mutex<JobRecord>,
    refused: AtomicBool,
    /// Agents below it that run: of a fan-out, or by themselves.
    running: AtomicU32,
    parent: Option<Arc<Deeds>>,
}

impl AgentContext {
    pub(crate) fn new(
        runtime: Runtime,
        workflow: harness::Workflow,
        node: Node,
        name: Arc<str>,
    ) -> Self {
        let deeds = Arc::new(Deeds { id: node.id(), ..Deeds::default() });
        let siblings = Siblings::default();
        Self { runtime, workflow, node, name, deeds, near_cap: NearCap::Refuse, siblings }
    }

    pub(crate) fn view(&self) -> WorkflowView {
        WorkflowView::new(self.workflow.clone())
    }

    /// The same place, waiting for siblings near a cap and counted there meanwhile.
    pub(crate) fn in_fan_out(mut self, near_cap: NearCap, siblings: Siblings) -> Self {
        self.near_cap = near_cap;
        self.siblings = siblings;
        self
    }

    /// A child agent's place, with deeds of its own.
    pub(crate) fn child(&self, name: Arc<str>) -> Self {
        let node = self.node.child();
        let parent = Some(Arc::clone(&self.deeds));
        let deeds = Deeds { id: node.id(), parent, ..Deeds::default() };
        Self { node, deeds: Arc::new(deeds), name, ..self.clone() }
    }

    /// A question to a model of at least this grade.
    pub fn model(&self, grade: Grade) -> ModelCall {
        ModelCall::of_grade(self.clone(), grade)
    }

    /// A question to one entry of the catalog, by its id.
    pub fn model_named(&self, id: impl Into<Arc<str>>) -> ModelCall {
        ModelCall::named(self.clone(), id.into())
    }

    /// Runs another agent below this one.
    ///
    /// # Errors
    /// The agent's own error.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the child and everything below it.
    pub async fn run<A, In>(&self, agent: A, input: In) -> Result<A::Out, A::Error>
    where
        A: Agent<In>,
    {
        let child = self.child(agent.name().into());
        let _cancel = child.node.cancel_token().clone().drop_guard();
        agent.call(child, input).await
    }

    /// Runs an agent over many inputs, below this one.
    pub fn fan_out<A, In, Source>(&self, inputs: Source, agent: A) -> FanOut<A, In>
    where
        A: Agent<In>,
        In: Clone + Send + 'static,
        Source: Into<Inputs<In>>,
    {
        FanOut::new(self.clone(), inputs.into(), agent)
    }

    /// An agent below this one that runs by itself, after others if it depends on them. Its end can
    /// be looked at by as many as have its handle.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use nucleo_agents::agent::AgentHandle;
    /// use nucleo_agents::prelude::*;
    /// async fn outline(ctx: AgentContext, topic: String) -> Result<String, AgentError> {
    ///     ctx.model(Grade::Small).user(format!("Outline: {topic}")).output(64).text().await
    /// }
    /// async fn chapter(ctx: AgentContext, of: AgentHandle<String>) -> Result<String, AgentError> {
    ///     let outline = of.end().await; // has ended already
    ///     let outline = outline.result.as_ref().map_err(Clone::clone).map_err(AgentError::other)?;
    ///     ctx.model(Grade::Small).user(format!("Write it: {outline}")).output(64).text().await
    /// }
    /// let runtime = Runtime::start(Catalog::loopback())?;
    /// let workflow = runtime.workflow("book").start();
    /// let outline = workflow.submit(outline, "bread".to_owned()).start();
    /// let chapter = workflow.submit(chapter, outline.clone()).after(&outline).start();
    /// assert!(chapter.end().await.result.is_ok());
    /// # Ok(()) }
    /// ```
    pub fn submit<A, In>(&self, agent: A, input: In) -> Submission<A, In>
    where
        A: Agent<In>,
        A::Out: Sync,
        In: Send + 'static,
    {
        Submission::new(self.child(agent.name().into()), agent, input)
    }

    /// Runs a tool: an async fn that holds these needs from its first step to its last, and whatever
    /// it put on a thread until that is gone. It can't submit anything.
    ///
    /// # Errors
    /// [`JobError::Failed`] with the tool's own error, which is not tried again; and what any job
    /// ends with: not admitted, timed out, cancelled.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the tool: it gets its grace, then it is dropped.
    pub async fn tool<F, Fut, T, E>(&self, needs: Needs, tool: F) -> Result<T, JobError>
    where
        F: FnOnce(ToolContext) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        self.job(ToolJob::new(needs, self.runtime.http(), tool), self.options()).await
    }

    /// Runs a job of your own: any resource, without a model.
    ///
    /// # Errors
    /// [`JobError`], by what to do next.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the job.
    pub async fn job<J: Job>(&self, job: J, options: JobOptions) -> Result<J::Out, JobError> {
        self.run_job(job, options).await
    }

    /// The id of this place in the tree.
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.node.id()
    }

    /// The agent's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it runs on.
    #[must_use]
    pub const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Fires when this agent is cancelled.
    #[must_use]
    pub const fn cancel_token(&self) -> &CancellationToken {
        self.node.cancel_token()
    }

    /// What its calls did so far.
    #[must_use]
    pub fn record(&self) -> JobRecord {
        self.deeds.record()
    }

    pub(crate) const fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) const fn deeds(&self) -> &Arc<Deeds> {
        &self.deeds
    }

    pub(crate) fn options(&self) -> JobOptions {
        JobOptions {
            agent: Arc::clone(&self.name),
            near_cap: self.near_cap,
            siblings: self.siblings.clone(),
            ..JobOptions::default()
        }
    }

    /// Runs a job at the next place, and notes what it did.
    pub(crate) async fn run_job<J: Job>(
        &self,
        job: J,
        options: JobOptions,
    ) -> Result<J::Out, JobError> {
        let unfinished = Unfinished::new(&self.deeds);
        let end = self.node.run(job, options).await;
        unfinished.finish();
        self.note(end)
    }

    /// Sums what a job did, and hands out its result.
    fn note<Out>(&self, end: JobEnd<Out>) -> Result<Out, JobError> {
        self.deeds.add(&end.record);
        if let Err(error) = &end.result
            && error.refusal().is_some()
        {
            self.deeds.refuse();
        }
        end.result
    }
}

/// An agent that runs below another. Those above know that there is more to be told, until it is
/// dropped with the agent's future.
#[derive(Debug)]
pub(crate) struct Runs {
    below: Option<Arc<Deeds>>,
}

impl Runs {
    pub(crate) fn of(agent: &Arc<Deeds>) -> Self {
        let below = agent.parent.clone();
        for deeds in below.iter().flat_map(|below| below.upwards()) {
            deeds.running.fetch_add(1, Ordering::AcqRel);
        }
        Self { below }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        for deeds in self.below.iter().flat_map(|below| below.upwards()) {
            deeds.running.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A call under way: dropped before it is finished, it is noted as such.
pub(crate) struct Unfinished<'d> {
    deeds: Option<&'d Deeds>,
}

impl<'d> Unfinished<'d> {
    pub(crate) const fn new(deeds: &'d Deeds) -> Self {
        Self { deeds: Some(deeds) }
    }

    pub(crate) fn finish(mut self) {
        self.deeds = None;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(deeds) = self.deeds {
            deeds.add(&JobRecord { untold: 1, ..JobRecord::default() });
        }
    }
}

impl Deeds {
    /// Itself, and whoever it works for.
    fn upwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |deeds| deeds.parent.as_deref())
    }

    fn add(&self, record: &JobRecord) {
        for deeds in self.upwards() {
            deeds.record.lock().expect("summing can't panic").absorb(record);
        }
    }

    fn refuse(&self) {
        self.upwards().for_each(|deeds| deeds.refused.store(true, Ordering::Release));
    }

    pub(crate) fn record(&self) -> JobRecord {
        let sum = self.record.lock().expect("summing can't panic").clone();
        let untold = sum.untold.saturating_add(self.running.load(Ordering::Acquire));
        JobRecord { job: self.id, untold, ..sum }
    }

    /// Whether the money wall refused one of its calls.
    pub(crate) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire)
    }
}
