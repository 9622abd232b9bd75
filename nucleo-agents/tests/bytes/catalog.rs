//! A catalog's text: every problem with its file, line and key, or a catalog that starts and is asked.

use std::sync::Arc;

use nucleo_agents::Runtime;
use nucleo_agents::catalog::{
    Catalog, Credentials, KeySource, LoadError, ModelEntry, Problem, ProviderKind, Rule,
};
use nucleo_agents::transport::{BodyStream, InMemory};
use nucleo_core::{Currency, Money, Reserved};

const FILE: &str = "models.toml";
/// What stands for a provider's key in the environment.
const KEY: &str = "hunter2-not-a-real-key-4711";

pub(crate) fn check(bytes: &[u8]) {
    // A catalog's file is text; what is no UTF-8 is refused before this.
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Catalog::parse(FILE, text) {
        Ok(catalog) => check_loaded(&catalog),
        Err(LoadError::Invalid(problems)) => {
            assert!(!problems.is_empty(), "refused for nothing");
            // After broken syntax what else is wrong may have no name.
            let is_syntax = |problem: &Problem| matches!(problem.rule, Rule::Syntax(_));
            let named = problems.iter().all(|problem| !problem.key.is_empty());
            assert!(named || problems.iter().any(is_syntax), "{problems:?}");
            for problem in &problems {
                check_problem(problem, text);
            }
            assert!(problems.is_sorted_by_key(|problem| problem.line), "{problems:?}");
        }
        Err(other) => panic!("the text was there: {other}"),
    }
}

fn check_problem(problem: &Problem, text: &str) {
    assert_eq!(&*problem.file, FILE);
    assert!((1..=text.split('\n').count()).contains(&problem.line), "{problem:?}");
    assert!(problem.to_string().starts_with(&format!("{FILE}:{}: ", problem.line)), "{problem}");
}

/// What loads can be printed, started, priced and asked.
fn check_loaded(catalog: &Catalog) {
    let from_file = |key: &KeySource| matches!(key, KeySource::File(_));
    // Whatever file a mutated text names: it is not this test's to read.
    if catalog.providers().any(|provider| provider.key.as_ref().is_some_and(from_file)) {
        return;
    }
    let credentials = Credentials::with_variables(catalog, |_| Some(KEY.to_owned()));
    let told = format!("{}\n{credentials:?}\n{catalog:?}", catalog.check(&credentials));
    assert!(!told.contains(KEY));
    let names: Vec<_> = catalog.accounts().into_iter().map(|spec| spec.name).collect();
    for model in catalog.models() {
        assert!(model.accounts.iter().all(|name| names.contains(name)), "{model:?}");
        assert!(catalog.provider(&model.provider).is_some(), "{model:?}");
        assert!(model.max_output <= model.context, "{model:?}");
        check_price(model);
    }
    // Servers of this process are sockets and threads: they have tests of their own.
    let serves = |kind: ProviderKind, url: bool| kind == ProviderKind::Loopback && !url;
    if !catalog.providers().any(|provider| serves(provider.kind, provider.base_url.is_some())) {
        check_started(catalog, credentials);
    }
}

fn check_price(model: &ModelEntry) {
    let Some(price) = &model.price else { return };
    for tokens in [0, 1, 1_000_000, u64::MAX] {
        assert!(price.weight(&Reserved { input: tokens, output: tokens }) >= 0, "{price:?}");
    }
    assert!(price.per_million(price.base.input).pico() > 0, "{price:?}");
}

const ANSWER: &str = r#"{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 18446744073709551615, "completion_tokens": 3}}"#;

fn check_started(catalog: &Catalog, credentials: Credentials) {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    tokio.block_on(async {
        let server = InMemory::new(|_| async { Ok(http::Response::new(BodyStream::full(ANSWER))) });
        let builder = Runtime::builder(catalog.clone()).credentials(credentials);
        let runtime = match builder.transport(Arc::new(server)).start() {
            Ok(runtime) => runtime,
            Err(error) => {
                assert!(!error.to_string().is_empty() && !format!("{error:?}").contains(KEY));
                return;
            }
        };
        for model in catalog.models().take(3) {
            let cap = Money::from_pico(i128::from(u64::MAX), Currency::USD);
            let workflow = runtime.workflow("w").cap(cap).start();
            let call = workflow.context().model_named(Arc::clone(&model.id)).user("Well?");
            let result = call.text().await;
            match result {
                Ok(text) => assert_eq!(text, "Yes."),
                Err(error) => assert!(!format!("{error} {error:?}").contains(KEY), "{error}"),
            }
        }
        assert_eq!(runtime.harness().admission().waiting(), 0, "somebody still waits");
    });
}

/// Where people paste their key: it must not come back in a message.
pub(crate) fn check_pasted_key(key: &str, word: usize) {
    let word = ["api_key", "apikey", "key", "token", "secret", "password"][word];
    let text = format!("[providers.p]\nkind = \"openai-compatible\"\n{word} = \"{key}\"\n");
    let error = Catalog::parse(FILE, &text).expect_err("a key never stands in a catalog");
    assert!(!format!("{error} {error:?}").contains(key), "{error}");
}
