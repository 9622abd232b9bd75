//! Trouble with a server, told as it comes and not only when the last retry has failed.
//!
//! A server that is down costs each call four attempts over a minute or more; whoever watches wants
//! to know at once. So the transport is watched, and each kind of trouble with each server is told
//! once.
//!
//! Invariants: requests and answers pass unchanged; what is told names the server by host and port
//! only, because an address may hold a secret.
//!
//! Not here: retrying (`nucleo_harness`), what a call's end says in the results (`commands::run`).

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use nucleo_agents::transport::{BodyStream, Pooled, PooledConfig, Transport, TransportError};
use tokio::sync::mpsc;

/// The network, watched.
pub(crate) struct Watched {
    network: Pooled,
    watch: Arc<Watch>,
}

struct Watch {
    told: Mutex<BTreeSet<String>>,
    sender: mpsc::UnboundedSender<String>,
}

/// Where trouble is told, once a kind.
pub(crate) type Troubles = mpsc::UnboundedReceiver<String>;

/// The network, and where its trouble is told.
pub(crate) fn watched() -> Result<(Arc<Watched>, Troubles), TransportError> {
    let (sender, troubles) = mpsc::unbounded_channel();
    let network = Pooled::new(PooledConfig::default())?;
    let watch = Arc::new(Watch { told: Mutex::default(), sender });
    Ok((Arc::new(Watched { network, watch }), troubles))
}

impl Transport for Watched {
    fn send(
        &self,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<BodyStream>, TransportError>> {
        let (watch, server) = (Arc::clone(&self.watch), server(request.uri()));
        let sending = self.network.send(request);
        async move {
            let answer = sending.await;
            if let Some(trouble) = trouble(&answer) {
                watch.tell(format!("{server}: {trouble}"));
            }
            answer
        }
        .boxed()
    }
}

impl Watch {
    fn tell(&self, text: String) {
        if self.told.lock().expect("noting can't panic").insert(text.clone()) {
            // Nobody listens any more when the command is about to end.
            let _ = self.sender.send(text);
        }
    }
}

fn server(uri: &http::Uri) -> String {
    let host = uri.host().unwrap_or("the server");
    uri.port_u16().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// What is worth telling, if it is trouble.
fn trouble(answer: &Result<http::Response<BodyStream>, TransportError>) -> Option<String> {
    let head = match answer {
        Ok(head) => head,
        Err(error) => {
            // The innermost cause is what the system said; the ones between are the client's own.
            let mut cause = error.source();
            while let Some(inner) = cause.and_then(std::error::Error::source) {
                cause = Some(inner);
            }
            let said = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
            return Some(format!("{error}{said}"));
        }
    };
    let status = head.status();
    let kind = head.headers().get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match status.as_u16() {
        429 => Some("answers 429, too many requests".to_owned()),
        500.. => Some(format!("answers {status}")),
        _ if kind.starts_with("text/html") => Some(format!(
            "answers with a web page (status {}): check base_url, and proxies on the way",
            status.as_u16()
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use nucleo_agents::transport::BrokenAt;

    use super::*;

    fn head(status: u16, kind: &str) -> Result<http::Response<BodyStream>, TransportError> {
        let head = http::Response::builder().status(status).header("content-type", kind);
        Ok(head.body(BodyStream::full("")).unwrap())
    }

    #[test]
    fn only_trouble_is_told() {
        assert_eq!(trouble(&head(200, "application/json")), None);
        assert_eq!(trouble(&head(200, "text/event-stream")), None);
        assert_eq!(trouble(&head(404, "application/json")), None, "its item's failure says it");
        assert!(trouble(&head(200, "text/html; charset=utf-8")).unwrap().contains("web page"));
        assert!(trouble(&head(503, "text/html")).unwrap().contains("503"));
        assert!(trouble(&head(429, "application/json")).unwrap().contains("429"));
        let broken = Err(TransportError::broken(BrokenAt::BeforeHead, "the plug was pulled"));
        assert!(trouble(&broken).unwrap().ends_with("(the plug was pulled)"));
    }

    #[test]
    fn a_server_is_named_without_what_may_be_secret() {
        let uri = "https://user:secret@models.example:8443/v1?key=secret".parse().unwrap();
        assert_eq!(server(&uri), "models.example:8443");
        assert_eq!(server(&"https://models.example/v1".parse().unwrap()), "models.example");
    }
}
