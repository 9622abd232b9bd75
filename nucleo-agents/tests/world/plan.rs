//! What a seed draws: models, server, faults, load, disturbances.

use nucleo_agents::prelude::Span;
use nucleo_core::spend::ScopeId;

use crate::draw::Draw;
use crate::faults::{self, Drawn};
use crate::gremlin::{self, Disturbance};
use crate::offer::{Offer, Server};
use crate::script::{Drawing, Script};

/// Everything that a seed draws; what happens then follows from it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) offer: Offer,
    pub(crate) faults: Vec<Drawn>,
    pub(crate) network: Network,
    /// Places in the pool of connections.
    pub(crate) pool: u64,
    pub(crate) flows: Vec<Flow>,
    pub(crate) disturbances: Vec<(u64, Disturbance)>,
    /// Agents go on after a failure.
    pub(crate) stubborn: bool,
    /// Workflows share the line fairly.
    pub(crate) fair: bool,
    /// Caps of scopes that are wider than a workflow, in units of 10⁻⁶ USD.
    pub(crate) caps: Vec<(ScopeId, u64)>,
    /// How many retries a model may see: a few in most seeds, as many as jobs ask for in others.
    pub(crate) retries_a_minute: u32,
}

/// The way to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    /// Connections refused, in parts of a million.
    pub(crate) refuses: u32,
    /// How long a request and an answer's head take at the most.
    pub(crate) delay_ms: u64,
}

/// A workflow.
#[derive(Debug)]
pub(crate) struct Flow {
    /// In units of 10⁻⁶ USD.
    pub(crate) cap_micro: Option<u64>,
    pub(crate) guarded: bool,
    /// Whose it is, of two users.
    pub(crate) user: Option<&'static str>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) script: Script,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let offer = Offer::draw(&mut draw);
        let mut faults = faults::draw(&mut draw);
        let refuses = draw.swarm(15).unwrap_or(0);
        let delay_ms = if draw.chance(20) { draw.of(&[5, 80, 700]) } else { 0 };
        let count = draw.size(1, 3);
        let rate = |draw: &mut Draw, rates: &[u32]| draw.of(rates);
        let (drops, panics) = (rate(&mut draw, &[0, 0, 3, 15]), rate(&mut draw, &[0, 0, 2, 8]));
        let own = rate(&mut draw, &[0, 10, 40]);
        let mut jobs_left = draw.size(15, 70);
        let flows = (0..count).map(|workflow| {
            let cap_micro =
                draw.maybe(70, |draw| draw.of(&[200, 1_000, 5_000, 20_000, 100_000, 100_000_000]));
            let guarded = draw.chance(50);
            let user = draw.maybe(40, |draw| draw.of(&["ann", "ben"]));
            let deadline_ms = draw.maybe(12, |draw| draw.of(&[50, 2_000, 60_000, 7_200_000]));
            let (number, draw) = (0, &mut draw);
            let mut drawing = Drawing {
                draw,
                offer: &offer,
                workflow,
                jobs_left,
                times: 1,
                drops,
                panics,
                own,
                number,
            };
            let script = drawing.script(3, 8);
            jobs_left = drawing.jobs_left;
            Flow { cap_micro, guarded, user, deadline_ms, script }
        });
        let flows: Vec<_> = flows.collect();
        let disturbances = gremlin::draw(&mut draw, count);
        if watches_memory(&disturbances) {
            // Memory is read ten times a second as long as anything runs: no hours of it.
            faults.retain(|drawn| !HOURS.contains(&drawn.row.shows));
        }
        Self {
            seed,
            faults,
            network: Network { refuses, delay_ms },
            pool: draw.of(&[1, 2, 5, 20, 50]),
            flows,
            disturbances,
            stubborn: draw.chance(60),
            fair: draw.chance(25),
            caps: caps(&mut draw),
            retries_a_minute: draw.of(&[0, 10, 10, 1_000]),
            offer,
        }
    }

    /// Whether memory is watched.
    pub(crate) fn watches_memory(&self) -> bool {
        watches_memory(&self.disturbances)
    }

    /// Whether a bill may come to more than was reserved for it.
    pub(crate) fn overreports(&self) -> bool {
        self.faults.iter().any(|drawn| drawn.row.overreports)
    }

    /// Whether the server's quotas alone can't be what refuses a request: they are the catalog's, a day's
    /// are not among them (ours is whole at midnight, the server's when a day has passed), and what
    /// leaves here is there at once, or within the headroom where that is kept.
    pub(crate) fn never_refused(&self) -> bool {
        let soon = match self.network.delay_ms {
            0 => true,
            ms => ms <= HEADROOM_MS && self.offer.keeps_headroom(),
        };
        let changes = |(_, what): &(u64, Disturbance)| matches!(what, Disturbance::Quota(_));
        self.offer.server == Server::Honest
            && !self.offer.has_daily()
            && soon
            && !self.disturbances.iter().any(changes)
    }

    /// Whether a call may rightly wait as long as it may: a day's quota, memory that stays full, or a
    /// server that asks for hours again and again.
    pub(crate) fn may_expire(&self) -> bool {
        let asks_hours = self.faults.iter().any(|drawn| HOURS.contains(&drawn.row.shows));
        self.offer.has_daily() || self.watches_memory() || asks_hours
    }

    /// No seed takes longer: each of at most so many jobs, one after the other, waits its day in the
    /// line, and has the attempts of all its budgets (17) with their timeouts (10 min at most), graces
    /// (a tenth) and pauses (66 min where a server asks for an hour; two days are too long to wait for).
    pub(crate) const TIME_MAX: Span = Span::from_mins(JOBS_MAX * (24 * 60 + 17 * (10 + 1 + 66)));
}

/// The headroom of a catalog that states none.
const HEADROOM_MS: u64 = 100;

/// Faults that make a run last hours.
const HOURS: [&str; 5] = ["429 much later", "429 in days", "no head", "no body", "only kept alive"];

const JOBS_MAX: u64 = 70;

/// Caps of a user, of a key and of a day: none in most seeds.
fn caps(draw: &mut Draw) -> Vec<(ScopeId, u64)> {
    let scopes =
        [ScopeId::User("ann".into()), ScopeId::Key("p0".into()), ScopeId::Day("Asia/Tokyo".into())];
    let amounts = [500, 5_000, 50_000];
    let drawn = scopes.into_iter().filter_map(|scope| {
        let amount = draw.maybe(15, |draw| draw.of(&amounts))?;
        Some((scope, amount))
    });
    drawn.collect()
}

fn watches_memory(disturbances: &[(u64, Disturbance)]) -> bool {
    disturbances.iter().any(|(_, what)| matches!(what, Disturbance::Memory(_)))
}
