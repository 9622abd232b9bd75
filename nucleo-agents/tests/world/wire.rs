//! The wire: sees each request leave and each answer end, and reads from the bytes alone what the
//! attempt must have cost.
//!
//! It is an independent reading of the table of `docs/design/attempt.md`: nothing of the runtime's own
//! judgement of an answer is asked. Calls of agents are not streamed, so an answer is one body.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use fastrand::Rng;
use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use http::{HeaderMap, Request, Response, header};
use nucleo_agents::catalog::{Catalog, ModelEntry};
use nucleo_agents::providers::loopback::count_tokens;
use nucleo_agents::transport::{BodyStream, Transport, TransportError};
use serde_json::Value;

use crate::observer::Observer;
use crate::own::pause;
use crate::plan::Network;

/// A request as the wire reads it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) workflow: usize,
    pub(crate) entry: Arc<ModelEntry>,
    pub(crate) input: u64,
    pub(crate) limit: u64,
}

/// What was seen of an exchange when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    NoConnection,
    /// Nothing came until the client went.
    NoHead,
    /// The head came, and no whole body until the client went.
    NoBody,
    /// The head came, and then nothing but blanks.
    KeptAlive,
    BrokenBeforeHead,
    BrokenInBody,
    /// The connection broke, and the answer was whole.
    BrokenAfterBody(u64, u64),
    /// Of 200, and it says error; some of an answer came before, or none.
    ErrorInside(Partial),
    /// A status of an error.
    Status(u16, Asks),
    WebPage,
    Unreadable,
    NoUsage,
    /// A whole answer: tokens in, tokens out.
    Whole(u64, u64),
}

/// How much of an answer came before the error inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Partial {
    Nothing,
    Some,
}

/// How long an error asks to wait, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    Nothing,
    AtOnce,
    Soon,
    MuchLater,
    InDays,
    InMilliseconds,
    InSeconds,
    AtADate,
    AtAPastDate,
    InWords,
    Credit,
    /// The server's own quota refused.
    Quota,
}

impl Shown {
    pub(crate) fn name(self, asked: &Asked) -> String {
        match self {
            Self::NoConnection => "no connection".into(),
            Self::NoHead => "no head".into(),
            Self::NoBody => "no body".into(),
            Self::KeptAlive => "only kept alive".into(),
            Self::BrokenAfterBody(..) => "broken after the body".into(),
            Self::ErrorInside(Partial::Nothing) => "an error inside".into(),
            Self::ErrorInside(Partial::Some) => "an error midway".into(),
            Self::BrokenBeforeHead => "broken before the head".into(),
            Self::BrokenInBody => "broken in the body".into(),
            Self::Status(_, Asks::Credit) => "out of credit".into(),
            Self::Status(status, Asks::Nothing) => status.to_string(),
            Self::Status(status, asks) => format!("{status} {}", asks.words()),
            Self::WebPage => "web page".into(),
            Self::Unreadable => "unreadable".into(),
            Self::NoUsage => "no usage".into(),
            Self::Whole(input, output) if input > asked.input || output > asked.limit => {
                "usage above the reservation".into()
            }
            Self::Whole(..) => "whole".into(),
        }
    }
}

impl Asks {
    const fn words(self) -> &'static str {
        match self {
            Self::Nothing | Self::Credit => "",
            Self::AtOnce => "at once",
            Self::Soon => "soon",
            Self::MuchLater => "much later",
            Self::InDays => "in days",
            Self::InMilliseconds => "in milliseconds",
            Self::InSeconds => "in seconds",
            Self::AtADate => "at a date",
            Self::AtAPastDate => "at a past date",
            Self::InWords => "in words",
            Self::Quota => "of a quota",
        }
    }
}

/// The transport under watch.
pub(crate) struct Wire {
    server: Arc<dyn Transport>,
    catalog: Arc<Catalog>,
    observer: Arc<Observer>,
    network: Network,
    random: Mutex<Rng>,
}

impl Wire {
    pub(crate) fn new(
        server: Arc<dyn Transport>,
        catalog: Arc<Catalog>,
        observer: Arc<Observer>,
        network: Network,
        seed: u64,
    ) -> Self {
        Self { server, catalog, observer, network, random: Mutex::new(Rng::with_seed(seed)) }
    }

    fn read(&self, body: &[u8]) -> Asked {
        let body: Value = serde_json::from_slice(body).expect("a request is JSON");
        let messages = body["messages"].as_array().expect("a request has messages");
        let texts = || messages.iter().map(|message| message["content"].as_str().unwrap_or(""));
        let first = texts().next().expect("a request has a first message");
        let workflow = first.split(' ').next().and_then(|word| word.strip_prefix('w'));
        let id = body["model"].as_str().expect("a request names its model");
        let limit = body["max_completion_tokens"].as_u64().or(body["max_tokens"].as_u64());
        Asked {
            workflow: workflow.and_then(|number| number.parse().ok()).expect("a prompt is marked"),
            entry: Arc::clone(self.catalog.model(id).expect("it is in the catalog")),
            input: count_tokens(texts()) + form_tokens(&body["response_format"]["json_schema"]),
            limit: limit.expect("a request states its limit"),
        }
    }
}

/// The form of an answer, as the server's rule counts it.
fn form_tokens(form: &Value) -> u64 {
    if form.is_null() {
        return 0;
    }
    let name = form["name"].as_str().expect("a form has a name");
    ((name.len() + form["schema"].to_string().len()) as u64).div_ceil(4)
}

impl Transport for Wire {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<BodyStream>, TransportError>> {
        let exchange = Exchange::leaves(self.read(request.body()), Arc::clone(&self.observer));
        let (refused, there, back) = {
            let mut random = self.random.lock().unwrap();
            let Network { refuses, delay_ms } = self.network;
            (random.u32(0..1_000_000) < refuses, random.u64(0..=delay_ms), random.u64(0..=delay_ms))
        };
        let server = Arc::clone(&self.server);
        async move {
            pause(there).await;
            if refused {
                exchange.ends(Shown::NoConnection);
                return Err(TransportError::connect("refused by the world"));
            }
            let answer = server.send(request).await;
            pause(back).await;
            match answer {
                Ok(answer) => Ok(exchange.head(answer).await),
                Err(error) => {
                    exchange.ends(Shown::BrokenBeforeHead);
                    Err(error)
                }
            }
        }
        .boxed()
    }
}

/// A request under way; its drop is its end.
struct Exchange {
    asked: Asked,
    shown: Shown,
    observer: Arc<Observer>,
}

impl Exchange {
    fn leaves(asked: Asked, observer: Arc<Observer>) -> Self {
        observer.leaves(&asked);
        Self { asked, shown: Shown::NoHead, observer }
    }

    /// It is over, and this was seen.
    fn ends(mut self, shown: Shown) {
        self.shown = shown;
    }

    /// Looks at the head, and lets the body through under watch.
    async fn head(mut self, answer: Response<BodyStream>) -> Response<BodyStream> {
        let (head, body) = answer.into_parts();
        let status = head.status.as_u16();
        let html = head
            .headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        if status != 200 {
            let body = body.whole(1 << 16).await.expect("an error's body is whole");
            self.shown = Shown::Status(status, asks(&body, &head.headers));
            return Response::from_parts(head, BodyStream::full(body));
        }
        self.shown = if html { Shown::WebPage } else { Shown::NoBody };
        let watched = Watched { body, read: Vec::new(), exchange: self };
        Response::from_parts(head, BodyStream::new(watched))
    }
}

fn asks(body: &[u8], headers: &HeaderMap) -> Asks {
    let has = |word: &str| body.windows(word.len()).any(|part| part == word.as_bytes());
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let date = |name| text(name).and_then(|text| httpdate::parse_http_date(text).ok());
    let number = |name| text(name).map(|text| text.parse::<u64>().ok());
    match (number("retry-after-ms"), number("retry-after")) {
        _ if has("insufficient_quota") => Asks::Credit,
        _ if !has("injected on request") => Asks::Quota,
        (None, None) => Asks::Nothing,
        (Some(None), Some(None)) => Asks::InWords,
        (Some(Some(_)), None) => Asks::InMilliseconds,
        (None, Some(Some(_))) => Asks::InSeconds,
        (None, Some(None)) if date("retry-after") < date("date") => Asks::AtAPastDate,
        (None | Some(None), Some(_)) | (Some(None), None) => Asks::AtADate,
        (Some(Some(0)), _) => Asks::AtOnce,
        (Some(Some(..60_000)), _) => Asks::Soon,
        (Some(Some(..86_400_000)), _) => Asks::MuchLater,
        (Some(Some(_)), _) => Asks::InDays,
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.observer.ends(&self.asked, self.shown);
    }
}

/// A body on its way.
struct Watched {
    body: BodyStream,
    read: Vec<u8>,
    exchange: Exchange,
}

impl Stream for Watched {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = std::task::ready!(Pin::new(&mut self.body).poll_next(cx));
        if matches!(self.exchange.shown, Shown::NoBody | Shown::KeptAlive) {
            match &piece {
                Some(Ok(bytes)) => {
                    self.read.extend_from_slice(bytes);
                    let blank = self.read.iter().all(u8::is_ascii_whitespace);
                    self.exchange.shown = if blank { Shown::KeptAlive } else { Shown::NoBody };
                }
                Some(Err(_)) => {
                    self.exchange.shown = match whole(&self.read) {
                        Shown::Whole(input, output) => Shown::BrokenAfterBody(input, output),
                        _ => Shown::BrokenInBody,
                    };
                }
                None => self.exchange.shown = whole(&self.read),
            }
        }
        Poll::Ready(piece)
    }
}

/// What a body of 200 that came to its end says.
fn whole(body: &[u8]) -> Shown {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Shown::Unreadable;
    };
    if !body["error"].is_null() {
        let partial = if body["choices"].is_null() { Partial::Nothing } else { Partial::Some };
        return Shown::ErrorInside(partial);
    }
    let usage = &body["usage"];
    match (usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64()) {
        (Some(input), Some(output)) => Shown::Whole(input, output),
        _ => Shown::NoUsage,
    }
}
