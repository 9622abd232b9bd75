//! The engine behind a socket: HTTP/1.1 on an address of this machine.
//!
//! Invariants: so many connections at most, further ones wait to be accepted; a client that goes
//! away ends its request; dropping the handle, or shutting it down, closes every connection.
//!
//! Not here: what is answered (`engine`).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use http::{Request, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::config::{LoopbackConfig, LoopbackError};
use super::engine::Engine;
use super::form::Form;
use super::ledger::Ledger;
use crate::transport::{BodyStream, BrokenAt, TransportError};

/// A running loopback server. Dropping it stops it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use nucleo_agents::providers::loopback::{Loopback, LoopbackConfig, LoopbackModel};
/// let config = LoopbackConfig::new([LoopbackModel::new("small-1")]);
/// let server = Loopback::start(config, "127.0.0.1:0".parse().unwrap()).unwrap();
/// assert!(server.base_url().starts_with("http://127.0.0.1:"));
/// server.shutdown().await;
/// # });
/// ```
#[derive(Debug)]
pub struct Loopback {
    engine: Engine,
    address: SocketAddr,
    accepting: JoinHandle<()>,
    stop: DropGuard,
}

impl Loopback {
    /// Listens on `address` (port 0: any free one) and serves `config`.
    ///
    /// # Errors
    /// [`LoopbackError`] for a configuration that can't be served or an address that can't be had.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O.
    pub fn start(config: LoopbackConfig, address: SocketAddr) -> Result<Self, LoopbackError> {
        Self::serve(Engine::new(config)?, address)
    }

    /// Listens on `address` and serves an engine that may be reached otherwise too.
    ///
    /// # Errors
    /// [`LoopbackError::Listen`] when the address can't be had.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O.
    pub fn serve(engine: Engine, address: SocketAddr) -> Result<Self, LoopbackError> {
        let listen = |source| LoopbackError::Listen { address, source };
        let listener = listener(address).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let stop = CancellationToken::new();
        let accepting = tokio::spawn(accept(listener, engine.clone(), stop.clone()));
        Ok(Self { engine, address, accepting, stop: stop.drop_guard() })
    }

    /// The base url that a client is given, `/v1` included.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server behind the socket.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The books as they are now.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        self.engine.ledger()
    }

    /// As [`Engine::reset`].
    pub fn reset(&self) {
        self.engine.reset();
    }

    /// Stops listening and closes every connection; returns once the port is free.
    ///
    /// # Cancel safety
    /// The server stops in any case.
    pub async fn shutdown(self) {
        drop(self.stop);
        // It only ends by the token; a panic in it was reported when it happened.
        let _ = self.accepting.await;
    }
}

/// A listener with room for a fan-out that connects all at once.
fn listener(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(16_384)
}

async fn accept(listener: TcpListener, engine: Engine, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(engine.connections_max()));
    let connections = tokio_util::task::TaskTracker::new();
    let accepting = async {
        loop {
            let place =
                places.clone().acquire_owned().await.expect("the semaphore is never closed");
            match listener.accept().await {
                Ok((socket, _)) => {
                    let (engine, stop) = (engine.clone(), stop.clone());
                    connections.spawn(async move {
                        let _ = stop.run_until_cancelled(converse(socket, engine)).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Out of file descriptors: nothing tells when one is free again, and the
                    // listener stays ready, so a short pause keeps this from spinning.
                    tracing::warn!(%error, "the loopback server can't accept a connection");
                    engine.clock().reach(engine.now_ns() + ACCEPT_PAUSE_NS).await;
                }
            }
        }
    };
    let _: Option<Infallible> = stop.run_until_cancelled(accepting).await;
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// Serves one connection until either side ends it.
async fn converse(socket: TcpStream, engine: Engine) {
    // Without it small answers wait for acknowledgements; failing to set it only costs time.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| respond(engine.clone(), request));
    let connection = hyper::server::conn::http1::Builder::new()
        .header_read_timeout(None)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(socket), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a loopback connection ended early");
    }
}

type Served = StreamBody<futures_util::stream::MapOk<BodyStream, fn(Bytes) -> Frame<Bytes>>>;

async fn respond(
    engine: Engine,
    request: Request<Incoming>,
) -> Result<Response<Served>, TransportError> {
    let (head, body) = request.into_parts();
    let answer = match Limited::new(body, REQUEST_BYTES_MAX).collect().await {
        Ok(body) => engine.handle(Request::from_parts(head, body.to_bytes())).await?,
        Err(error) if error.is::<LengthLimitError>() => {
            let form = Form::at(head.uri.path());
            form.error(413, "invalid_request_error", None, "the request is too large")
        }
        Err(error) => return Err(TransportError::broken(BrokenAt::BeforeHead, error)),
    };
    let frame: fn(Bytes) -> Frame<Bytes> = Frame::data;
    Ok(answer.map(|body| StreamBody::new(body.map_ok(frame))))
}

const ACCEPT_PAUSE_NS: u64 = 20_000_000;
const REQUEST_BYTES_MAX: usize = 64 << 20;
