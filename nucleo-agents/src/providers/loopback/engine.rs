//! The model server without its sockets: one request in, one answer out.
//!
//! Invariants: one lock, held for arithmetic only; a request is counted when it arrives, and ends
//! in exactly one way; a refused one takes nothing from any quota.
//!
//! Not here: sockets (`server`), the work of a request that was taken (`serving`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fastrand::Rng;
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode};
use serde_json::json;

use super::answer::{self, Completion};
use super::asked::{Asked, BadRequest};
use super::clock::ServerClock;
use super::config::{LoopbackConfig, LoopbackError, LoopbackModel};
use super::fault::{Fault, FaultDeck};
use super::ledger::{Books, Ended, Ledger};
use super::quota::{Amounts, Quotas};
use super::schema;
use super::serving::{Answering, Open, Pace, Serving, Text};
use super::tokens::{BYTES_A_TOKEN, text_tokens};
use crate::transport::{BodyStream, BrokenAt, InMemory, Transport, TransportError};
use crate::wire::Streaming;

/// A loopback model server. Cloning gives another handle to the same one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use nucleo_agents::providers::Provider as _;
/// use nucleo_agents::providers::loopback::{Engine, LoopbackConfig, LoopbackModel};
/// use nucleo_agents::providers::openai::{OpenAi, OpenAiConfig};
/// use nucleo_agents::wire::{ChatRequest, Message, Unwatched};
///
/// let engine = Engine::new(LoopbackConfig::new([LoopbackModel::new("small-1")])).unwrap();
/// let provider = OpenAi::new(OpenAiConfig::new("http://loopback").unwrap(), engine.transport());
/// let question = ChatRequest::new("small-1", vec![Message::user("Why is the sky blue?")], 64);
/// let reply = provider.call(&question, &mut Unwatched).await.unwrap();
/// assert_eq!(engine.ledger().output_tokens, reply.usage.unwrap().output);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Engine(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    config: LoopbackConfig,
    /// For each model, which quotas it is under.
    quotas_of: Vec<usize>,
    clock: ServerClock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    quotas: Vec<Quotas>,
    books: Books,
    deck: FaultDeck,
    epoch: u64,
}

impl Engine {
    /// A server of `config`, its quotas full.
    ///
    /// # Errors
    /// [`LoopbackError`] when there is no model, a name occurs twice, or bounds are reversed.
    pub fn new(config: LoopbackConfig) -> Result<Self, LoopbackError> {
        if config.models.is_empty() {
            return Err(LoopbackError::NoModel);
        }
        let clock = ServerClock::start();
        let (mut quotas, mut quotas_of): (Vec<Quotas>, Vec<usize>) = (Vec::new(), Vec::new());
        for (place, model) in config.models.iter().enumerate() {
            model.check()?;
            let earlier = &config.models[..place];
            if earlier.iter().any(|other| other.wire_id == model.wire_id) {
                return Err(LoopbackError::Duplicate(model.wire_id.clone()));
            }
            let shares =
                |other: &LoopbackModel| model.shares.is_some() && other.shares == model.shares;
            match earlier.iter().position(shares) {
                Some(first) => quotas_of.push(quotas_of[first]),
                None => {
                    quotas_of.push(quotas.len());
                    quotas.push(Quotas::of(model, clock.now_ns()));
                }
            }
        }
        let deck = FaultDeck::new(&config.faults, config.seed);
        let state = Mutex::new(State { quotas, books: Books::default(), deck, epoch: 0 });
        Ok(Self(Arc::new(Inner { config, quotas_of, clock, state })))
    }

    /// The books as they are now.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.state().books.shown()
    }

    /// Empties the books, fills the quotas, begins the faults anew. Requests under way end
    /// normally, but are in no books.
    pub fn reset(&self) {
        let now_ns = self.now_ns();
        let mut state = self.state();
        state.books = Books::default();
        state.deck.reset();
        state.epoch += 1;
        state.quotas.iter_mut().for_each(|quotas| quotas.refill(now_ns));
    }

    /// A transport that reaches this server without a socket, whatever the address.
    #[must_use]
    pub fn transport(&self) -> Arc<dyn Transport> {
        let engine = self.clone();
        Arc::new(InMemory::new(move |request| {
            let engine = engine.clone();
            async move { engine.handle(request).await }
        }))
    }

    /// Answers one request. An error stands for a connection that closes without an answer.
    pub(super) async fn handle(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<BodyStream>, TransportError> {
        let (head, body) = request.into_parts();
        Ok(match (&head.method, head.uri.path()) {
            (&Method::POST, "/v1/chat/completions") => {
                return self.chat(&head.headers, body).await;
            }
            (&Method::GET, "/v1/models") => answer::json(StatusCode::OK, &self.models()),
            (&Method::GET, "/ledger") => {
                let books = serde_json::to_string(&self.ledger()).expect("numbers and texts");
                answer::whole(StatusCode::OK, "application/json", books)
            }
            (&Method::POST, "/reset") => {
                self.reset();
                answer::json(StatusCode::OK, &json!({}))
            }
            (_, "/v1/chat/completions" | "/v1/models" | "/ledger" | "/reset") => {
                answer::error(405, "invalid_request_error", None, "wrong method for this path")
            }
            _ => answer::error(404, "invalid_request_error", Some("unknown_url"), "no such path"),
        })
    }

    async fn chat(
        &self,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<BodyStream>, TransportError> {
        let asked = Asked::read(&body, headers, self.0.config.seed);
        drop(body);
        let (number, fault) = {
            let mut state = self.state();
            state.books.arrived();
            state.deck.draw(asked.as_ref().map_or("", |asked| &asked.last_text))
        };
        let mut answer = match self.instead(fault) {
            Some(instead) => self.booked(instead),
            None => match asked {
                Ok(asked) => self.ask(asked, fault).await,
                Err(BadRequest(words)) => {
                    self.booked(Ok(answer::error(400, "invalid_request_error", None, words)))
                }
            },
        }?;
        let id = format!("req-{number:08}").try_into().expect("letters and digits");
        answer.headers_mut().insert(HeaderName::from_static("x-request-id"), id);
        Ok(answer)
    }

    /// The answer of a fault that comes instead of any work.
    fn instead(
        &self,
        fault: Option<Fault>,
    ) -> Option<Result<Response<BodyStream>, TransportError>> {
        let words = "injected on request";
        Some(Ok(match fault? {
            Fault::RateLimit { retry_after_ms } => {
                let mut answer = answer::error(429, "requests", Some("rate_limit_exceeded"), words);
                if let Some(ms) = retry_after_ms {
                    answer::retry_after(answer.headers_mut(), ms);
                }
                answer
            }
            Fault::OutOfCredit => {
                answer::error(429, "insufficient_quota", Some("insufficient_quota"), words)
            }
            Fault::Overloaded => answer::error(529, "overloaded_error", None, words),
            Fault::ServerError => answer::error(500, "server_error", None, words),
            Fault::Unavailable => answer::error(503, "overloaded_error", None, words),
            Fault::WebPage => {
                let page = "<!doctype html><title>Proxy</title><p>Please sign in.</p>";
                answer::whole(StatusCode::OK, "text/html; charset=utf-8", page)
            }
            Fault::Reset => {
                return Some(Err(TransportError::broken(BrokenAt::BeforeHead, words)));
            }
            Fault::Silent
            | Fault::Stall
            | Fault::Truncate
            | Fault::MissingUsage
            | Fault::MalformedJson
            | Fault::DoubledUsage => return None,
        }))
    }

    /// Books an answer that took nothing and costs nothing.
    fn booked(
        &self,
        answer: Result<Response<BodyStream>, TransportError>,
    ) -> Result<Response<BodyStream>, TransportError> {
        let refused = answer.as_ref().is_ok_and(|a| a.status() == StatusCode::TOO_MANY_REQUESTS);
        let ended = if refused { Ended::Refused429 } else { Ended::Failed };
        self.state().books.ended(ended);
        answer
    }

    async fn ask(
        &self,
        asked: Asked,
        fault: Option<Fault>,
    ) -> Result<Response<BodyStream>, TransportError> {
        let models = &self.0.config.models;
        let Some(place) = models.iter().position(|model| *model.wire_id == *asked.model) else {
            let words = format!("the model `{}` does not exist here", asked.model);
            let answer =
                answer::error(404, "invalid_request_error", Some("model_not_found"), &words);
            return self.booked(Ok(answer));
        };
        let streaming = asked.streaming;
        let (answering, limits) = match self.take(place, asked, fault) {
            (Ok(answering), limits) => (answering, limits),
            (Err(mut refused), limits) => {
                refused.headers_mut().extend(limits);
                return self.booked(Ok(refused));
            }
        };
        let mut answer = match streaming {
            Streaming::Whole => answering.whole().await,
            Streaming::Pieces => answering.pieces().await,
        };
        answer.headers_mut().extend(limits);
        Ok(answer)
    }

    /// Takes the request under its quotas, or says why not; with what the headers say either way.
    fn take(
        &self,
        place: usize,
        asked: Asked,
        fault: Option<Fault>,
    ) -> (Result<Answering, Response<BodyStream>>, HeaderMap) {
        let model = &self.0.config.models[place];
        let mut draws = Rng::with_seed(asked.hash);
        let (text, mut output, finish) = plan(model, &mut draws, &asked);
        if matches!(fault, Some(Fault::Silent | Fault::Stall)) {
            output = 0;
        }
        let taken = Amounts { input: asked.input_tokens, output: asked.max_output };
        let now_ns = self.now_ns();
        let mut limits = HeaderMap::new();
        let (epoch, outcome) = {
            let mut state = self.state();
            let epoch = state.epoch;
            let quotas = &mut state.quotas[self.0.quotas_of[place]];
            let outcome = quotas.take(taken, now_ns);
            answer::limits(&mut limits, &quotas.shown(now_ns));
            (epoch, outcome)
        };
        if let Err(refused) = outcome {
            return (Err(answer::refused(&model.wire_id, refused)), limits);
        }
        let pace = Pace::draw(model.latency, &mut draws, now_ns);
        let engine = self.clone();
        let serving =
            Serving { engine, model: place, epoch, taken, pace, output, open: Open::Open };
        let completion = Completion { id: asked.hash, model: model.wire_id.clone() };
        let usage_in_stream = asked.usage_in_stream;
        (Ok(Answering { serving, completion, text, finish, usage_in_stream, fault }), limits)
    }

    /// Ends a request that was taken.
    pub(super) fn end(
        &self,
        model: usize,
        epoch: u64,
        taken: Amounts,
        ended: Ended,
        used: Amounts,
    ) {
        let now_ns = self.now_ns();
        let mut state = self.state();
        state.quotas[self.0.quotas_of[model]].settle(taken, used, now_ns);
        if state.epoch == epoch {
            state.books.ended(ended);
            state.books.bill(used, self.0.config.models[model].price.as_ref());
        }
    }

    pub(super) fn clock(&self) -> ServerClock {
        self.0.clock
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.0.clock.now_ns()
    }

    pub(super) fn connections_max(&self) -> usize {
        self.0.config.connections_max
    }

    fn models(&self) -> serde_json::Value {
        let model = |model: &LoopbackModel| json!({"id": &*model.wire_id, "object": "model", "created": 0, "owned_by": "loopback"});
        let models: Vec<_> = self.0.config.models.iter().map(model).collect();
        json!({"object": "list", "data": models})
    }

    /// A panic under the lock is our bug, told where it happened; the books stay readable.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What will be said, how many tokens that is, and why it ends there.
fn plan(model: &LoopbackModel, draws: &mut Rng, asked: &Asked) -> (Text, u64, &'static str) {
    let (least, most) = model.output_tokens;
    let drawn = draws.u64(least..=most);
    let mut prose = asked.prose.clone();
    let Some(wanted) = &asked.schema else {
        let wished = asked.output_wished.unwrap_or(drawn).max(1);
        let finish = if wished > asked.max_output { "length" } else { "stop" };
        return (Text::Prose(prose), wished.min(asked.max_output), finish);
    };
    let mut text = schema::satisfy(wanted, &mut prose).to_string();
    let wished =
        asked.output_wished.unwrap_or(0).min(asked.max_output).saturating_mul(BYTES_A_TOKEN);
    let padding = usize::try_from(wished).unwrap_or(usize::MAX).saturating_sub(text.len());
    // White space after a JSON value is part of no value: the length is met, the answer unchanged.
    text.extend(std::iter::repeat_n(' ', padding));
    let whole = text_tokens(text.len());
    let finish = if whole > asked.max_output { "length" } else { "stop" };
    (Text::Ready { text, sent: 0 }, whole.min(asked.max_output), finish)
}

/// A loopback server behind a transport without sockets.
///
/// # Errors
/// [`LoopbackError`], as [`Engine::new`]; keep an [`Engine`] where the ledger is wanted too.
pub fn in_memory(config: LoopbackConfig) -> Result<Arc<dyn Transport>, LoopbackError> {
    Ok(Engine::new(config)?.transport())
}
