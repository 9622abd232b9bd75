//! A server of a test's own: it tells of each request and answers what the test says, when it says.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

/// It listens until the test ends.
pub(crate) struct Server {
    pub(crate) port: u16,
    arrived: Receiver<Asked>,
}

/// A request that waits for its answer.
pub(crate) struct Asked {
    stream: TcpStream,
}

/// An answer of the OpenAI wire: 10 tokens in, 20 out.
pub(crate) const ANSWER: &str = r#"{"id": "a", "choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 20}}"#;

impl Server {
    /// Answers each request by hand, see [`Server::next`].
    pub(crate) fn by_hand() -> Self {
        let (sender, arrived) = channel();
        Self { port: listen(sender), arrived }
    }

    /// Answers every request so, at once.
    pub(crate) fn always(status: &'static str, kind: &'static str, body: &'static str) -> Self {
        let Self { port, arrived } = Self::by_hand();
        let (sender, told) = channel();
        std::thread::spawn(move || {
            for asked in arrived {
                let kept = asked.stream.try_clone().unwrap();
                asked.answer(status, kind, body);
                let _ = sender.send(Asked { stream: kept });
            }
        });
        Self { port, arrived: told }
    }

    /// The next request, as soon as it is there.
    pub(crate) fn next(&self) -> Asked {
        self.arrived.recv().unwrap()
    }

    /// How many requests have come.
    pub(crate) fn count(&self) -> usize {
        self.arrived.try_iter().count()
    }

    /// A catalog that names it.
    pub(crate) fn catalog(&self) -> String {
        catalog(self.port)
    }
}

/// A catalog with one model at this port of this machine.
pub(crate) fn catalog(port: u16) -> String {
    format!(
        "[providers.mine]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
         [models.scribe]\nprovider = \"mine\"\nwire_id = \"scribe-1\"\ngrade = \"small\"\n\
         context = 32_000\nmax_output = 4_000\n\
         price = {{ currency = \"USD\", input = 1, output = 10 }}\n"
    )
}

impl Asked {
    pub(crate) fn answer(mut self, status: &str, kind: &str, body: &str) {
        let length = body.len();
        // Whoever hung up does not need it.
        let _ = write!(
            self.stream,
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        );
    }
}

fn listen(sender: Sender<Asked>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            std::thread::spawn(move || {
                if read_request(&mut stream).is_some() {
                    let _ = sender.send(Asked { stream });
                }
            });
        }
    });
    port
}

/// Reads a request to its end.
fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()
}
