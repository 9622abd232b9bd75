//! Typed answers over real HTTP: a server of a few lines, and the loopback provider.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use nucleo_agents::Runtime;
use nucleo_agents::catalog::{Catalog, Grade};
use nucleo_agents::prelude::AgentError;
use nucleo_harness::attempt::JobError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Triage {
    category: String,
    #[schemars(range(min = 1, max = 5))]
    urgency: u8,
}

type Bodies = Arc<Mutex<Vec<Value>>>;

/// A server that says these texts, one a request, the last one for ever.
async fn says(texts: &[&str]) -> (Runtime, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let bodies = Bodies::default();
    let keep = Arc::clone(&bodies);
    let mut texts: VecDeque<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let text = texts.front().cloned().unwrap();
            if texts.len() > 1 {
                texts.pop_front();
            }
            let body = exchange(stream, &text).await;
            keep.lock().unwrap().push(body);
        }
    });
    let catalog = format!(
        "[providers.mine]\nkind = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:{port}/v1\"\n\
         [models.scribe]\nprovider = \"mine\"\nwire_id = \"scribe-1\"\ngrade = \"small\"\n\
         context = 32_000\nmax_output = 4_000\nprice = {{ currency = \"USD\", input = 1, output = 10 }}\n"
    );
    let runtime = Runtime::start(Catalog::parse("models.toml", &catalog).unwrap()).unwrap();
    (runtime, bodies)
}

/// Reads one request, and answers it with this text.
async fn exchange(stream: TcpStream, text: &str) -> Value {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let said = json!({
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20},
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{said}",
        said.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

async fn triage(runtime: &Runtime) -> (Result<Triage, AgentError>, nucleo_agents::Workflow) {
    let workflow = runtime.workflow("triage").cap("1 USD".parse().unwrap()).start();
    let call = workflow.context().model(Grade::Small).user("Sort this.").output(100);
    (call.answer().await, workflow)
}

const FINE: &str = r#"{"category": "parcel", "urgency": 3}"#;

#[tokio::test]
async fn a_reply_in_a_fence_is_read() {
    let (runtime, bodies) = says(&[&format!("Here it is:\n```json\n{FINE}\n```\nDone.")]).await;
    let (answer, _) = triage(&runtime).await;
    assert_eq!(answer.unwrap(), Triage { category: "parcel".to_owned(), urgency: 3 });
    let body = bodies.lock().unwrap()[0].to_string();
    assert!(body.contains("urgency"), "the schema is shown: {body}");
}

#[tokio::test]
async fn a_correction_names_field_and_rule_and_no_value() {
    let secret = r#"{"category": "parcel", "urgency": 77}"#;
    let (runtime, bodies) = says(&["I can't say.", secret, FINE]).await;
    let (answer, workflow) = triage(&runtime).await;
    assert_eq!(answer.unwrap().urgency, 3);
    let bodies = bodies.lock().unwrap();
    assert_eq!(bodies.len(), 3, "two corrections");
    let last = bodies[2]["messages"].as_array().unwrap();
    let correction = last.last().unwrap()["content"].to_string();
    assert!(correction.contains("urgency"), "{correction}");
    assert!(!correction.contains("77"), "no value: {correction}");
    let said: Vec<_> = last.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(said[said.len() - 4..], ["assistant", "user", "assistant", "user"]);
    assert_eq!(workflow.spent(), Some("0.00063 USD".parse().unwrap()), "all three are paid");
    assert_eq!(workflow.context().record().attempts, 3);
}

#[tokio::test]
async fn after_two_corrections_it_is_a_failure() {
    let (runtime, bodies) = says(&["I can't say."]).await;
    let (answer, workflow) = triage(&runtime).await;
    let Err(AgentError::Job(JobError::Failed { attempts, failure })) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((attempts, failure.signal.name()), (3, "correction"));
    assert_eq!(bodies.lock().unwrap().len(), 3);
    assert_eq!(workflow.spent(), Some("0.00063 USD".parse().unwrap()));
    assert_eq!(runtime.harness().ledger().under_way(), 0);
}

#[tokio::test]
async fn the_loopback_provider_answers_in_the_form_it_is_shown() {
    let runtime = Runtime::start(Catalog::loopback()).unwrap();
    let (answer, workflow) = triage(&runtime).await;
    assert!((1..=5).contains(&answer.unwrap().urgency));
    let billed = runtime.loopback_servers()[0].ledger().billed["USD"].clone();
    assert_eq!(workflow.spent(), Some(format!("{billed} USD").parse().unwrap()));
}
