//! One request that was taken: its work, its answer, and its end, whoever ends it.
//!
//! Invariants: a request that was taken ends once: the quotas are settled and the books written
//! before its last byte is handed over, so that a client which then asks again finds the room it
//! gave back; dropped before, the client has gone, and what was produced until then is billed.
//!
//! Not here: whether it is taken (`engine`), the bytes (`answer`), an answer in events (`flow`).

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Response, StatusCode};

use super::answer::{self, Completion};
use super::asked::UsageInStream;
use super::clock::ServerClock;
use super::config::Latency;
use super::engine::Engine;
use super::fault::{Fault, InsideAfter};
use super::ledger::Ended;
use super::quota::Amounts;
use super::text::Text;
use crate::transport::{BodyStream, BrokenAt, TransportError};

/// A request under way.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) engine: Engine,
    /// The model's place in the configuration.
    pub(super) model: usize,
    /// The books it belongs in: those of before a reset are closed.
    pub(super) epoch: u64,
    pub(super) taken: Amounts,
    pub(super) pace: Pace,
    /// Output tokens this answer will have.
    pub(super) output: u64,
    pub(super) open: Open,
}

/// Whether it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Open,
    Ended,
}

/// When which token is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    began_ns: u64,
    first_ns: u64,
    token_ns: u64,
}

/// The answer still to be given.
#[derive(Debug)]
pub(super) struct Answering {
    pub(super) serving: Serving,
    pub(super) completion: Completion,
    pub(super) text: Text,
    pub(super) finish: &'static str,
    pub(super) usage_in_stream: UsageInStream,
    pub(super) fault: Option<Fault>,
}

impl Pace {
    /// The pace that `latency` and a draw give to work that begins now.
    pub(super) fn draw(latency: Latency, rng: &mut fastrand::Rng, began_ns: u64) -> Self {
        let (least, most) = latency.first_token_ms;
        let first_ms = rng.u64(least..=most);
        Self {
            began_ns,
            first_ns: first_ms.saturating_mul(1_000_000),
            token_ns: latency.per_token_us.saturating_mul(1_000),
        }
    }

    /// When `tokens` of them are there.
    const fn at_ns(self, tokens: u64) -> u64 {
        let work = self.token_ns.saturating_mul(tokens);
        self.began_ns.saturating_add(self.first_ns).saturating_add(work)
    }

    /// How many of `output` are there by `now_ns`.
    fn produced(self, output: u64, now_ns: u64) -> u64 {
        match now_ns.checked_sub(self.began_ns.saturating_add(self.first_ns)) {
            None => 0,
            Some(worked) => worked.checked_div(self.token_ns).unwrap_or(output).min(output),
        }
    }
}

impl Serving {
    /// Ends it: settled and booked as `ended`, with `used` billed.
    pub(super) fn end(&mut self, ended: Ended, used: Amounts) {
        assert_eq!(self.open, Open::Open, "a request ends once");
        self.open = Open::Ended;
        self.engine.end(self.model, self.epoch, self.taken, ended, used);
    }

    pub(super) const fn used(&self, output: u64) -> Amounts {
        Amounts { input: self.taken.input, output }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.open == Open::Open {
            let produced = self.pace.produced(self.output, self.engine.now_ns());
            self.end(Ended::Failed, self.used(produced));
        }
    }
}

impl Answering {
    /// Works, and answers in one body.
    pub(super) async fn whole(mut self) -> Response<BodyStream> {
        let output = self.serving.output;
        match self.fault {
            Some(Fault::Silent) => std::future::pending::<()>().await,
            Some(Fault::Stall) => return json_body(BodyStream::new(stream::once(self.stall()))),
            Some(Fault::KeepAlive) => return json_body(self.kept_alive("\n")),
            _ => {}
        }
        let until = self.breaks_at().unwrap_or(output);
        self.reach(until).await;
        if let Some(Fault::ErrorInside { says, after }) = self.fault {
            let half = (after == InsideAfter::Half).then(|| self.text.message(until));
            let body = self.completion.failing(says, half);
            self.serving.end(Ended::Failed, self.used_until(until));
            return answer::json(StatusCode::OK, &body);
        }
        let message = self.text.message(output);
        let used = self.used_as_told();
        let told = (self.fault != Some(Fault::MissingUsage)).then_some(used);
        let mut body = self.completion.body(&message, self.finish, told).to_string();
        if matches!(self.fault, Some(Fault::Truncate | Fault::MalformedJson)) {
            body.truncate(floor_char(&body, body.len() / 2));
        }
        match self.fault {
            Some(Fault::Truncate) => {
                self.serving.end(Ended::Failed, self.used_until(until));
                json_body(BodyStream::pieces(vec![Ok(body.into()), Err(cut())]))
            }
            Some(Fault::ResetAtEnd) => {
                self.serving.end(Ended::Answered, used);
                let clock = self.serving.engine.clock();
                let all = stream::once(std::future::ready(Ok(body.into())));
                json_body(BodyStream::new(all.chain(stream::once(broken_later(clock)))))
            }
            _ => {
                self.serving.end(Ended::Answered, used);
                answer::whole(StatusCode::OK, "application/json", body)
            }
        }
    }

    /// After how many tokens the answer's fault breaks it, if it does.
    pub(super) const fn breaks_at(&self) -> Option<u64> {
        let output = self.serving.output;
        match self.fault {
            Some(Fault::Stall | Fault::ErrorInside { after: InsideAfter::Nothing, .. }) => Some(0),
            Some(Fault::Truncate) => Some(output / 2),
            Some(Fault::ErrorInside { after: InsideAfter::Half, .. }) => Some(output.div_ceil(2)),
            _ => None,
        }
    }

    /// Returns when so many tokens are there.
    pub(super) async fn reach(&self, tokens: u64) {
        self.serving.engine.clock().reach(self.serving.pace.at_ns(tokens)).await;
    }

    /// Never yields; dropped with the connection, it ends the request.
    async fn stall(self) -> Result<Bytes, TransportError> {
        std::future::pending::<()>().await;
        drop(self);
        Ok(Bytes::new())
    }

    /// Yields `sign` again and again; dropped with the connection, it ends the request.
    pub(super) fn kept_alive(self, sign: &'static str) -> BodyStream {
        let began_ns = self.serving.engine.now_ns();
        BodyStream::new(stream::unfold((self, began_ns), move |(answering, last_ns)| async move {
            let next_ns = last_ns.saturating_add(KEEP_ALIVE_NS);
            answering.serving.engine.clock().reach(next_ns).await;
            Some((Ok(Bytes::from_static(sign.as_bytes())), (answering, next_ns)))
        }))
    }

    /// What is billed of an answer that its fault broke after `output` tokens.
    pub(super) const fn used_until(&self, output: u64) -> Amounts {
        match self.fault {
            Some(Fault::ErrorInside { after: InsideAfter::Nothing, .. }) => {
                Amounts { input: 0, output: 0 }
            }
            _ => self.serving.used(output),
        }
    }

    pub(super) fn used_as_told(&self) -> Amounts {
        let used = self.serving.used(self.serving.output);
        if self.fault == Some(Fault::DoubledUsage) {
            return Amounts { input: used.input * 2, output: used.output * 2 };
        }
        used
    }
}

fn json_body(body: BodyStream) -> Response<BodyStream> {
    answer::of(StatusCode::OK, "application/json", body)
}

/// A connection that breaks inside an answer.
pub(super) fn cut() -> TransportError {
    TransportError::broken(BrokenAt::InBody, "cut on request")
}

/// The same, once what was handed over before is on its way.
pub(super) async fn broken_later(clock: ServerClock) -> Result<Bytes, TransportError> {
    clock.let_bytes_leave().await;
    Err(cut())
}

/// Between two signs of life of a server that does nothing else.
const KEEP_ALIVE_NS: u64 = 15_000_000_000;

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
