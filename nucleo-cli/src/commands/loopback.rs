//! `nucleo loopback`: the loopback provider as a server of its own.
//!
//! Invariants: the line that tells the address is printed once it can be connected to; the server
//! ends at Ctrl-C.
//!
//! Not here: what it serves (`nucleo_agents::providers::loopback`).

use std::process::ExitCode;

use nucleo_agents::loopback_config;
use nucleo_agents::providers::loopback::Loopback;

use crate::output::Output;
use crate::{args, interrupt};

pub(crate) fn run(args: &args::Loopback) -> anyhow::Result<ExitCode> {
    let catalog = super::catalog(args.catalog.as_deref())?;
    let config = loopback_config(&catalog).seed(args.seed);
    super::block_on(async {
        let mut interrupts = interrupt::watch();
        let server = Loopback::start(config, args.listen)?;
        let mut out = Output::stdout();
        out.line(&format!("listening on http://{}", server.address()))?;
        out.finish()?;
        interrupts.next().await;
        server.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}
