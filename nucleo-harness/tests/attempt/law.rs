//! The law of the steps: every legal transition is taken by some scenario, and no other ever is.

use std::collections::{BTreeMap, BTreeSet};

use nucleo_core::JobId;
use nucleo_harness::attempt::{Ended, JobOptions, Signal, Step, StepEvent};
use nucleo_harness::workflow::EventKind;

use crate::faults;
use crate::script::Act;
use crate::world::World;

const STEPS: [Step; 7] = [
    Step::Waiting,
    Step::Preparing,
    Step::Approving,
    Step::InLine,
    Step::Running,
    Step::Pausing,
    Step::Ended,
];
const EVENTS: [StepEvent; 7] = [
    StepEvent::Ready,
    StepEvent::Prepared,
    StepEvent::Approved,
    StepEvent::Granted,
    StepEvent::Retrying,
    StepEvent::Resumed,
    StepEvent::Over,
];

type Taken = BTreeSet<String>;

fn name(step: Step, event: StepEvent) -> String {
    format!("{step:?} --{event:?}-->")
}

/// Folds a run's events, and notes each transition.
fn collect(world: &World, taken: &mut Taken) {
    let mut at: BTreeMap<JobId, Step> = BTreeMap::new();
    for what in world.journal.events() {
        match what {
            EventKind::JobStarted { job, after, .. } => {
                let first = if after.is_empty() { Step::Preparing } else { Step::Waiting };
                assert_eq!(at.insert(job, first), None, "a place is taken once");
            }
            EventKind::JobStepped { job, event, step } => {
                let before = at[&job];
                assert_eq!(before.next(event), Ok(step), "the events tell the law");
                taken.insert(name(before, event));
                at.insert(job, step);
            }
            _ => {}
        }
    }
    assert!(at.values().all(|step| *step == Step::Ended));
}

#[tokio::test(start_paused = true)]
async fn every_legal_transition_is_taken() {
    let mut taken = Taken::new();
    faults::all(|world| collect(world, &mut taken)).await;
    let world = World::new();
    let again = Signal::Transient { retry_after: None };
    let retried = world.script([&[Act::Send, Act::Fail(again, Ended::WithError)], &[Act::Send]]);
    drop(world.start(retried, JobOptions::default()).await);
    let root = world.workflow.root();
    let first = root.submit(world.script([&[Act::Send]]), JobOptions::default()).start();
    let second = root.submit(world.script([&[Act::Send]]), JobOptions::default());
    assert!(second.after(&first).start().end().await.result.is_ok());
    collect(&world, &mut taken);

    let all = STEPS.iter().flat_map(|step| EVENTS.map(|event| (*step, event)));
    let legal: Taken = all
        .filter(|(step, event)| step.next(*event).is_ok())
        .map(|(step, event)| name(step, event))
        .collect();
    let never: Vec<_> = legal.difference(&taken).collect();
    assert!(never.is_empty(), "legal, and never taken: {never:?}");
    assert_eq!(legal.len(), 12, "the law has changed: is every new step under every fault?");
}
