//! A run, from its arguments to its exit code.
//!
//! Invariants: a result is written as its item ends; a first Ctrl-C stops submitting, a second one
//! cancels.
//!
//! Not here: what is asked (`input`, `ask`), what is printed (`summary`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use nucleo_agents::fan_out::{Item, ItemStatus, Tally};
use nucleo_agents::{Runtime, Workflow};
use nucleo_core::Span;
use nucleo_core::spend::ScopeId;

use super::ask::Answer;
use super::earlier::{Earlier, ResultLine};
use super::input::{Line, Lines};
use super::results::Results;
use super::summary::Summary;
use super::template::Template;
use crate::commands::{block_on, catalog};
use crate::progress::Progress;
use crate::{args, exit, interrupt, trouble};

pub(crate) fn run(args: &args::Run) -> anyhow::Result<ExitCode> {
    let template = args.prompt.as_deref().map(read_template).transpose()?;
    let catalog = catalog(args.catalog.as_deref())?;
    let input = super::input::open(&args.input)?;
    block_on(async {
        let (network, troubles) = trouble::watched()?;
        let runtime = Runtime::builder(catalog).transport(network).start()?;
        // Before the results are touched: no line could be asked.
        runtime.serves(args.grade)?;
        // Last, so that a results file is only touched when nothing else stands in the way.
        let (results, earlier) = super::results::open(args)?;
        let mut workflow = runtime.workflow(args.input.display().to_string());
        if let Some(cap) = args.cap {
            workflow = workflow.cap(cap);
        }
        let workflow = workflow.start();
        let lines = Lines::new(input, template, earlier.answered.clone());
        let (tally, failures) = (Tally::default(), BTreeMap::new());
        let run = Run { args, workflow, results, troubles, tally, failures, lost: None };
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
    troubles: trouble::Troubles,
    tally: Tally,
    /// Failed lines by the kind of their error.
    failures: BTreeMap<String, usize>,
    /// Why results are written no longer.
    lost: Option<anyhow::Error>,
}

impl Run<'_> {
    async fn go(mut self, lines: Lines, earlier: &Earlier) -> anyhow::Result<ExitCode> {
        self.carry_over(earlier);
        let broken = lines.broken();
        let clock = Arc::clone(self.workflow.runtime().harness().clock());
        let begun = clock.now();
        let mut progress = Progress::new(None, begun);
        let mut interrupts = interrupt::watch();
        let (grade, output) = (self.args.grade, self.args.output);
        let agent = move |context, line: Line| super::ask::ask(context, line, grade, output);
        let inputs = nucleo_agents::fan_out::Inputs::iter(lines);
        let mut fan_out =
            self.workflow.fan_out(inputs, agent).max_in_flight(self.args.in_flight.get());
        if self.args.refuse_at_once {
            fan_out = fan_out.refuse_at_once();
        }
        let mut tick = clock.sleep_until(progress.due());
        loop {
            tokio::select! {
                biased;
                pressed = interrupts.next() => {
                    fan_out.stop();
                    if self.interrupted(pressed, &progress).is_break() {
                        break;
                    }
                }
                Some(trouble) = self.troubles.recv() => progress.say(&trouble),
                item = fan_out.next() => {
                    let Some(item) = item else { break };
                    if self.ended(&item, &progress).is_break() {
                        fan_out.stop();
                    }
                    progress.step(&self.workflow, fan_out.in_flight(), clock.now());
                }
                () = &mut tick => {
                    progress.show(&self.workflow, fan_out.in_flight(), clock.now());
                    tick = clock.sleep_until(progress.due());
                }
            }
        }
        progress.finish();
        let not_submitted = fan_out.into_rest().into_iterator().map_or(0, Iterator::count);
        let wall = clock.now().since(begun);
        let broken = broken.lock().expect("storing an error can't panic").take();
        self.close(not_submitted, wall, broken, interrupts.pressed())
    }

    /// Counts and writes one outcome; breaks when output is lost.
    fn ended(&mut self, item: &Item<Line, Answer>, progress: &Progress) -> ControlFlow<()> {
        self.tally.count(item);
        let line = ResultLine::of(item);
        if let (ItemStatus::Failed, Some(error)) = (item.status, &line.error) {
            *self.failures.entry(error.kind.clone()).or_default() += 1;
        }
        if self.lost.is_some() {
            return ControlFlow::Break(());
        }
        let Err(error) = self.results.write(&line) else {
            return ControlFlow::Continue(());
        };
        if !exit::is_closed_pipe(&error) {
            progress.say("output is lost: no further line is submitted, what runs ends");
        }
        self.lost = Some(error);
        ControlFlow::Break(())
    }

    /// Reports, and says how the command ends.
    fn close(
        self,
        not_submitted: usize,
        wall: Span,
        broken: Option<std::io::Error>,
        pressed: u32,
    ) -> anyhow::Result<ExitCode> {
        let closed_pipe = self.lost.as_ref().is_some_and(exit::is_closed_pipe);
        let summary =
            Summary::of(&self.workflow, &self.tally, self.failures.clone(), not_submitted, wall);
        let shown = if closed_pipe {
            Ok(())
        } else {
            summary.print(self.args.json, self.args.out.is_some())
        };
        if let Some(error) = self.lost {
            return Err(error);
        }
        shown?;
        if let Some(error) = &broken {
            let name = self.args.input.display();
            eprintln!("nucleo: can't read on in {name}: {error}; what follows was not submitted");
        }
        let code = self.code(not_submitted, pressed);
        Ok(ExitCode::from(if broken.is_some() { code.max(exit::FAILED) } else { code }))
    }

    /// What an earlier run of the same results spent counts against the cap.
    fn carry_over(&self, earlier: &Earlier) {
        let ledger = self.workflow.runtime().harness().ledger();
        for cost in &earlier.cost {
            let scope = ScopeId::Workflow(self.workflow.id());
            ledger.carry_over(&scope, *cost).expect("the workflow has just been opened");
        }
    }

    /// Tells what a Ctrl-C does; breaks when nothing is waited for any more.
    fn interrupted(&self, pressed: u32, progress: &Progress) -> ControlFlow<()> {
        match pressed {
            1 => progress.say("stopping: what runs ends normally; Ctrl-C again cancels it"),
            2 => {
                self.workflow.cancel();
                progress.say(
                    "cancelling: calls have up to 30 s to end and be booked; Ctrl-C again \
                     doesn't wait for them",
                );
            }
            _ => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn code(&self, not_submitted: usize, pressed: u32) -> u8 {
        let refused = self.tally.refused > 0 || !self.workflow.refusals().is_empty();
        if pressed > 1 {
            exit::CANCELLED
        } else if refused {
            exit::REFUSED
        } else if self.tally.failed > 0 || not_submitted > 0 {
            exit::FAILED
        } else {
            exit::OK
        }
    }
}
