//! One request that was taken: its work, its answer, and its end, whoever ends it.
//!
//! Invariants: a request that was taken ends once: the quotas are settled and the books written
//! before its last byte is handed over, so that a client which then asks again finds the room it
//! gave back; dropped before, the client has gone, and what was produced until then is billed.
//!
//! Not here: whether it is taken (`engine`), the bytes (`answer`).

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode};
use serde_json::json;

use super::answer::{self, Completion, DONE};
use super::asked::UsageInStream;
use super::config::Latency;
use super::engine::Engine;
use super::fault::Fault;
use super::ledger::Ended;
use super::prose::Prose;
use super::quota::Amounts;
use super::tokens::BYTES_A_TOKEN;
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

/// Where the text comes from.
#[derive(Debug)]
pub(super) enum Text {
    /// Made as it is sent.
    Prose(Prose),
    /// Made before: JSON.
    Ready { text: String, sent: usize },
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

impl Text {
    /// The next `tokens` of it.
    fn next(&mut self, tokens: u64) -> String {
        let bytes = usize::try_from(tokens.saturating_mul(BYTES_A_TOKEN)).expect("fits in memory");
        match self {
            Self::Prose(prose) => prose.next(bytes),
            Self::Ready { text, sent } => {
                let end = sent.saturating_add(bytes).min(text.len());
                let piece = text[*sent..end].to_owned();
                *sent = end;
                piece
            }
        }
    }
}

impl Serving {
    /// Ends it: settled and booked as `ended`, with `used` billed.
    fn end(&mut self, ended: Ended, used: Amounts) {
        assert_eq!(self.open, Open::Open, "a request ends once");
        self.open = Open::Ended;
        self.engine.end(self.model, self.epoch, self.taken, ended, used);
    }

    const fn used(&self, output: u64) -> Amounts {
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
            Some(Fault::Stall) => {
                let stalled = BodyStream::new(stream::once(self.stall()));
                return answer::of(StatusCode::OK, "application/json", stalled);
            }
            _ => {}
        }
        let clock = self.serving.engine.clock();
        let until = if self.fault == Some(Fault::Truncate) { output / 2 } else { output };
        clock.reach(self.serving.pace.at_ns(until)).await;
        let text = self.text.next(output);
        let used = self.used_as_told();
        let told = (self.fault != Some(Fault::MissingUsage)).then_some(used);
        let mut body = self.completion.whole(&text, self.finish, told).to_string();
        if self.fault == Some(Fault::Truncate) {
            self.serving.end(Ended::Failed, self.serving.used(until));
            body.truncate(floor_char(&body, body.len() / 2));
            let cut = TransportError::broken(BrokenAt::InBody, "cut on request");
            let half = BodyStream::pieces(vec![Ok(body.into()), Err(cut)]);
            return answer::of(StatusCode::OK, "application/json", half);
        }
        if self.fault == Some(Fault::MalformedJson) {
            body.truncate(floor_char(&body, body.len() / 2));
        }
        self.serving.end(Ended::Answered, used);
        answer::whole(StatusCode::OK, "application/json", body)
    }

    /// Answers in events, working as it goes.
    pub(super) async fn pieces(self) -> Response<BodyStream> {
        if self.fault == Some(Fault::Silent) {
            std::future::pending::<()>().await;
        }
        let flow = Flow { answering: self, produced: 0, step: Step::Opening };
        let events = stream::unfold(Some(flow), |flow| async {
            let mut flow = flow?;
            match flow.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(flow))),
                Ok(None) => None,
                Err(cut) => Some((Err(cut), None)),
            }
        });
        answer::of(StatusCode::OK, "text/event-stream", BodyStream::new(events))
    }

    /// Never yields; dropped with the connection, it ends the request.
    async fn stall(self) -> Result<Bytes, TransportError> {
        std::future::pending::<()>().await;
        drop(self);
        Ok(Bytes::new())
    }

    fn used_as_told(&self) -> Amounts {
        let used = self.serving.used(self.serving.output);
        if self.fault == Some(Fault::DoubledUsage) {
            return Amounts { input: used.input * 2, output: used.output * 2 };
        }
        used
    }
}

/// A streamed answer between two of its events.
struct Flow {
    answering: Answering,
    produced: u64,
    step: Step,
}

/// Which event comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Opening,
    Text,
    Finish,
    Done,
}

/// Tokens in one event: enough to keep events few, few enough to look like a stream.
const TOKENS_AN_EVENT: u64 = 16;

impl Flow {
    async fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        match self.step {
            Step::Opening => {
                self.step = Step::Text;
                let opening = json!({"role": "assistant", "content": "", "refusal": null});
                Ok(Some(self.answering.completion.event(&opening, None)))
            }
            Step::Text => self.text().await.map(Some),
            Step::Finish => Ok(Some(self.finish())),
            Step::Done => Ok(None),
        }
    }

    async fn text(&mut self) -> Result<Bytes, TransportError> {
        let fault = self.answering.fault;
        let output = self.answering.serving.output;
        if fault == Some(Fault::Stall) {
            std::future::pending::<()>().await;
        }
        if fault == Some(Fault::Truncate) && self.produced >= output / 2 {
            let used = self.answering.serving.used(self.produced);
            self.answering.serving.end(Ended::Failed, used);
            return Err(TransportError::broken(BrokenAt::InBody, "cut on request"));
        }
        let tokens = TOKENS_AN_EVENT.min(output - self.produced);
        let serving = &self.answering.serving;
        serving.engine.clock().reach(serving.pace.at_ns(self.produced + tokens)).await;
        self.produced += tokens;
        if self.produced == output {
            self.step = Step::Finish;
        }
        let piece = json!({"content": self.answering.text.next(tokens)});
        let mut event = self.answering.completion.event(&piece, None);
        if fault == Some(Fault::MalformedJson) && self.produced >= output / 2 {
            event = Bytes::from("data: {\"choices\": [{\"del\n\n");
        }
        Ok(event)
    }

    /// The finish, the usage and the end mark go out together: a client that reads the mark finds
    /// the body ended, and can use the connection again.
    fn finish(&mut self) -> Bytes {
        self.step = Step::Done;
        let answering = &mut self.answering;
        let used = answering.used_as_told();
        answering.serving.end(Ended::Answered, used);
        let mut last = answering.completion.event(&json!({}), Some(answering.finish)).to_vec();
        let told = answering.usage_in_stream == UsageInStream::Told;
        if told && answering.fault != Some(Fault::MissingUsage) {
            last.extend_from_slice(&answering.completion.usage_event(used));
        }
        last.extend_from_slice(DONE.as_bytes());
        last.into()
    }
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
