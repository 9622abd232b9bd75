//! The checks of the fuzz targets: the very files that the crates' own tests run, taken by path.
//!
//! Invariants: nothing is checked here that CI does not check too, on other bytes; an input is the
//! bytes of the document itself, or for a state machine the bytes of its choices.
//!
//! Not here: the checks (`nucleo-core/tests`, `nucleo-agents/tests/bytes`, and beside the command's
//! code), how to run (`run`, `docs/testing.md`).
#![allow(dead_code, reason = "a target takes what it needs")]

#[path = "../../nucleo-core/tests/lockstep/admission.rs"]
mod admission_walk;
#[path = "../../nucleo-core/tests/bytes/amounts.rs"]
mod amounts_text;
#[path = "../../nucleo-agents/tests/bytes/answers.rs"]
mod answers_text;
#[path = "../../nucleo-agents/tests/bytes/catalog.rs"]
mod catalog_text;
#[path = "../../nucleo-core/tests/lockstep/draw.rs"]
mod draw;
#[path = "../../nucleo-agents/tests/bytes/exchange.rs"]
mod exchange;
#[path = "../../nucleo-agents/tests/bytes/headers.rs"]
mod headers_text;
#[path = "../../nucleo-core/tests/bytes/scenario.rs"]
mod scenario_text;
#[path = "../../nucleo-core/tests/lockstep/spend.rs"]
mod spend_walk;

#[path = "."]
mod run {
    #[path = "../../nucleo-cli/src/commands/run/earlier.rs"]
    pub(crate) mod earlier;
    #[path = "../../nucleo-cli/src/commands/run/input.rs"]
    pub(crate) mod input;
    #[path = "../../nucleo-cli/src/commands/run/template.rs"]
    pub(crate) mod template;
    #[path = "."]
    pub(crate) mod tests {
        #[path = "../../nucleo-cli/src/commands/run/tests/checks.rs"]
        pub(crate) mod checks;
    }
}

#[path = "."]
mod replay {
    #[path = "../../nucleo-cli/src/commands/replay/trace.rs"]
    pub(crate) mod trace;
    #[path = "."]
    pub(crate) mod tests {
        #[path = "../../nucleo-cli/src/commands/replay/tests/checks.rs"]
        pub(crate) mod checks;
    }
}

fn messages_exchange(bytes: &[u8]) {
    exchange::check(exchange::Wire::Messages, bytes);
}

fn openai_exchange(bytes: &[u8]) {
    exchange::check(exchange::Wire::Chat, bytes);
}

/// One function a target, by the target's name.
macro_rules! targets {
    ($($name:ident = $check:path),* $(,)?) => {
        $(
            #[doc = concat!("The check of the target `", stringify!($name), "`.")]
            pub fn $name(bytes: &[u8]) {
                $check(bytes);
            }
        )*
    };
}

targets! {
    admission = admission_walk::check,
    amounts = amounts_text::check,
    answers = answers_text::check,
    catalog = catalog_text::check,
    headers = headers_text::check,
    input = run::tests::checks::input,
    messages = messages_exchange,
    openai = openai_exchange,
    results = run::tests::checks::results,
    scenario = scenario_text::check,
    spend = spend_walk::check,
    template = run::tests::checks::template,
    trace = replay::tests::checks::trace,
}
