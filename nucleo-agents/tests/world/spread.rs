//! Fan-outs of a script: drawn settings, and what must hold of their outcomes.

use std::sync::Arc;

use futures_util::StreamExt as _;
use nucleo_agents::fan_out::FanOut;
use nucleo_agents::prelude::*;

use crate::script::{Actor, Script, Stage};

/// A fan-out: its items' scripts in turn, and how it goes about them.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) items: usize,
    pub(crate) scripts: Arc<[Script]>,
    pub(crate) in_flight: Option<usize>,
    pub(crate) refuses_at_once: bool,
    pub(crate) continues: bool,
    pub(crate) fails_fast: bool,
    pub(crate) ordered: bool,
    pub(crate) streamed: bool,
    /// Dropped, or else stopped, after so many outcomes.
    pub(crate) ends_after: Option<(usize, bool)>,
}

impl Spread {
    pub(crate) async fn run(
        &self,
        ctx: &AgentContext,
        stage: &Arc<Stage>,
    ) -> Result<(), AgentError> {
        let agent = Actor { scripts: Arc::clone(&self.scripts), stage: Arc::clone(stage) };
        let inputs: Inputs<usize> = if self.streamed {
            Inputs::stream(futures_util::stream::iter(0..self.items))
        } else {
            Inputs::iter(0..self.items)
        };
        let mut fan_out = ctx.fan_out(inputs, agent);
        if let Some(agents) = self.in_flight {
            fan_out = fan_out.max_in_flight(agents);
        }
        if self.refuses_at_once {
            fan_out = fan_out.refuse_at_once();
        }
        if self.continues {
            fan_out = fan_out.on_refusal(OnRefusal::Continue);
        }
        if self.fails_fast {
            stage.log.saw("fan-out: failed fast");
            fan_out = fan_out.fail_fast();
        }
        if self.ordered {
            fan_out = fan_out.ordered();
        }
        match self.ends_after {
            Some((outcomes, dropped)) => self.taken(fan_out, outcomes, dropped, stage).await,
            None => self.collected(fan_out, stage).await,
        }
        Ok(())
    }

    async fn collected(&self, fan_out: FanOut<Actor, usize>, stage: &Stage) {
        let report = fan_out.collect().await;
        let (answered, failed, refused) = (report.answered(), report.failed(), report.refused());
        stage.log.line(format_args!("fan-out ended: {report}"));
        let items = answered + failed + refused;
        let left = report.not_submitted();
        let adds_up = left.map_or(items <= self.items, |left| items + left == self.items);
        stage.log.check(adds_up, || format!("{items} items and {left:?} of {}", self.items));
        for item in report.failures() {
            judge_item(item, stage);
        }
        stage.log.saw("fan-out: collected");
    }

    /// Takes outcomes one by one, up to so many; then drops the fan-out, or stops it.
    async fn taken(
        &self,
        mut fan_out: FanOut<Actor, usize>,
        outcomes: usize,
        dropped: bool,
        stage: &Stage,
    ) {
        let mut taken = Vec::new();
        while let Some(item) = fan_out.next().await {
            judge_item(&item, stage);
            taken.push(item.index);
            if taken.len() == outcomes && dropped {
                stage.log.saw("fan-out: dropped midway");
                return;
            }
            if taken.len() == outcomes {
                fan_out.stop();
                stage.log.saw("fan-out: stopped");
            }
        }
        let ordered = taken.is_sorted();
        stage.log.check(!self.ordered || ordered, || format!("out of order: {taken:?}"));
        let left = fan_out.into_rest().into_iterator().map(Iterator::count);
        let items = taken.len();
        let adds_up = left.is_none_or(|left| items + left == self.items);
        stage
            .log
            .check(adds_up, || format!("{items} items taken, {left:?} left of {}", self.items));
        taken.sort_unstable();
        taken.dedup();
        stage.log.check(taken.len() == items, || "an item came twice".to_owned());
    }
}

fn judge_item<Out>(item: &Item<usize, Out>, stage: &Stage) {
    if let Err(ItemError::Panicked(message)) = &item.result {
        stage
            .log
            .check(&**message == "a panic without a message" || &**message == "planned", || {
                format!("an agent panicked: {message}")
            });
    }
}
