//! What the models of a seed are: the catalog as the client has it, and the server's own.

use std::fmt::Write as _;
use std::sync::Arc;

use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::loopback_config;
use nucleo_agents::providers::loopback::{FaultRule, LoopbackConfig, When};

use crate::draw::Draw;
use crate::faults::Drawn;

/// How the server's quotas stand to those of the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    Honest,
    Unlimited,
    /// Half of what the catalog says.
    Tighter,
    /// A minute's quota, enforced by the second.
    BySecond,
}

#[derive(Debug)]
pub(crate) struct Offer {
    kind: &'static str,
    models: Vec<Model>,
    shared: Option<Limits>,
    pub(crate) server: Server,
    latency: (u64, u64),
    per_token_us: u64,
}

#[derive(Debug)]
struct Model {
    provider: u64,
    identity: u64,
    grade: Grade,
    max_output: u64,
    limits: Option<Limits>,
    shares: bool,
    keeps: bool,
    price: Option<(&'static str, &'static str, &'static str)>,
}

/// A key of a `limits` table with its amount.
#[derive(Debug, Default)]
struct Limits(Vec<(&'static str, u64)>);

const GRADES: [Grade; 3] = [Grade::Small, Grade::Medium, Grade::Large];

impl Offer {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let providers = draw.between(1, 2);
        let count = draw.between(1, 4);
        let priced = draw.of(&[100, 100, 100, 100, 80, 0]);
        let models: Vec<_> =
            (0..count).map(|at| Model::draw(draw, at, providers, priced)).collect();
        let shared = models.iter().any(|model| model.shares).then(|| Limits::draw(draw, 4_000));
        Self {
            kind: draw.of(&["loopback", "openai-compatible"]),
            models,
            shared,
            server: draw.of(&[
                Server::Honest,
                Server::Honest,
                Server::Honest,
                Server::Unlimited,
                Server::Tighter,
                Server::BySecond,
            ]),
            latency: draw.of(&[(0, 0), (20, 60), (20, 60), (300, 2_000), (100, 30_000)]),
            per_token_us: draw.of(&[0, 500, 1_000, 20_000]),
        }
    }

    /// The catalog as the client has it.
    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::parse("world.toml", &self.text(None)).expect("a drawn catalog is sound")
    }

    /// The server, with the faults drawn.
    pub(crate) fn server(&self, seed: u64, faults: &[Drawn]) -> LoopbackConfig {
        let catalog = Catalog::parse("server.toml", &self.text(Some(self.server)));
        let config = loopback_config(&catalog.expect("a drawn server is sound")).seed(seed);
        let rule =
            |drawn: &Drawn| FaultRule::new(When::PerMillion(drawn.per_million), drawn.row.fault);
        faults.iter().map(rule).fold(config, LoopbackConfig::fault)
    }

    pub(crate) fn has_daily(&self) -> bool {
        self.limits().any(|(key, _)| key.ends_with("_per_day"))
    }

    /// Whether every account stays below the server's burst. One request a second can't: that is the
    /// least that may go at once.
    pub(crate) fn keeps_headroom(&self) -> bool {
        !self
            .limits()
            .any(|limit| [("headroom_ms", 0), ("requests_per_second", 1)].contains(&limit))
    }

    fn limits(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let own = self.models.iter().filter_map(|model| model.limits.as_ref());
        own.chain(&self.shared).flat_map(|limits| limits.0.iter().copied())
    }

    /// The entries' ids.
    pub(crate) fn ids(&self) -> Vec<Arc<str>> {
        (0..self.models.len()).map(|at| format!("m{at}").into()).collect()
    }

    pub(crate) fn grades(&self) -> Vec<Grade> {
        self.models.iter().map(|model| model.grade).collect()
    }

    fn text(&self, server: Option<Server>) -> String {
        let mut text = String::new();
        let kind = if server.is_some() { "loopback" } else { self.kind };
        for at in 0..2 {
            writeln!(
                text,
                "[providers.p{at}]\nkind = \"{kind}\"\nbase_url = \"http://p{at}.test/v1\""
            )
            .unwrap();
        }
        if let Some(shared) = &self.shared
            && server != Some(Server::Unlimited)
        {
            writeln!(text, "[quotas.shared]\n{}", shared.text(server, "\n")).unwrap();
        }
        for (at, model) in self.models.iter().enumerate() {
            model.write(&mut text, at, server);
            if server.is_some() {
                let ((least, most), us) = (self.latency, self.per_token_us);
                writeln!(text, "[models.m{at}.loopback]\nfirst_token_ms = [{least}, {most}]\nper_token_us = {us}\noutput_tokens = [1, 150]").unwrap();
                if server == Some(Server::BySecond) {
                    writeln!(text, "enforced = \"by_second\"").unwrap();
                }
            }
        }
        text
    }
}

impl Model {
    fn draw(draw: &mut Draw, at: u64, providers: u64, priced: u32) -> Self {
        let max_output = draw.of(&[200, 1_000, 4_000]);
        let shares = draw.chance(20);
        let prices =
            [("USD", "0.25", "1.25"), ("USD", "1", "5"), ("USD", "3", "15"), ("EUR", "1", "2")];
        Self {
            provider: draw.between(0, providers - 1),
            // Sometimes a route to the weights of an earlier entry.
            identity: if draw.chance(40) { draw.between(0, at) } else { at },
            grade: draw.of(&GRADES),
            max_output,
            limits: (!shares && draw.chance(85)).then(|| Limits::draw(draw, max_output)),
            shares,
            keeps: draw.chance(25),
            price: draw.maybe(priced, |draw| {
                if draw.chance(4) { prices[3] } else { draw.of(&prices[..3]) }
            }),
        }
    }

    fn write(&self, text: &mut String, at: usize, server: Option<Server>) {
        let Self { provider, identity, grade, max_output, .. } = self;
        writeln!(text, "[models.m{at}]\nprovider = \"p{provider}\"\nwire_id = \"m{at}\"\nidentity = \"w{identity}\"\ngrade = \"{}\"\ncontext = 32_000\nmax_output = {max_output}\ncounter = \"loopback\"", grade.name()).unwrap();
        if self.keeps {
            writeln!(text, "settle = \"keep\"").unwrap();
        }
        if let Some((currency, input, output)) = self.price {
            writeln!(
                text,
                "price = {{ currency = \"{currency}\", input = {input}, output = {output} }}"
            )
            .unwrap();
        }
        if server == Some(Server::Unlimited) {
            return;
        }
        if self.shares {
            writeln!(text, "quota = \"shared\"").unwrap();
        } else if let Some(limits) = &self.limits {
            writeln!(text, "limits = {{ {} }}", limits.text(server, ", ")).unwrap();
        }
    }
}

impl Limits {
    /// Drawn so that the largest request fits each by itself.
    fn draw(draw: &mut Draw, max_output: u64) -> Self {
        let largest = max_output + 3_000;
        let mut limits = Vec::new();
        let mut limit = |draw: &mut Draw, percent, key, amounts: &[u64]| {
            if draw.chance(percent) {
                limits.push((key, draw.of(amounts)));
            }
        };
        limit(draw, 60, "requests_per_minute", &[12, 60, 600]);
        limit(draw, 40, "tokens_per_minute", &[14 * largest, 30 * largest, 500_000]);
        limit(draw, 25, "input_tokens_per_minute", &[20_000, 60_000]);
        limit(draw, 25, "output_tokens_per_minute", &[14 * max_output, 30 * max_output, 200_000]);
        limit(draw, 15, "requests_per_second", &[1, 4, 20]);
        limit(draw, 6, "requests_per_day", &[8, 30, 1_000]);
        limit(draw, 4, "tokens_per_day", &[10 * largest, 500_000]);
        limit(draw, 30, "max_concurrent", &[1, 2, 5, 20]);
        let clocked =
            limits.iter().any(|(key, _)| key.ends_with("minute") || key.ends_with("second"));
        if clocked && draw.chance(30) {
            limits.push(("burst_s", draw.of(&[10, 60, 120])));
        }
        if clocked && draw.chance(30) {
            limits.push(("headroom_ms", draw.of(&[0, 500])));
        }
        if limits.is_empty() {
            limits.push(("requests_per_minute", 60));
        }
        Self(limits)
    }

    fn text(&self, server: Option<Server>, between: &str) -> String {
        let line = |(key, amount): &(&str, u64)| {
            let halved =
                server == Some(Server::Tighter) && !matches!(*key, "burst_s" | "headroom_ms");
            let amount = if halved { (amount / 2).max(1) } else { *amount };
            format!("{key} = {amount}")
        };
        self.0.iter().map(line).collect::<Vec<_>>().join(between)
    }
}
