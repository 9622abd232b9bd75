//! `nucleo run`: one agent per input line, under a cap.
//!
//! Invariants: every line is accounted for in the report; a result is written as its item ends;
//! nothing that runs is cut but by a second Ctrl-C.
//!
//! - `going`: the run; `input`, `template`: what is asked; `ask`: the agent; `results`: the file, `earlier`: what it holds on
//!   resuming; `summary`: the report.
//!
//! Not here: the fan-out itself (`nucleo_agents`).

mod ask;
mod earlier;
mod going;
mod input;
mod results;
mod summary;
mod template;
#[cfg(test)]
mod tests;

pub(crate) use going::run;
