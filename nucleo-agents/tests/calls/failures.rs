//! Each class of failure: how often it is tried, after which pauses, and what is booked.

use nucleo_agents::transport::{BodyStream, BrokenAt, InMemory, TransportError};
use nucleo_core::{Money, Span};
use serde_json::json;

use crate::world::{Answer, FINE_COSTS, World, answer, catalog, failed, fine, status};

/// What a call that is always answered so comes to.
struct Class {
    name: &'static str,
    requests: usize,
    /// Its pauses in all, in seconds.
    pauses: (u64, u64),
    /// How often the reservation is booked.
    reservations: u64,
    answer: fn() -> Answer,
}

const fn class(name: &'static str, requests: usize, answer: fn() -> Answer) -> Class {
    let pauses = if requests == 4 { (5 + 10 + 15, 30 + 60 + 90) } else { (0, 0) };
    Class { name, requests, pauses, reservations: 0, answer }
}

fn classes() -> Vec<Class> {
    vec![
        class("transient", 4, || status(500, &[], "{}")),
        class("transient", 4, || status(502, &[("content-type", "text/html")], "<html>")),
        class("transient", 4, || status(200, &[("content-type", "text/html")], "<html>")),
        class("transient", 4, || Err(TransportError::connect("nobody listens here"))),
        Class {
            reservations: 4,
            ..class("transient", 4, || Err(TransportError::broken(BrokenAt::BeforeHead, "cut")))
        },
        Class {
            reservations: 4,
            ..class("transient", 4, || {
                let cut = Err(TransportError::broken(BrokenAt::InBody, "cut"));
                let head = http::Response::builder().header("content-type", "application/json");
                Ok(head.body(BodyStream::pieces(vec![Ok("{".into()), cut])).unwrap())
            })
        },
        Class { reservations: 4, ..class("transient", 4, || status(200, &[], "no JSON")) },
        Class {
            pauses: (15 + 30 + 45, 90 + 180 + 270),
            ..class("overloaded", 4, || status(529, &[], "{}"))
        },
        Class {
            pauses: (5 * 55, 10 * 300),
            ..class("rate_limited", 11, || status(429, &[], "{}"))
        },
        class("permanent", 1, || status(400, &[], r#"{"error": {"message": "no"}}"#)),
        class("permanent", 1, || status(404, &[("content-type", "text/html")], "<html>")),
        class("permanent", 1, || status(301, &[("location", "http://other.test")], "")),
        class("out_of_credit", 1, || status(402, &[], "{}")),
        class("out_of_credit", 1, || {
            status(429, &[("retry-after", "1")], r#"{"error": {"code": "insufficient_quota"}}"#)
        }),
    ]
}

/// What one call reserves: the smallest cap that admits it.
async fn reservation() -> Money {
    let world = World::new(|_| fine());
    world.workflow.set_cap(Some("0.000001 USD".parse().unwrap()));
    let refusal = world.call().await.unwrap_err().refusal().cloned().unwrap();
    refusal.reservation.unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_class_has_its_retries_its_pauses_and_its_price() {
    let reservation = reservation().await;
    for class in classes() {
        let world = World::new(move |_| (class.answer)());
        let begun = world.now();
        let (attempts, failure) = failed(world.call().await);
        let what = format!("{failure:?}");
        assert_eq!(failure.signal.name(), class.name, "{what}");
        assert_eq!((world.asked(), attempts as usize), (class.requests, class.requests), "{what}");
        let took = world.now().since(begun);
        let (low, high) = class.pauses;
        assert!(took >= Span::from_secs(low), "{took} {what}");
        // A 429 also drains the buckets: its wait in the line comes on top.
        assert!(took <= Span::from_secs(high + 120), "{took} {what}");
        let owed = reservation.pico() * i128::from(class.reservations);
        assert_eq!(world.spent().pico(), owed, "{what}");
        world.nothing_is_held();
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_was_asked_for_is_kept_and_not_doubled() {
    let asked =
        [("retry-after", "7", 7_000), ("retry-after-ms", "1500", 1_500), ("retry-after", "0", 0)];
    for (header, value, ms) in asked {
        for code in [429, 503, 529] {
            let world = World::new(move |n| match n {
                0 => status(code, &[(header, value)], "{}"),
                _ => fine(),
            });
            let begun = world.now();
            assert_eq!(world.call().await.unwrap(), "fine");
            let took = world.now().since(begun);
            let (low, high) = (Span::from_millis(ms), Span::from_millis(ms + ms / 10 + 200));
            assert!(took >= low && took <= high, "{took} after {code} with {header}: {value}");
            assert_eq!(world.spent(), FINE_COSTS.parse().unwrap(), "only the answer is paid");
            world.nothing_is_held();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_longer_than_the_job_may_wait_ends_it_now() {
    let world = World::new(|_| status(429, &[("retry-after", "172800")], "{}"));
    let error = world.call().await.unwrap_err().to_string();
    assert!(error.contains("asked to wait") && error.contains("allow a longer one"), "{error}");
    assert_eq!(world.asked(), 1);
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_and_comes_back() {
    let world = World::new(|n| match n {
        0 | 1 => Err(TransportError::connect("nobody listens here")),
        _ => fine(),
    });
    assert_eq!(world.call().await.unwrap(), "fine");
    assert_eq!((world.asked(), world.spent()), (3, FINE_COSTS.parse().unwrap()));
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_fan_out_over_a_server_that_is_down_says_why() {
    let transport = std::sync::Arc::new(InMemory::unreachable());
    let runtime =
        nucleo_agents::Runtime::builder(catalog("")).transport(transport).start().unwrap();
    let workflow = runtime.workflow("down").start();
    async fn ask(
        context: nucleo_agents::agent::AgentContext,
        number: usize,
    ) -> Result<String, nucleo_agents::agent::AgentError> {
        let grade = nucleo_agents::catalog::Grade::Small;
        context.model(grade).user(format!("{number}")).output(10).text().await
    }
    let report = workflow.fan_out(0..20, ask).collect().await;
    assert_eq!((report.answered(), report.failed()), (0, 20), "{report}");
    for item in report.failures() {
        let error = item.result.as_ref().unwrap_err();
        assert_eq!(error.name(), "transient");
        let said = "the server was not reached: could not connect: check base_url, and that the \
                    server is up: nobody listens here";
        assert!(error.chain().ends_with(said), "{}", error.chain());
        assert!(item.record.cost.is_empty(), "nothing left this process");
    }
    // Twenty jobs with three retries each, and ten retries a minute at a model that never answers.
    let attempts: u32 = report.failures().iter().map(|item| item.record.attempts).sum();
    assert!((30..60).contains(&attempts), "{attempts}");
    let first = report.failures().iter().min_by_key(|item| item.record.attempts).unwrap();
    let said = first.result.as_ref().unwrap_err().chain();
    assert!(said.starts_with("failed after 1 attempt (transient), and scribe has no retries left"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_usage_is_paid_as_reserved_and_marked() {
    let world = World::new(|_| answer(json!({"content": "fine"}), "stop", false));
    assert_eq!(world.call().await.unwrap(), "fine");
    assert_eq!(world.spent(), reservation().await);
    assert_eq!(world.workflow.totals().estimates, 1);
    world.nothing_is_held();
}

#[tokio::test(start_paused = true)]
async fn a_truncated_answer_gets_all_the_room_there_is_once() {
    let world = World::new(|_| answer(json!({"content": "fi"}), "length", true));
    assert_eq!(world.call().await.unwrap(), "fi", "cut at the model's own ceiling it stands");
    assert_eq!(world.asked(), 2);
    let limit = |n: usize| {
        let body = world.body(n);
        body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64())
    };
    assert_eq!((limit(0), limit(1)), (Some(100), Some(4_000)));
    assert_eq!(world.spent(), "0.00042 USD".parse().unwrap(), "both are paid");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_held_back_is_paid_and_not_tried_again() {
    let world = World::new(|_| answer(json!({"content": ""}), "content_filter", true));
    let (attempts, failure) = failed(world.call().await);
    assert_eq!((attempts, failure.signal.name()), (1, "permanent"));
    assert_eq!(world.spent(), FINE_COSTS.parse().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_times_out_and_is_paid_as_reserved() {
    let never = |_| std::future::pending();
    let world = World::served(catalog(""), never, |builder| builder);
    let call = world.workflow.context().model(nucleo_agents::catalog::Grade::Small);
    let call = call.user("Hello").output(100).timeout(Span::from_secs(20));
    let error = call.text().await.unwrap_err().to_string();
    assert!(error.contains("timed out after") && error.contains("longer timeout"), "{error}");
    assert_eq!(world.spent(), reservation().await);
    world.nothing_is_held();
}
