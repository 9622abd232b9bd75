//! An answer in events: what is sent when, and where a fault breaks it.
//!
//! Invariants: a fault that breaks an answer after so many tokens breaks it there, however long the
//! answer is; the request ends before its last event is handed over.
//!
//! Not here: a whole body, the bill (`serving`), the bytes of an event (`form`).

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode};

use super::answer;
use super::fault::{Fault, InsideAfter};
use super::form::Form;
use super::ledger::Ended;
use super::quota::Amounts;
use super::serving::{Answering, broken_later, cut};
use crate::transport::{BodyStream, TransportError};

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
    Break,
    End,
}

/// Tokens in one event: enough to keep events few, few enough to look like a stream.
const TOKENS_AN_EVENT: u64 = 16;

impl Answering {
    /// Answers in events, working as it goes.
    pub(super) async fn pieces(self) -> Response<BodyStream> {
        let body = match self.fault {
            Some(Fault::Silent) => std::future::pending().await,
            Some(Fault::KeepAlive) => {
                let sign = self.completion.form.sign_of_life();
                self.kept_alive(sign)
            }
            _ => Flow { answering: self, produced: 0, step: Step::Opening }.body(),
        };
        answer::of(StatusCode::OK, "text/event-stream", body)
    }
}

impl Flow {
    fn body(self) -> BodyStream {
        BodyStream::new(stream::unfold(Some(self), |flow| async {
            let mut flow = flow?;
            match flow.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(flow))),
                Ok(None) => None,
                Err(cut) => Some((Err(cut), None)),
            }
        }))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, TransportError> {
        match self.step {
            // By this wire a stream that opened has told its input, which such an error does not cost.
            Step::Opening if self.errs_before_all() => self.breaks().await.map(Some),
            Step::Opening => {
                self.step = Step::Text;
                let used = self.told_of(0);
                Ok(Some(self.answering.completion.opening(used, self.so_far())))
            }
            Step::Text if self.answering.breaks_at() == Some(self.produced) => {
                self.breaks().await.map(Some)
            }
            Step::Text if self.produced == self.answering.serving.output => Ok(Some(self.finish())),
            Step::Text => Ok(Some(self.text().await)),
            Step::Break => broken_later(self.answering.serving.engine.clock()).await.map(Some),
            Step::End => Ok(None),
        }
    }

    /// The next piece of text.
    async fn text(&mut self) -> Bytes {
        let output = self.answering.serving.output;
        let until = self.answering.breaks_at().unwrap_or(output);
        let tokens = TOKENS_AN_EVENT.min(until - self.produced);
        self.answering.reach(self.produced + tokens).await;
        self.produced += tokens;
        let malformed = self.answering.fault == Some(Fault::MalformedJson);
        if malformed && self.produced >= output / 2 {
            return self.answering.completion.form.malformed();
        }
        let piece = self.answering.text.delta(tokens);
        let so_far = self.so_far();
        self.answering.completion.piece(&piece, so_far)
    }

    /// The fault that breaks the answer here.
    async fn breaks(&mut self) -> Result<Bytes, TransportError> {
        self.answering.reach(self.produced).await;
        let used = self.answering.used_until(self.produced);
        match self.answering.fault {
            Some(Fault::ErrorInside { says, .. }) => {
                self.step = Step::End;
                self.answering.serving.end(Ended::Failed, used);
                Ok(self.answering.completion.failing_event(says))
            }
            Some(Fault::Stall) => std::future::pending().await,
            _ => {
                self.answering.serving.end(Ended::Failed, used);
                Err(cut())
            }
        }
    }

    /// The finish, the usage and the end mark go out together: a client that reads the mark finds
    /// the body ended, and can use the connection again.
    fn finish(&mut self) -> Bytes {
        let so_far = self.so_far();
        let answering = &mut self.answering;
        let at_end = answering.fault == Some(Fault::ResetAtEnd);
        self.step = if at_end { Step::Break } else { Step::End };
        let used = answering.used_as_told();
        answering.serving.end(Ended::Answered, used);
        let told = (answering.fault != Some(Fault::MissingUsage)).then_some(used);
        answering.completion.ending(answering.finish, (so_far, told), answering.usage_in_stream)
    }

    /// What the opening tells of an answer of which so many tokens are there.
    fn told_of(&self, output: u64) -> Option<Amounts> {
        let Answering { serving, fault, .. } = &self.answering;
        let mut used = serving.used(output);
        if *fault == Some(Fault::DoubledUsage) {
            used.input *= 2;
        }
        (*fault != Some(Fault::MissingUsage)).then_some(used)
    }

    fn errs_before_all(&self) -> bool {
        let Answering { completion, fault, .. } = &self.answering;
        let errs = matches!(fault, Some(Fault::ErrorInside { after: InsideAfter::Nothing, .. }));
        errs && completion.form == Form::Messages
    }

    /// The usage so far, where every event tells it.
    fn so_far(&self) -> Option<Amounts> {
        let running = self.answering.fault == Some(Fault::RunningUsage);
        running.then(|| self.answering.serving.used(self.produced))
    }
}
