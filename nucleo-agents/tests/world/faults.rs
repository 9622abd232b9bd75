//! The faults that a seed may have: the server's, and the network's before it.
//!
//! To add one: a line in [`FAULTS`], with the name under which the wire shows it.

use nucleo_agents::providers::loopback::{AskedWait, Fault, InsideAfter, InsideError};

use crate::draw::Draw;

/// A fault of the server.
#[derive(Debug)]
pub(crate) struct Row {
    /// What the wire shows of it, by `wire::Shown::name`.
    pub(crate) shows: &'static str,
    pub(crate) fault: Fault,
    /// It reports more than was reserved.
    pub(crate) overreports: bool,
}

const fn row(shows: &'static str, fault: Fault) -> Row {
    Row { shows, fault, overreports: false }
}

pub(crate) const FAULTS: &[Row] = &[
    row("429", Fault::RateLimit(AskedWait::Unsaid)),
    row("429 at once", Fault::RateLimit(AskedWait::Both(0))),
    row("429 soon", Fault::RateLimit(AskedWait::Both(1_500))),
    row("429 much later", Fault::RateLimit(AskedWait::Both(3_600_000))),
    row("429 in days", Fault::RateLimit(AskedWait::Both(172_800_000))),
    row("429 in milliseconds", Fault::RateLimit(AskedWait::Millis(700))),
    row("429 in seconds", Fault::RateLimit(AskedWait::Seconds(2))),
    row("429 at a date", Fault::RateLimit(AskedWait::Date(3))),
    row("429 at a past date", Fault::RateLimit(AskedWait::Date(-60))),
    row("429 in words", Fault::RateLimit(AskedWait::Garbage)),
    row("out of credit", Fault::OutOfCredit),
    row("529", Fault::Overloaded(AskedWait::Unsaid)),
    row("529 in seconds", Fault::Overloaded(AskedWait::Seconds(7))),
    row("500", Fault::ServerError),
    row("503", Fault::Unavailable(AskedWait::Unsaid)),
    row("503 at a date", Fault::Unavailable(AskedWait::Date(20))),
    row("broken before the head", Fault::Reset),
    row("web page", Fault::WebPage),
    row("no head", Fault::Silent),
    row("no body", Fault::Stall),
    row("only kept alive", Fault::KeepAlive),
    row("broken in the body", Fault::Truncate),
    row("broken after the body", Fault::ResetAtEnd),
    row("an error inside", inside(InsideError::RateLimit, InsideAfter::Nothing)),
    row("an error inside", inside(InsideError::Overload, InsideAfter::Nothing)),
    row("an error midway", inside(InsideError::ServerError, InsideAfter::Half)),
    row("no usage", Fault::MissingUsage),
    row("unreadable", Fault::MalformedJson),
    Row { overreports: true, ..row("usage above the reservation", Fault::DoubledUsage) },
];

const fn inside(says: InsideError, after: InsideAfter) -> Fault {
    Fault::ErrorInside { says, after }
}

/// A fault that this seed has, in parts of a million of the requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drawn {
    pub(crate) row: &'static Row,
    pub(crate) per_million: u32,
}

/// The faults of a seed: none in a quarter of them, a few of all kinds else.
pub(crate) fn draw(draw: &mut Draw) -> Vec<Drawn> {
    if draw.chance(25) {
        return Vec::new();
    }
    let drawn = |row: &'static Row| Some(Drawn { row, per_million: draw.swarm(15)? });
    FAULTS.iter().filter_map(drawn).collect()
}
