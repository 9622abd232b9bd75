//! The pooled client against servers of a few raw bytes.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// A server that answers its first connection with these bytes and closes it.
async fn raw(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4_096];
        let _ = socket.read(&mut request).await.unwrap();
        socket.write_all(answer).await.unwrap();
    });
    format!("http://{address}/")
}

async fn get(uri: &str) -> Result<http::Response<BodyStream>, TransportError> {
    let request = http::Request::builder().uri(uri).body(Bytes::new()).unwrap();
    Pooled::new(PooledConfig::default()).unwrap().send(request).await
}

#[tokio::test]
async fn a_whole_answer_and_no_redirect() {
    let uri = raw(b"HTTP/1.1 302 Found\r\nlocation: /x\r\ncontent-length: 2\r\n\r\nhi").await;
    let answer = get(&uri).await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(answer.headers()["location"], "/x");
    assert_eq!(answer.into_body().whole(10).await.unwrap(), "hi");
}

#[tokio::test]
async fn below_http_failures_are_told_apart() {
    let before = get(&raw(b"").await).await.unwrap_err();
    assert!(
        matches!(before, TransportError::Broken { at: BrokenAt::BeforeHead, .. }),
        "{before:?}"
    );
    let inside =
        get(&raw(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await).await.unwrap();
    let inside = inside.into_body().whole(100).await;
    assert!(matches!(inside, Err(crate::transport::BodyError::Cut(_))), "{inside:?}");
    let protocol = get(&raw(b"220 mail ready\r\n\r\n").await).await.unwrap_err();
    assert!(matches!(protocol, TransportError::Protocol { .. }), "{protocol:?}");
    for error in [before, protocol] {
        assert!(!error.nothing_left());
        assert!(!format!("{error:?}").contains("127.0.0.1"), "no address: {error:?}");
    }
}

#[tokio::test]
async fn what_is_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    for uri in [format!("http://{closed}/"), format!("https://{closed}/")] {
        let error = get(&uri).await.unwrap_err();
        assert!(matches!(error, TransportError::Connect { .. }), "{uri}: {error:?}");
        assert!(error.nothing_left());
    }
    let no_tls = raw(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.replace("http://", "https://");
    let error = get(&no_tls).await.unwrap_err();
    assert!(error.nothing_left(), "a failed handshake sends no request: {error:?}");
    let relative = get("/v1").await.unwrap_err();
    assert!(matches!(relative, TransportError::Unsendable { .. }), "{relative:?}");
}

/// How a server treats the connection that it has just answered on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// It closes it at once.
    Closes,
    /// It keeps it, takes the next request off it, and closes it without an answer.
    TakesOneMore,
}

/// A server that answers the first request of each connection; and how many requests arrived.
async fn counting(after: After) -> (String, Arc<AtomicUsize>, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let (closed, closes) = mpsc::unbounded_channel();
    let arrived = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            for answered in 0.. {
                // Small requests of one packet: each read is one of them, or the end.
                let mut request = [0; 4_096];
                if socket.read(&mut request).await.unwrap_or(0) == 0 {
                    break;
                }
                arrived.fetch_add(1, Ordering::SeqCst);
                if answered == 1 {
                    break;
                }
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                socket.write_all(answer).await.unwrap();
                if after == After::Closes {
                    break;
                }
            }
            drop(socket);
            let _ = closed.send(());
        }
    });
    (format!("http://{address}/"), count, closes)
}

/// A request that went out on a kept connection is never sent again, whoever closed it, and when.
#[tokio::test]
async fn a_connection_closed_while_idle_sends_nothing_twice() {
    for after in [After::Closes, After::TakesOneMore] {
        let (uri, count, mut closes) = counting(after).await;
        let client = Pooled::new(PooledConfig::default()).unwrap();
        let post = || {
            let request = http::Request::post(&uri).body(Bytes::from_static(b"a question"));
            client.send(request.unwrap())
        };
        let mut reached = 0;
        for round in 0..20 {
            // On a connection whose end it has not seen yet the client may fail. It was closed
            // before, so nothing arrived on it; and nothing is sent in its place behind our back.
            let Ok(answer) = post().await else {
                assert_eq!(count.load(Ordering::SeqCst), reached, "{after:?} {round}");
                continue;
            };
            assert_eq!(answer.into_body().whole(10).await.unwrap(), "hi");
            reached += 1;
            if after == After::TakesOneMore {
                let broken = post().await.unwrap_err();
                reached += 1;
                assert!(!broken.nothing_left(), "it may have worked: {broken:?}");
                let TransportError::Broken { at: BrokenAt::BeforeHead, .. } = broken else {
                    panic!("{broken:?}");
                };
            }
            closes.recv().await.unwrap();
            if round % 2 == 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(count.load(Ordering::SeqCst), reached, "{after:?} {round}");
        }
    }
}
