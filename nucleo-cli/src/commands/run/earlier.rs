//! What an earlier run left in a results file.
//!
//! A kill may cut the last line anywhere; what is left of it is taken away when the run goes on. A
//! file that holds anything else is nobody's results and stays as it is.
//!
//! Invariants: every cost counts; of several lines about one item the last holds; only the beginning
//! of a line of results is ever taken away.
//!
//! Not here: writing and mending the file (`results`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use nucleo_core::{Money, PICO, Usage};
use serde::{Deserialize, Serialize};

/// One line of results.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResultLine {
    pub(crate) index: usize,
    pub(crate) status: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) error: Option<ErrorLine>,
    #[serde(default)]
    pub(crate) usage: Usage,
    /// `null` for what had no price and for what was never sent.
    #[serde(default)]
    pub(crate) cost: Option<Money>,
    /// Of its attempts, those whose usage and cost are an estimate: the reservation, where no complete
    /// answer came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) estimated: u32,
    #[serde(default)]
    pub(crate) model: Option<Arc<str>>,
    #[serde(default)]
    pub(crate) attempts: u32,
    #[serde(default)]
    pub(crate) wait_ms: u64,
    #[serde(default)]
    pub(crate) waited_on: BTreeMap<Arc<str>, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ErrorLine {
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// What an earlier run left.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) answered: BTreeSet<usize>,
    pub(crate) cost: Vec<Money>,
    /// How long the whole lines are.
    pub(crate) whole_bytes: u64,
    /// The last whole line lacks only its end of line: what it paid counts.
    pub(crate) lacks_line_end: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what the attribute asks for")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Earlier {
    /// Reads a results file; `name` is what errors call it.
    pub(crate) fn read(file: impl Read, name: &str) -> anyhow::Result<Self> {
        let mut reader = BufReader::new(file);
        let (mut earlier, mut statuses) = (Self::default(), BTreeMap::new());
        let mut number = 0;
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes);
            let read = read.with_context(|| format!("can't read {name}"))?;
            let lacks_line_end = read > 0 && bytes.last() != Some(&b'\n');
            if read == 0 {
                break;
            }
            number += 1;
            let line = serde_json::from_slice::<ResultLine>(&bytes);
            if lacks_line_end && line.is_err() && was_cut(&bytes) {
                break;
            }
            earlier.whole_bytes += read as u64;
            earlier.lacks_line_end = lacks_line_end;
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let place = || format!("{name}:{number}");
            let line = line.with_context(|| {
                format!("{} is no line of results: --resume needs a results file", place())
            })?;
            if let Some(cost) = line.cost {
                add(&mut earlier.cost, cost).with_context(place)?;
            }
            statuses.insert(line.index, line.status == "answered");
        }
        let answered = statuses.into_iter().filter(|(_, answered)| *answered);
        earlier.answered = answered.map(|(index, _)| index).collect();
        Ok(earlier)
    }
}

/// How every line of results begins.
const BEGINNING: &[u8] = b"{\"index\":";

/// Whether this is what a kill, or a system that went down, leaves of a line of results.
fn was_cut(bytes: &[u8]) -> bool {
    let shorter = bytes.len().min(BEGINNING.len());
    // Some file systems have made room for what they never wrote.
    bytes[..shorter] == BEGINNING[..shorter] || bytes.iter().all(|byte| *byte == 0)
}

/// The greatest sum of costs, in 1e-12 units: 1e24 units, past all bills.
const COST_SUM_MAX: i128 = 1_000_000_000_000_000_000_000_000 * PICO;

fn add(sums: &mut Vec<Money>, cost: Money) -> anyhow::Result<()> {
    if cost.pico() < 0 {
        bail!("a cost of {cost}: no run has earned money");
    }
    let place = sums.iter().position(|sum| sum.currency() == cost.currency());
    let place = place.unwrap_or_else(|| {
        sums.push(Money::zero(cost.currency()));
        sums.len() - 1
    });
    let sum = sums[place].pico().saturating_add(cost.pico());
    if sum > COST_SUM_MAX {
        bail!("a cost of {cost}: the costs up to here are more than money can tell");
    }
    sums[place] = Money::from_pico(sum, cost.currency());
    Ok(())
}
