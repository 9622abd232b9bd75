//! The transport over the network: one pool of HTTP/1.1 connections, shared by all providers.
//!
//! Why HTTP/1.1 only: on HTTP/2 the client keeps one connection a host and queues past the server's
//! stream limit inside itself, after the grant, where nothing counts the wait. With HTTP/1.1 a
//! granted request takes an idle connection or opens one, at once; how many there may be is the
//! `http` account's business.
//!
//! Invariants: no retry, no redirect, no proxy from the environment, no timeout but the one for
//! connecting; errors never carry an address (it may hold a secret). Keepalive probes find a peer
//! that vanished behind a NAT. The plain client needs no certificate store, so `http://` works on a
//! machine without one; the encrypted one is built at the first `https://` request.
//!
//! Not here: waiting for a place, timeouts of an attempt (`nucleo-harness`).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;
use futures_util::{FutureExt as _, TryStreamExt as _};
use http::uri::Scheme;
use nucleo_core::Span;
use reqwest::{Client, ClientBuilder};

use super::{BodyStream, BrokenAt, Cause, Transport, TransportError};

/// How the pool connects. The defaults suit hosted providers and local servers alike.
#[derive(Clone, Debug)]
pub struct PooledConfig {
    connect_timeout: Span,
    idle_timeout: Span,
    keepalive: Span,
    idle_connections_max: usize,
}

/// The pooled client. Cheap to share: keep one for the process behind an `Arc`.
///
/// ```
/// use nucleo_agents::transport::{Pooled, PooledConfig};
/// let transport = Pooled::new(PooledConfig::default()).unwrap();
/// # let _ = transport;
/// ```
#[derive(Debug)]
pub struct Pooled {
    config: PooledConfig,
    plain: Client,
    encrypted: OnceLock<Result<Client, Cause>>,
}

impl PooledConfig {
    /// How long name resolution, TCP and TLS may take together. 10 s unless set.
    #[must_use]
    pub const fn connect_timeout(mut self, span: Span) -> Self {
        self.connect_timeout = span;
        self
    }

    /// How long an unused connection is kept; shorter than a server's own limit, so that a request
    /// rarely meets a connection that is just being closed. 30 s unless set.
    #[must_use]
    pub const fn idle_timeout(mut self, span: Span) -> Self {
        self.idle_timeout = span;
        self
    }

    /// How many unused connections are kept per host. It bounds what is kept, never what may be
    /// open: a request without an idle connection opens one. No bound unless set.
    #[must_use]
    pub const fn idle_connections_max(mut self, connections: usize) -> Self {
        self.idle_connections_max = connections;
        self
    }
}

impl Default for PooledConfig {
    fn default() -> Self {
        Self {
            connect_timeout: Span::from_secs(10),
            idle_timeout: Span::from_secs(30),
            keepalive: Span::from_secs(30),
            idle_connections_max: usize::MAX,
        }
    }
}

impl Pooled {
    /// A pool without connections yet.
    ///
    /// # Errors
    /// [`TransportError::Connect`] when the client can't be set up at all. A missing certificate
    /// store is told later, by the first `https://` request.
    pub fn new(config: PooledConfig) -> Result<Self, TransportError> {
        let plain =
            build(&config, plain_tls()).map_err(|source| TransportError::Connect { source })?;
        Ok(Self { config, plain, encrypted: OnceLock::new() })
    }

    fn client(&self, uri: &http::Uri) -> Result<&Client, TransportError> {
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(&self.plain);
        }
        let built = self.encrypted.get_or_init(|| {
            // Said explicitly: with two crypto providers compiled in, rustls would refuse to choose.
            // An error means that the program chose one already, which is its right.
            let _ = rustls::crypto::ring::default_provider().install_default();
            build(&self.config, None)
        });
        built.as_ref().map_err(|source| TransportError::Connect { source: source.clone() })
    }
}

impl Transport for Pooled {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<BodyStream>, TransportError>> {
        let sending = self.client(request.uri()).and_then(|client| {
            let request = request.try_into().map_err(|error: reqwest::Error| {
                TransportError::Unsendable { source: Arc::new(error.without_url()) }
            })?;
            Ok(client.execute(request))
        });
        async move {
            let answer = sending?.await.map_err(|error| classify(error, BrokenAt::BeforeHead))?;
            let mut head = http::Response::new(());
            *head.status_mut() = answer.status();
            *head.headers_mut() = answer.headers().clone();
            let body = answer.bytes_stream().map_err(|error| classify(error, BrokenAt::InBody));
            Ok(head.map(|()| BodyStream::new(body)))
        }
        .boxed()
    }
}

/// TLS that trusts nobody: the plain client never speaks it and must not look for certificates.
fn plain_tls() -> Option<rustls::ClientConfig> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Some(config)
}

fn build(config: &PooledConfig, tls: Option<rustls::ClientConfig>) -> Result<Client, Cause> {
    let mut builder = ClientBuilder::new()
        .http1_only()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .tcp_nodelay(true)
        .tcp_keepalive(config.keepalive.to_std())
        .tcp_keepalive_interval(Duration::from_secs(15))
        .tcp_keepalive_retries(3)
        .connect_timeout(config.connect_timeout.to_std())
        .pool_idle_timeout(config.idle_timeout.to_std())
        .pool_max_idle_per_host(config.idle_connections_max);
    if let Some(tls) = tls {
        builder = builder.tls_backend_preconfigured(tls);
    }
    builder.build().map_err(|error| Arc::new(error.without_url()) as Cause)
}

fn classify(error: reqwest::Error, at: BrokenAt) -> TransportError {
    let (connect, unsendable) = (error.is_connect(), error.is_builder());
    let protocol = speaks_no_http(&error);
    let source: Cause = Arc::new(error.without_url());
    match at {
        BrokenAt::BeforeHead if connect => TransportError::Connect { source },
        BrokenAt::BeforeHead if unsendable => TransportError::Unsendable { source },
        BrokenAt::BeforeHead if protocol => TransportError::Protocol { source },
        at => TransportError::Broken { at, source },
    }
}

fn speaks_no_http(error: &reqwest::Error) -> bool {
    let mut link: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = link {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        link = error.source();
    }
    false
}

#[cfg(test)]
#[path = "reqwest_tests.rs"]
mod tests;
