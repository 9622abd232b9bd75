//! A run, from its arguments to its exit code.
//!
//! Invariants: a result is written as its item ends; a first Ctrl-C stops submitting, a second one
//! cancels.
//!
//! Not here: what is asked (`input`, `ask`), what is printed (`summary`).

use std::process::ExitCode;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use nucleo_agents::fan_out::Tally;
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::spend::ScopeId;

use super::input::{Line, Lines};
use super::results::{Earlier, ResultLine, Results};
use super::summary::Summary;
use super::template::Template;
use crate::commands::{block_on, catalog};
use crate::progress::Progress;
use crate::{args, exit, interrupt};

pub(crate) fn run(args: &args::Run) -> anyhow::Result<ExitCode> {
    let template = args.prompt.as_deref().map(read_template).transpose()?;
    let catalog = catalog(args.catalog.as_deref())?;
    let (results, earlier) =
        super::results::open(args.out.as_deref(), args.resume, args.overwrite, args.json)?;
    let name = args.input.display().to_string();
    let skip = earlier.answered.clone();
    let lines = Lines::open(&args.input, template, skip)
        .with_context(|| format!("can't read the input {name}"))?;
    block_on(async {
        let runtime = Runtime::start(catalog)?;
        let mut workflow = runtime.workflow(name.as_str());
        if let Some(cap) = args.cap {
            workflow = workflow.cap(cap);
        }
        let workflow = workflow.start();
        let run = Run { args, workflow, results };
        run.go(lines, &earlier).await
    })
}

fn read_template(path: &std::path::Path) -> anyhow::Result<Template> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).with_context(|| format!("can't read the prompt {name}"))?;
    Template::parse(&text).with_context(|| format!("the prompt {name}"))
}

/// A run under way.
struct Run<'a> {
    args: &'a args::Run,
    workflow: Workflow,
    results: Results,
}

impl Run<'_> {
    async fn go(mut self, lines: Lines, earlier: &Earlier) -> anyhow::Result<ExitCode> {
        self.carry_over(earlier);
        let broken = lines.broken();
        let clock = std::sync::Arc::clone(self.workflow.runtime().harness().clock());
        let begun = clock.now();
        let mut progress = Progress::new(None, begun);
        let mut interrupts = interrupt::watch();
        let (grade, output) = (self.args.grade, self.args.output);
        let agent = move |context, line: Line| super::ask::ask(context, line, grade, output);
        let inputs = nucleo_agents::fan_out::Inputs::iter(lines);
        let mut fan_out = self.workflow.fan_out(inputs, agent).max_in_flight(self.args.in_flight);
        if self.args.refuse_at_once {
            fan_out = fan_out.refuse_at_once();
        }
        let mut tally = Tally::default();
        let mut lost = None;
        loop {
            tokio::select! {
                biased;
                pressed = interrupts.next() => self.interrupted(pressed, &mut fan_out, &progress),
                item = fan_out.next() => {
                    let Some(item) = item else { break };
                    tally.count(&item);
                    progress.step(&self.workflow, fan_out.in_flight(), clock.now());
                    if lost.is_none() && let Err(error) = self.results.write(&ResultLine::of(&item)) {
                        progress.say("output is lost: no further line is submitted, what runs ends");
                        fan_out.stop();
                        lost = Some(error);
                    }
                }
            }
        }
        progress.finish();
        let not_submitted = fan_out.into_rest().into_iterator().map_or(0, Iterator::count);
        let wall = clock.now().since(begun);
        let summary = Summary::of(&self.workflow, &tally, not_submitted, wall);
        let shown = summary.print(self.args.json, self.args.out.is_some());
        if let Some(error) = lost {
            return Err(error);
        }
        shown?;
        if let Some(error) = broken.lock().expect("storing an error can't panic").take() {
            return Err(error)
                .with_context(|| format!("can't read on in {}", self.args.input.display()));
        }
        Ok(self.code(&tally, not_submitted, interrupts.pressed()))
    }

    /// What an earlier run of the same results spent counts against the cap.
    fn carry_over(&self, earlier: &Earlier) {
        let ledger = self.workflow.runtime().harness().ledger();
        for cost in &earlier.cost {
            let scope = ScopeId::Workflow(self.workflow.id());
            ledger.carry_over(&scope, *cost).expect("the workflow has just been opened");
        }
    }

    fn interrupted<A, In>(
        &self,
        pressed: u32,
        fan_out: &mut nucleo_agents::fan_out::FanOut<A, In>,
        progress: &Progress,
    ) where
        A: nucleo_agents::agent::Agent<In>,
        In: Clone + Send + 'static,
    {
        fan_out.stop();
        if pressed == 1 {
            progress.say("stopping: what runs ends normally; Ctrl-C again cancels it");
        } else {
            progress.say("cancelling what runs");
            self.workflow.cancel();
        }
    }

    fn code(&self, tally: &Tally, not_submitted: usize, pressed: u32) -> ExitCode {
        let refused = tally.refused > 0 || !self.workflow.refusals().is_empty();
        ExitCode::from(if pressed > 1 {
            exit::CANCELLED
        } else if refused {
            exit::REFUSED
        } else if tally.failed > 0 || not_submitted > 0 {
            exit::FAILED
        } else {
            exit::OK
        })
    }
}
