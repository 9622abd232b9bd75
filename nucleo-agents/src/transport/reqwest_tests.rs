//! The pooled client against servers of a few raw bytes.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

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
