//! `nucleo plan`: the runtime's own admission in virtual time.
//!
//! Invariants: the scenario is read strictly; what is printed is what the runtime would decide.
//!
//! Not here: deciding (`nucleo_core::plan`).

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use nucleo_core::plan::{Outcome, Plan, Scenario, plan};
use serde::Serialize;

use crate::args;
use crate::output::Output;

pub(crate) fn run(args: &args::Plan) -> anyhow::Result<ExitCode> {
    let name = args.scenario.display().to_string();
    let text = if name == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("can't read standard input")?;
        text
    } else {
        std::fs::read_to_string(&args.scenario)
            .with_context(|| format!("can't read the scenario {name}"))?
    };
    let scenario: Scenario = serde_json::from_str(&text)
        .with_context(|| format!("{name} is no scenario: see docs/design/cli.md for its keys"))?;
    let planned = plan(&scenario).with_context(|| name.clone())?;
    let mut out = Output::stdout();
    if args.json {
        print_json(&mut out, &planned)?
    } else {
        print_text(&mut out, &planned)?
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(out: &mut Output, plan: &Plan) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Last<'s> {
        summary: &'s nucleo_core::plan::Summary,
    }
    for job in &plan.jobs {
        out.json(job)?;
    }
    out.json(&Last { summary: &plan.summary })
}

/// How many jobs are told one by one before the list is cut.
const SHOWN: usize = 40;

fn print_text(out: &mut Output, plan: &Plan) -> anyhow::Result<()> {
    for job in plan.jobs.iter().take(SHOWN) {
        let at = job.at_ms().map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3} ms"));
        let outcome = match job.outcome {
            Outcome::Granted => "granted",
            Outcome::Refused => "refused",
            Outcome::Cancelled => "cancelled",
            Outcome::Waiting => "waiting",
        };
        let reason = job.reason.as_deref().map(|text| format!("  {text}")).unwrap_or_default();
        out.line(&format!("{:<24} {outcome:<10} {at:>16}{reason}", job.id))?;
    }
    if plan.jobs.len() > SHOWN {
        out.line(&format!("… and {} more; --json tells all", plan.jobs.len() - SHOWN))?;
    }
    let summary = &plan.summary;
    out.line(&format!(
        "{} granted, {} refused, {} cancelled, {} waiting for ever",
        summary.granted, summary.refused, summary.cancelled, summary.waiting
    ))?;
    out.line(&format!(
        "all done after {:.3} s; waits: mean {:.3} s, 99th percentile {:.3} s, longest {:.3} s",
        summary.makespan_ms / 1e3,
        summary.wait_mean_ms / 1e3,
        summary.wait_p99_ms / 1e3,
        summary.wait_max_ms / 1e3
    ))?;
    for cost in &summary.cost {
        out.line(&format!("costs {cost}"))?;
    }
    if let Some(binding) = &summary.binding {
        let seconds = summary.short_ms[binding] / 1e3;
        out.line(&format!("binds: {binding}, short for {seconds:.3} s"))?;
    }
    Ok(())
}
