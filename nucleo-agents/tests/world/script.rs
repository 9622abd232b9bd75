//! What the agents of a seed do: a script, drawn as data and then performed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use nucleo_agents::agent::AgentHandle;
use nucleo_agents::prelude::*;
use nucleo_agents::wire::Hints;

use crate::draw::Draw;
use crate::log::{Log, planned_panic};
use crate::offer::Offer;
use crate::own::{Held, OwnAccounts, OwnJob, pause};
use crate::spread::Spread;

/// One thing that an agent does.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Call(Call),
    Own(OwnJob),
    Join(Script),
    Child(Script),
    FanOut(Spread),
    /// Agents that run by themselves, each after the one before it; some tolerate its failure.
    Chain(Vec<(Script, bool)>),
    Tool(Held),
    /// A tool that calls a model by a context it captured.
    Smuggles(Call),
    /// Dropped after so long.
    Dropped(u64, Arc<Deed>),
    Pause(u64),
    Panic,
}

pub(crate) type Script = Arc<[Deed]>;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    target: Target,
    prompt: Arc<str>,
    output: Option<u64>,
    wished: Option<u64>,
    timeout_ms: Option<u64>,
    retry: Option<RetryPolicy>,
    typed: bool,
}

#[derive(Clone, Debug)]
enum Target {
    Grade(Grade),
    Model(Arc<str>),
}

/// What is left to draw from, so that a seed's load stays small.
pub(crate) struct Drawing<'d> {
    pub(crate) draw: &'d mut Draw,
    pub(crate) offer: &'d Offer,
    pub(crate) workflow: usize,
    pub(crate) jobs_left: usize,
    /// How often what is drawn now is performed.
    pub(crate) times: usize,
    pub(crate) drops: u32,
    pub(crate) panics: u32,
    pub(crate) own: u32,
    pub(crate) number: u64,
}

impl Drawing<'_> {
    pub(crate) fn script(&mut self, depth: usize, most: usize) -> Script {
        let deeds = self.draw.size(most.div_ceil(3), most);
        (0..deeds).map(|_| self.deed(depth)).collect()
    }

    fn deed(&mut self, depth: usize) -> Deed {
        if depth > 0 && self.draw.chance(self.drops) {
            let after = self.draw.of(&[0, 1, 40, 1_000, 30_000]);
            return Deed::Dropped(after, Arc::new(self.deed(depth - 1)));
        }
        if self.draw.chance(self.panics) {
            return Deed::Panic;
        }
        if self.jobs_left < self.times {
            return Deed::Pause(1);
        }
        if self.draw.chance(self.own) {
            self.jobs_left -= self.times;
            return Deed::Own(OwnJob::draw(self.draw));
        }
        if self.draw.chance(self.own / 2) {
            if self.draw.chance(15) {
                return Deed::Smuggles(self.call());
            }
            self.jobs_left -= self.times;
            return Deed::Tool(Held::draw(self.draw));
        }
        match self.draw.between(0, if depth > 0 { 11 } else { 4 }) {
            11 => {
                let links = self.draw.size(1, 3);
                let link = |this: &mut Self| (this.script(depth - 1, 2), this.draw.chance(30));
                Deed::Chain((0..links).map(|_| link(self)).collect())
            }
            0 => Deed::Pause(self.draw.of(&[0, 1, 300, 10_000])),
            5 => Deed::Join(self.script(depth - 1, 4)),
            6 => Deed::Child(self.script(depth - 1, 3)),
            7..=10 => Deed::FanOut(self.spread(depth - 1)),
            _ => Deed::Call(self.call()),
        }
    }

    fn spread(&mut self, depth: usize) -> Spread {
        let items = self.draw.size(0, 16).min(self.jobs_left / self.times);
        let scripts = self.draw.size(1, 3);
        let times = self.times;
        self.times = times * items.div_ceil(scripts).max(1);
        let scripts = (0..scripts).map(|_| self.script(depth, 2)).collect();
        self.times = times;
        let draw = &mut *self.draw;
        Spread {
            items,
            scripts,
            in_flight: draw.maybe(40, |draw| draw.size(1, 4)),
            refuses_at_once: draw.chance(25),
            continues: draw.chance(25),
            fails_fast: draw.chance(10),
            ordered: draw.chance(20),
            streamed: draw.chance(25),
            ends_after: draw.maybe(self.drops, |draw| (draw.size(0, 4), draw.chance(60))),
        }
    }

    fn call(&mut self) -> Call {
        self.jobs_left -= self.times;
        self.number += 1;
        let draw = &mut *self.draw;
        let (grades, ids) = (self.offer.grades(), self.offer.ids());
        let few = RetryPolicy { rate_limits: 1, failures: 1, truncations: 0, corrections: 1 };
        let tokens = draw.of(&[5, 20, 20, 200, 2_000]);
        let prompt = format!("w{} c{} {}", self.workflow, self.number, "lorem ".repeat(tokens));
        Call {
            target: if draw.chance(2) {
                Target::Model("nobody".into())
            } else if draw.chance(30) {
                Target::Model(Arc::clone(&ids[draw.size(0, ids.len() - 1)]))
            } else {
                Target::Grade(draw.of(&grades))
            },
            prompt: prompt.into(),
            output: draw.maybe(85, |draw| draw.of(&[20, 100, 100, 190])),
            wished: draw.maybe(30, |draw| draw.of(&[1, 15, 90, 180, 400])),
            timeout_ms: draw.maybe(15, |draw| draw.of(&[1, 30, 500, 5_000])),
            retry: draw.maybe(30, |draw| draw.of(&[RetryPolicy::NEVER, few])),
            typed: draw.chance(15),
        }
    }
}

/// What performing needs, beside the agent's context.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) log: Arc<Log>,
    pub(crate) own: OwnAccounts,
    /// Agents go on after a failure.
    pub(crate) stubborn: bool,
    /// A call may wait as long as it may.
    pub(crate) may_expire: bool,
}

/// An agent: performs the script of its input, of those it has in turn.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) scripts: Arc<[Script]>,
    pub(crate) stage: Arc<Stage>,
}

impl Agent<usize> for Actor {
    type Out = ();
    type Error = AgentError;
    type Future = BoxFuture<'static, Result<(), AgentError>>;

    fn call(&self, ctx: AgentContext, input: usize) -> Self::Future {
        let script = &self.scripts[input % self.scripts.len()];
        perform(ctx, Arc::clone(script), Arc::clone(&self.stage))
    }
}

/// Performs a script, deed by deed.
pub(crate) fn perform(
    ctx: AgentContext,
    script: Script,
    stage: Arc<Stage>,
) -> BoxFuture<'static, Result<(), AgentError>> {
    async move {
        let mut first = Ok(());
        for deed in &*script {
            let ended = act(ctx.clone(), deed.clone(), Arc::clone(&stage)).await;
            if ended.is_err() && !stage.stubborn {
                return ended;
            }
            first = first.and(ended);
        }
        first
    }
    .boxed()
}

fn act(
    ctx: AgentContext,
    deed: Deed,
    stage: Arc<Stage>,
) -> BoxFuture<'static, Result<(), AgentError>> {
    async move {
        match deed {
            Deed::Call(call) => ended(&stage, "call", call.ask(&ctx).await),
            Deed::Own(job) => {
                let result = ctx.job(job.clone().on(stage.own), job.options()).await;
                ended(&stage, "own", result.map_err(AgentError::from))
            }
            Deed::Join(deeds) => {
                let mut acts = Vec::new();
                for deed in &*deeds {
                    acts.push(act(ctx.clone(), deed.clone(), Arc::clone(&stage)));
                }
                join_all(acts).await.into_iter().collect()
            }
            Deed::Child(script) => ctx.run(Actor { scripts: Arc::from([script]), stage }, 0).await,
            Deed::FanOut(spread) => spread.run(&ctx, &stage).await,
            Deed::Chain(links) => chain(&ctx, links, &stage).await,
            Deed::Tool(held) => {
                let needs = held.needs(stage.own);
                let result = ctx.tool(needs, move |tool| held.work(tool)).await;
                ended(&stage, "tool", result.map_err(AgentError::from))
            }
            Deed::Smuggles(call) => {
                let smuggled = ctx.clone();
                let needs = Needs::nothing().account(stage.own.permits);
                let tool = move |_: ToolContext| async move { call.ask(&smuggled).await };
                let result = ctx.tool(needs, tool).await;
                if let Err(JobError::Failed { failure, .. }) = &result {
                    let told = failure.error.to_string().contains("can't be waited for while");
                    stage.log.check(told, || format!("a smuggled call ended as {failure:?}"));
                }
                ended(&stage, "smuggler", result.map_err(AgentError::from))
            }
            Deed::Dropped(ms, deed) => {
                let act = act(ctx, (*deed).clone(), Arc::clone(&stage));
                tokio::time::timeout(Duration::from_millis(ms), act).await.unwrap_or_else(|_| {
                    stage.log.saw("dropped: a deed");
                    Ok(())
                })
            }
            Deed::Pause(ms) => {
                pause(ms).await;
                Ok(())
            }
            Deed::Panic => {
                stage.log.saw("panic: an agent");
                planned_panic()
            }
        }
    }
    .boxed()
}

/// Agents one after the other, each by itself; whoever drops this cancels them.
async fn chain(
    ctx: &AgentContext,
    links: Vec<(Script, bool)>,
    stage: &Arc<Stage>,
) -> Result<(), AgentError> {
    let mut handles: Vec<AgentHandle<()>> = Vec::new();
    let mut guards = Vec::new();
    for (script, tolerates) in links {
        let actor = Actor { scripts: Arc::from([script]), stage: Arc::clone(stage) };
        let mut link = ctx.submit(actor, 0);
        if let Some(before) = handles.last() {
            link = if tolerates { link.after_end_of(before) } else { link.after(before) };
        }
        let handle = link.start();
        guards.push(handle.cancel_on_drop());
        handles.push(handle);
    }
    let mut first = Ok(());
    for handle in handles {
        let end = handle.end().await;
        let name = end.result.as_ref().map_or_else(ItemError::name, |()| "answered");
        stage.log.saw(&format!("chain: {name}"));
        if let Err(ItemError::Panicked(message)) = &end.result {
            stage.log.check(&**message == "planned", || format!("an agent panicked: {message}"));
        }
        if let Err(error) = &end.result {
            first = first.and(Err(AgentError::other(error.to_string())));
        }
    }
    first
}

/// Notes how a job ended.
fn ended(stage: &Stage, of: &str, result: Result<(), AgentError>) -> Result<(), AgentError> {
    let name = match &result {
        Ok(()) => "answered",
        Err(AgentError::Job(error)) => {
            if let JobError::Panicked { message } = error {
                stage.log.check(&**message == "planned", || format!("a job panicked: {message}"));
            }
            if error.name() == "defective" || matches!(error, JobError::NotApproved(_)) {
                stage.log.wrong(format!("a job ended as {error:?}"));
            }
            let stranded = of == "call" && error.name() == "expired" && !stage.may_expire;
            stage.log.check(!stranded, || format!("a call waited for ever: {error:?}"));
            error.name()
        }
        Err(other) => {
            stage.log.wrong(format!("a job ended as {other:?}"));
            "other"
        }
    };
    stage.log.line(format_args!("{of} ended: {name}"));
    stage.log.saw(&format!("end: {of} {name}"));
    result
}

/// An answer that is often found wanting: whether it fits depends on its text alone.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Picky {
    #[serde(deserialize_with = "of_even_length")]
    #[schemars(with = "String")]
    _said: String,
}

fn of_even_length<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text: String = serde::Deserialize::deserialize(from)?;
    if text.len().is_multiple_of(2) {
        return Ok(text);
    }
    Err(serde::de::Error::custom("the text has an odd length"))
}

impl Call {
    async fn ask(&self, ctx: &AgentContext) -> Result<(), AgentError> {
        let mut call = match &self.target {
            Target::Grade(grade) => ctx.model(*grade),
            Target::Model(id) => ctx.model_named(Arc::clone(id)),
        };
        call = call.user(Arc::clone(&self.prompt));
        if let Some(tokens) = self.output {
            call = call.output(tokens);
        }
        if let Some(tokens) = self.wished {
            let mut hints = Hints::NONE;
            hints.output_tokens = Some(tokens);
            call = call.hints(hints);
        }
        if let Some(ms) = self.timeout_ms {
            call = call.timeout(Span::from_millis(ms));
        }
        if let Some(retry) = self.retry {
            call = call.retry(retry);
        }
        if self.typed {
            return call.answer::<Picky>().await.map(drop);
        }
        call.text().await.map(drop)
    }
}
