//! `nucleo check`: a catalog, loaded strictly, and what is callable.
//!
//! Invariants: nothing is sent; a catalog that loads is printed, callable or not.
//!
//! Not here: the rules of a catalog (`nucleo_agents::catalog`).

use std::process::ExitCode;

use nucleo_agents::catalog::{Catalog, Credentials};

use crate::args;
use crate::output::Output;

pub(crate) fn run(args: &args::Check) -> anyhow::Result<ExitCode> {
    let catalog = Catalog::load(&args.catalog)?;
    let report = catalog.check(&Credentials::of_process(&catalog));
    let mut out = Output::stdout();
    if args.json {
        out.json(&report)?;
    } else {
        out.line(report.to_string().trim_end())?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
