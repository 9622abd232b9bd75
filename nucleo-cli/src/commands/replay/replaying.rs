//! A replay, from its arguments to its exit code.
//!
//! Invariants: every row is told, and counted.
//!
//! Not here: the rows (`trace`, `job`), what is told (`summary`).

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use futures_util::StreamExt as _;
use nucleo_agents::catalog::{Catalog, ModelEntry, ProviderKind};
use nucleo_agents::fan_out::{Inputs, Item, ItemStatus, Tally};
use nucleo_agents::prelude::*;
use nucleo_agents::providers::loopback::prompt_of_tokens;
use nucleo_agents::wire::Hints;
use nucleo_core::{Span, Time};
use nucleo_harness::runtime::Clock;
use serde::Serialize;

use super::job::Job;
use super::summary::{Summary, rounded};
use super::{bound, memory, trace};
use crate::exit::OutputLost;
use crate::progress::Progress;
use crate::{args, exit};

pub(crate) fn run(args: &args::Replay) -> anyhow::Result<ExitCode> {
    if !(args.speed > 0.0 && args.speed.is_finite()) {
        bail!("--speed {}: it is a number above zero", args.speed);
    }
    let catalog = crate::commands::catalog(args.catalog.as_deref())?;
    let rows = trace::read(&args.trace, args.rows)?;
    let model = default_model(&catalog)?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        let place = || format!("{}: row {}", args.trace.display(), row.number);
        let named = row.model.as_deref().map(|id| entry(&catalog, id)).transpose();
        let model = named.with_context(place)?.unwrap_or_else(|| Arc::clone(&model));
        jobs.push(Job::new(row.clone(), model, args).with_context(place)?);
    }
    crate::commands::block_on(async { Replay::start(args, catalog)?.go(jobs).await })
}

/// The model of rows that name none: the first that a loopback provider of this process serves.
fn default_model(catalog: &Catalog) -> anyhow::Result<Arc<ModelEntry>> {
    let loopback = |model: &&Arc<ModelEntry>| {
        let provider = catalog.provider(&model.provider);
        provider.is_some_and(|provider| provider.kind == ProviderKind::Loopback)
    };
    let first = catalog.models().find(loopback).cloned();
    first.with_context(|| {
        format!("{}: replay needs a model of a provider of kind `loopback`", catalog.name())
    })
}

fn entry(catalog: &Catalog, id: &str) -> anyhow::Result<Arc<ModelEntry>> {
    let found = catalog.model(id).cloned();
    found.with_context(|| {
        format!("{} has no model `{id}`: add it there, or leave the column empty", catalog.name())
    })
}

/// How one row went.
#[derive(Clone, Debug)]
struct Answered {
    /// The call itself, from its grant on.
    call: Span,
}

/// One line of `--out`.
#[derive(Debug, Serialize)]
struct RowLine {
    row: usize,
    status: ItemStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    model: Option<Arc<str>>,
    input_tokens: u64,
    output_tokens: u64,
    attempts: u32,
    wait_ms: u64,
    ended_ms: u64,
}

/// A replay under way.
struct Replay<'a> {
    args: &'a args::Replay,
    runtime: Runtime,
    catalog: Catalog,
    out: Option<std::fs::File>,
}

impl<'a> Replay<'a> {
    fn start(args: &'a args::Replay, catalog: Catalog) -> anyhow::Result<Self> {
        let out = args.out.as_deref().map(|path| {
            let file = std::fs::File::create(path);
            file.with_context(|| format!("can't create {}", path.display()))
        });
        let runtime = Runtime::start(catalog.clone())?;
        Ok(Self { args, runtime, catalog, out: out.transpose()? })
    }

    async fn go(mut self, jobs: Vec<Job>) -> anyhow::Result<ExitCode> {
        let total = jobs.len();
        let bounds: Vec<_> = jobs.iter().map(|job| bound::Call::of(&self.catalog, job)).collect();
        let clock = Arc::clone(self.runtime.harness().clock());
        let workflow = self.runtime.workflow("replay").start();
        let begun = clock.now();
        let agent_clock = Arc::clone(&clock);
        let agent = move |context, job: Job| replay(context, job, begun, Arc::clone(&agent_clock));
        let mut fan_out = workflow.fan_out(Inputs::iter(jobs), agent).max_in_flight(total.max(1));
        let mut progress = Progress::new(Some(total as u64), begun);
        let (mut tally, mut shortest) = (Tally::default(), None::<Span>);
        let mut last = begun;
        while let Some(item) = fan_out.next().await {
            last = clock.now();
            if let Ok(answered) = &item.result {
                shortest = Some(shortest.map_or(answered.call, |call| call.min(answered.call)));
            }
            tally.count(&item);
            self.write(&item, last.since(begun))?;
            progress.step(&workflow, fan_out.in_flight(), last);
        }
        progress.finish();
        let span = last.since(begun).as_secs_f64();
        let bound = bound::of(&bounds) + shortest.unwrap_or_default().as_secs_f64();
        let servers = self.runtime.loopback_servers().iter();
        let summary = Summary {
            rows: total,
            answered: tally.answered,
            failed: tally.failed,
            span_s: rounded(span),
            bound_s: rounded(bound),
            ratio: rounded(if bound > 0.0 { span / bound } else { 0.0 }),
            http_429: servers.map(|server| server.ledger().http_429).sum(),
            input_tokens: tally.usage.input_total(),
            output_tokens: tally.usage.output_total(),
            rss_peak_bytes: memory::peak_bytes(),
        };
        summary.print(self.args.json)?;
        Ok(ExitCode::from(if tally.answered == total { exit::OK } else { exit::FAILED }))
    }

    fn write(&mut self, item: &Item<Job, Answered>, ended: Span) -> anyhow::Result<()> {
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        let line = RowLine {
            row: item.input.row.number,
            status: item.status,
            error: item.result.as_ref().err().map(nucleo_agents::fan_out::ItemError::chain),
            model: item.record.model.clone(),
            input_tokens: item.record.usage.input_total(),
            output_tokens: item.record.usage.output_total(),
            attempts: item.record.attempts,
            wait_ms: item.record.waited.as_millis(),
            ended_ms: ended.as_millis(),
        };
        // Handed to the system whole, so that a kill leaves whole lines.
        let text = serde_json::to_string(&line)? + "\n";
        out.write_all(text.as_bytes()).map_err(|cause| self.lost(cause))
    }

    fn lost(&self, cause: std::io::Error) -> anyhow::Error {
        let place = self.args.out.as_deref().map(|path| path.display().to_string());
        OutputLost { place: place.unwrap_or_default(), cause }.into()
    }
}

/// The agent: one row, at its instant.
async fn replay(
    context: AgentContext,
    job: Job,
    begun: Time,
    clock: Arc<dyn Clock>,
) -> Result<Answered, AgentError> {
    if job.arrives > Span::ZERO {
        clock.sleep_until(begun.saturating_add(job.arrives)).await;
    }
    let arrived = clock.now();
    // Made here, so that a row that waits for its instant is only a row.
    let prompt = prompt_of_tokens(job.row.input_tokens, job.row.number as u64);
    let call = context.model_named(Arc::clone(&job.model.id)).user(prompt).output(job.declared);
    call.hints(Hints::output_tokens(job.row.output_tokens)).text().await?;
    let waited = context.record().waited;
    Ok(Answered { call: clock.now().since(arrived).saturating_sub(waited) })
}
