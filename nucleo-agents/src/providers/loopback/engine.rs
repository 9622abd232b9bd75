//! The model server without its sockets: one request in, one answer out.
//!
//! Invariants: one lock, held for arithmetic only; a request is counted when it arrives, and ends
//! in exactly one way; a refused one takes nothing from any quota.
//!
//! Not here: sockets (`server`), the work of a request that was taken (`serving`, `flow`), which
//! faults there are (`fault`) and when they happen (`deck`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fastrand::Rng;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use serde_json::json;

use super::answer::{self, Completion};
use super::asked::{Asked, BadRequest};
use super::clock::ServerClock;
use super::config::{LoopbackConfig, LoopbackError, LoopbackModel};
use super::deck::{Arrival, FaultDeck};
use super::fault::Fault;
use super::form::Form;
use super::injected;
use super::ledger::{Books, Ended, Ledger};
use super::messages::{self, Blocks};
use super::quota::{Amounts, Quotas};
use super::serving::{Answering, Open, Pace, Serving};
use super::text::plan;
use crate::transport::{BodyStream, InMemory, Transport, TransportError};
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
    /// When the epoch began.
    since_ns: u64,
    /// What the server's date is ahead, or behind when negative.
    jumped_ms: i64,
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
        let clock = ServerClock::start(config.wall_clock);
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
        let books = Books::default();
        let state = State { quotas, books, deck, epoch: 0, since_ns: clock.now_ns(), jumped_ms: 0 };
        let state = Mutex::new(state);
        Ok(Self(Arc::new(Inner { config, quotas_of, clock, state })))
    }

    /// The books as they are now.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.state().books.shown()
    }

    /// Empties the books, fills the quotas, sets the clock right, begins the faults anew: all as at
    /// the start. Requests under way end normally, but are in no books.
    pub fn reset(&self) {
        let mut state = self.state();
        let now_ns = self.now_ns();
        state.books = Books::default();
        state.deck.reset();
        state.epoch += 1;
        state.since_ns = now_ns;
        state.jumped_ms = 0;
        state.quotas.iter_mut().for_each(|quotas| quotas.refill(now_ns));
    }

    /// From now on `permille` of every model's quotas is in force, 1,000 being all of them; it
    /// replaces what the configuration says, until a [`Engine::reset`]. What a bucket holds above
    /// its new cap is gone; what it holds below stays, and comes back at the new rate.
    ///
    /// ```
    /// use nucleo_agents::providers::loopback::{Engine, LoopbackConfig, LoopbackModel};
    /// let engine = Engine::new(LoopbackConfig::new([LoopbackModel::new("small-1")])).unwrap();
    /// engine.set_quota_permille(200); // a bad hour
    /// engine.set_quota_permille(1_000); // and its end
    /// ```
    pub fn set_quota_permille(&self, permille: u32) {
        let mut state = self.state();
        let now_ns = self.now_ns();
        state.quotas.iter_mut().for_each(|quotas| quotas.set_permille(permille, now_ns));
    }

    /// The server's clock jumps by so many milliseconds, backward when negative.
    ///
    /// The dates that it sends jump along. For its quotas a jump forward is time that passed at
    /// once, and fills them up to their bursts; a jump backward is no time at all: they go on
    /// from where they are. (Were they to stand still until the old time is reached again, each
    /// wait that a 429 names would be too short by the jump.) Work under way takes as long as it
    /// takes.
    ///
    /// ```
    /// use nucleo_agents::providers::loopback::{Engine, LoopbackConfig, LoopbackModel};
    /// let engine = Engine::new(LoopbackConfig::new([LoopbackModel::new("small-1")])).unwrap();
    /// engine.jump_clock(-3_600_000);
    /// ```
    pub fn jump_clock(&self, by_ms: i64) {
        self.state().jump(by_ms);
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
        let mut answer = self.route(request).await?;
        // Some faults date their answers themselves.
        let date = || self.0.clock.date(self.state().jumped_ms).header();
        answer.headers_mut().entry(header::DATE).or_insert_with(date);
        Ok(answer)
    }

    async fn route(&self, request: Request<Bytes>) -> Result<Response<BodyStream>, TransportError> {
        let (head, body) = request.into_parts();
        Ok(match (&head.method, head.uri.path()) {
            (&Method::POST, path @ (CHAT | messages::PATH)) => {
                return self.talk(Form::at(path), &head.headers, body).await;
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
            (_, path @ (CHAT | messages::PATH | "/v1/models" | "/ledger" | "/reset")) => {
                let words = "wrong method for this path";
                Form::at(path).error(405, "invalid_request_error", None, words)
            }
            _ => answer::error(404, "invalid_request_error", Some("unknown_url"), "no such path"),
        })
    }

    async fn talk(
        &self,
        form: Form,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<BodyStream>, TransportError> {
        let asked = Asked::read(form, &body, headers, self.0.config.seed);
        drop(body);
        let (number, fault) = self.arrive(asked.as_ref().ok());
        let mut answer = match fault.and_then(|fault| self.instead(form, fault)) {
            Some(instead) => self.booked(instead),
            None => match asked {
                Ok(asked) => self.ask(asked, fault).await,
                Err(BadRequest(words)) => {
                    self.booked(Ok(form.error(400, "invalid_request_error", None, words)))
                }
            },
        }?;
        form.request_id(answer.headers_mut(), number);
        Ok(answer)
    }

    /// Books a request that arrives, and draws its fault; one of the clock happens at once.
    fn arrive(&self, asked: Option<&Asked>) -> (u64, Option<Fault>) {
        let mut state = self.state();
        let since_ns = self.now_ns().saturating_sub(state.since_ns);
        let arrival = Arrival {
            model: asked.map_or("", |asked| &asked.model),
            text: asked.map_or("", |asked| &asked.last_text),
            at_ms: since_ns / 1_000_000,
        };
        state.books.arrived();
        let (number, fault) = state.deck.draw(arrival);
        if let Some(fault @ Fault::ClockJump { by_ms }) = fault {
            state.books.played(fault);
            state.jump(by_ms);
            return (number, None);
        }
        (number, fault)
    }

    /// The answer of a fault that comes instead of any work.
    fn instead(
        &self,
        form: Form,
        fault: Fault,
    ) -> Option<Result<Response<BodyStream>, TransportError>> {
        let mut state = self.state();
        let instead = injected::instead(form, fault, self.0.clock.date(state.jumped_ms))?;
        state.books.played(fault);
        Some(instead)
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
            let code = Some("model_not_found");
            let answer = asked.form.error(404, "invalid_request_error", code, &words);
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
        mut asked: Asked,
        fault: Option<Fault>,
    ) -> (Result<Answering, Response<BodyStream>>, HeaderMap) {
        let model = &self.0.config.models[place];
        let mut draws = Rng::with_seed(asked.hash);
        let (text, mut output, finish) = plan(model, &mut draws, &mut asked);
        if matches!(fault, Some(Fault::Silent | Fault::Stall | Fault::KeepAlive)) {
            output = 0;
        }
        let taken = Amounts { input: asked.input_tokens, output: asked.max_output };
        let mut limits = HeaderMap::new();
        let (now_ns, epoch, outcome) = {
            let mut state = self.state();
            // Read under the lock: a bucket is never asked about a time before its last one.
            let now_ns = self.now_ns();
            let quotas = &mut state.quotas[self.0.quotas_of[place]];
            let outcome = quotas.take(taken, now_ns);
            let now = self.0.clock.date(state.jumped_ms);
            let quotas = &mut state.quotas[self.0.quotas_of[place]];
            asked.form.limits(&mut limits, &quotas.shown(now_ns), now);
            if let (Some(fault), Ok(())) = (fault, &outcome) {
                state.books.played(fault);
            }
            (now_ns, state.epoch, outcome)
        };
        if let Err(refused) = outcome {
            return (Err(answer::refused(asked.form, &model.wire_id, refused)), limits);
        }
        let pace = Pace::draw(model.latency, &mut draws, now_ns);
        let engine = self.clone();
        let serving =
            Serving { engine, model: place, epoch, taken, pace, output, open: Open::Open };
        let completion = Completion {
            id: asked.hash,
            model: model.wire_id.clone(),
            form: asked.form,
            blocks: Blocks::default(),
        };
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
        let mut state = self.state();
        let now_ns = self.now_ns();
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

impl State {
    fn jump(&mut self, by_ms: i64) {
        self.jumped_ms = self.jumped_ms.saturating_add(by_ms);
        let forward_ns = u128::try_from(by_ms).unwrap_or(0) * 1_000_000;
        self.quotas.iter_mut().for_each(|quotas| quotas.pass(forward_ns));
    }
}

/// Where chat completions are asked for.
const CHAT: &str = "/v1/chat/completions";

/// A loopback server behind a transport without sockets.
///
/// # Errors
/// [`LoopbackError`], as [`Engine::new`]; keep an [`Engine`] where the ledger is wanted too.
pub fn in_memory(config: LoopbackConfig) -> Result<Arc<dyn Transport>, LoopbackError> {
    Ok(Engine::new(config)?.transport())
}
