//! Disturbances at drawn instants: what people and machines do to a run that is under way.

use crate::draw::Draw;

/// One disturbance; the last word of each is what it hits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Disturbance {
    CancelWorkflow(usize),
    /// Its guard of `cancel_on_drop` goes.
    DropGuard(usize),
    /// The handle goes; what runs goes on.
    DropHandle(usize),
    /// Its root agent is dropped, with all that it awaits.
    DropRun(usize),
    /// To so many hundredths of what is spent and committed now, or none.
    SetCap(usize, Option<u64>),
    ResizePool(u64),
    ResizeOwn(u64),
    RateOwn(u64),
    /// An account of the catalog, by its place.
    Close(u64),
    ReopenAll,
    /// A reading of memory, in permille of the limit.
    Memory(u32),
    Shutdown(u64),
    /// The server runs at so many permille of its quotas.
    Quota(u32),
    /// The server's clock jumps by so many milliseconds.
    Clock(i64),
}

impl Disturbance {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::CancelWorkflow(_) => "cancel a workflow",
            Self::DropGuard(_) => "drop a guard",
            Self::DropHandle(_) => "drop a handle",
            Self::DropRun(_) => "drop a root agent",
            Self::SetCap(..) => "set a cap",
            Self::ResizePool(_) => "resize the pool",
            Self::ResizeOwn(_) => "resize own permits",
            Self::RateOwn(_) => "change an own rate",
            Self::Close(_) => "close an account",
            Self::ReopenAll => "reopen accounts",
            Self::Memory(_) => "read memory",
            Self::Shutdown(_) => "shut down",
            Self::Quota(_) => "change the server's quotas",
            Self::Clock(_) => "the server's clock jumps",
        }
    }

    /// One of each, for the test that every kind occurred.
    pub(crate) const ALL: [Self; 14] = [
        Self::CancelWorkflow(0),
        Self::DropGuard(0),
        Self::DropHandle(0),
        Self::DropRun(0),
        Self::SetCap(0, None),
        Self::ResizePool(0),
        Self::ResizeOwn(0),
        Self::RateOwn(0),
        Self::Close(0),
        Self::ReopenAll,
        Self::Memory(0),
        Self::Shutdown(0),
        Self::Quota(0),
        Self::Clock(0),
    ];
}

/// The disturbances of a seed with their milliseconds, in order: none in a third of the seeds.
pub(crate) fn draw(draw: &mut Draw, workflows: usize) -> Vec<(u64, Disturbance)> {
    if draw.chance(35) {
        return Vec::new();
    }
    // Reading memory takes the most time of all: less often.
    let percent = |kind: usize| match Disturbance::ALL[kind] {
        Disturbance::Memory(_) => 7,
        _ => 25,
    };
    let kinds: Vec<usize> =
        (0..Disturbance::ALL.len()).filter(|kind| draw.chance(percent(*kind))).collect();
    let mut drawn = Vec::new();
    for kind in kinds {
        for _ in 0..draw.between(1, 3) {
            let at = draw.of(&[0, 0, 30, 400, 3_000, 20_000, 90_000]);
            let at = draw.between(0, at);
            let workflow = draw.size(0, workflows - 1);
            let what = match Disturbance::ALL[kind] {
                Disturbance::CancelWorkflow(_) => Disturbance::CancelWorkflow(workflow),
                Disturbance::DropGuard(_) => Disturbance::DropGuard(workflow),
                Disturbance::DropHandle(_) => Disturbance::DropHandle(workflow),
                Disturbance::DropRun(_) => Disturbance::DropRun(workflow),
                Disturbance::SetCap(..) => {
                    let to = draw.maybe(80, |draw| draw.of(&[0, 30, 90, 120, 400]));
                    Disturbance::SetCap(workflow, to)
                }
                Disturbance::ResizePool(_) => Disturbance::ResizePool(draw.of(&[0, 1, 2, 10, 50])),
                Disturbance::ResizeOwn(_) => Disturbance::ResizeOwn(draw.of(&[0, 1, 2, 6])),
                Disturbance::RateOwn(_) => Disturbance::RateOwn(draw.of(&[1, 5, 100])),
                Disturbance::Close(_) => Disturbance::Close(draw.between(0, 30)),
                Disturbance::ReopenAll => Disturbance::ReopenAll,
                Disturbance::Memory(_) => {
                    Disturbance::Memory(draw.of(&[100, 700, 850, 950, 1_050]))
                }
                Disturbance::Shutdown(_) => {
                    Disturbance::Shutdown(draw.of(&[0, 50, 5_000, 600_000]))
                }
                Disturbance::Quota(_) => Disturbance::Quota(draw.of(&[200, 500, 1_000])),
                Disturbance::Clock(_) => {
                    Disturbance::Clock(draw.of(&[-7_200_000, -900, 700, 60_000, 86_400_000]))
                }
            };
            drawn.push((at, what));
        }
    }
    drawn.sort_by_key(|(at, _)| *at);
    drawn
}
