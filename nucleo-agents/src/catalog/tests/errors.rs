//! Every load error with its exact words. A case is a line of the catalog, what replaces it, and
//! the message.

use crate::catalog::Catalog;

/// A sound catalog; the line numbers of the messages count in it.
pub(super) const SOUND: &str = r#"[providers.acme]
kind = "openai-compatible"
api_key_env = "ACME_KEY"
base_url = "https://acme.example/v1"
[providers.house]
kind = "loopback"
[models.haiku]
provider = "acme"
wire_id = "haiku-1"
grade = "small"
context = 200_000
max_output = 64_000
limits = { requests_per_minute = 4_000, output_tokens_per_minute = 800_000 }
price = { currency = "USD", input = 1.00, output = 5.00, cache_read = 0.10 }
[models.scribe]
provider = "house"
wire_id = "scribe-1"
grade = "medium"
context = 32_000
max_output = 4_000
quota = "shared"
[models.scribe.loopback]
first_token_ms = [80, 200]
[quotas.shared]
tokens_per_minute = 100_000
[pins]
small = ["haiku", "scribe"]
"#;

pub(super) fn message(text: &str) -> String {
    match Catalog::parse("models.toml", text) {
        Ok(_) => "loads".to_owned(),
        Err(error) => error.to_string(),
    }
}

pub(super) fn check(cases: &[(&str, &str, &str)]) {
    assert_eq!(message(SOUND), "loads");
    for (line, replacement, expected) in cases {
        assert_eq!(SOUND.matches(line).count(), 1, "`{line}` must stand once");
        let found = message(&SOUND.replace(line, replacement));
        let expected: Vec<_> = expected.lines().map(|line| format!("models.toml:{line}")).collect();
        assert_eq!(found, expected.join("\n"), "{replacement}");
    }
}

#[test]
fn keys() {
    check(&[
        ("limits = {", "limit = {", "13: models.haiku.limit: unknown key, did you mean `limits`?"),
        (
            "tokens_per_minute = 100_000",
            "tokens = 1",
            "25: quotas.shared.tokens: unknown key; there is \
          requests_per_minute, tokens_per_minute, input_tokens_per_minute, output_tokens_per_minute, \
          requests_per_second, requests_per_day, tokens_per_day, zone, max_concurrent, burst_s, headroom_ms",
        ),
        ("[pins]", "[pin]", "26: pin: unknown key, did you mean `pins`?"),
        (
            "small = [\"haiku\"",
            "smal = [\"haiku\"",
            "27: pins.smal: unknown key, did you mean `small`?",
        ),
        (
            "cache_read = 0.10",
            "cached = 0.10",
            "14: models.haiku.price.cached: unknown key; there is \
          currency, input, output, cache_read, cache_write, reasoning, tiers",
        ),
        (
            "first_token_ms = [80, 200]",
            "per_token_ms = 1",
            "23: models.scribe.loopback.per_token_ms: unknown \
          key, did you mean `per_token_us`?",
        ),
        ("wire_id = \"haiku-1\"\n", "", "7: models.haiku.wire_id: is missing"),
        ("kind = \"loopback\"\n", "", "5: providers.house.kind: is missing"),
        ("input = 1.00, ", "", "14: models.haiku.price.input: is missing"),
        (
            "wire_id = \"scribe-1\"",
            "wire_id = \"scribe-1\"\nwire_id = \"scribe-2\"",
            "18: models.scribe.wire_id: stands here for the second time",
        ),
        (
            "[quotas.shared]",
            "[models.haiku]\n[quotas.shared]",
            "24: models.haiku: stands here for the second time",
        ),
        (
            "[quotas.shared]",
            "[quotas.\"the pool\"]\nmax_concurrent = 1\n[quotas.shared]",
            "24: quotas.\"the pool\": a name is 1 to 128 letters, digits and `-_.:/@`",
        ),
        ("[pins]", "[pins", "26: not TOML: unclosed table, expected `]`"),
    ]);
}

#[test]
fn providers() {
    check(&[
        (
            "kind = \"openai-compatible\"",
            "kind = \"openai\"",
            "2: providers.acme.kind: `openai` is \
          not allowed here; there is anthropic, openai-compatible, bedrock, ollama, loopback",
        ),
        (
            "kind = \"loopback\"",
            "kind = \"lopback\"",
            "6: providers.house.kind: `lopback` is not allowed here, did you mean `loopback`?",
        ),
        (
            "api_key_env = \"ACME_KEY\"",
            "api_key = \"sk-123\"",
            "3: providers.acme.api_key: a key \
          never stands in a catalog: name its variable (api_key_env) or file (api_key_file)",
        ),
        (
            "api_key_env = \"ACME_KEY\"",
            "api_key_env = \"sk-123\"",
            "3: providers.acme.api_key_env: \
          must be the name of an environment variable: letters, digits and `_`",
        ),
        (
            "api_key_env = \"ACME_KEY\"",
            "api_key_env = \"A\"\napi_key_file = \"b\"",
            "1: providers.acme: give api_key_env or api_key_file, not both",
        ),
        (
            "https://acme.example/v1",
            "acme.example",
            "4: providers.acme.base_url: must be an address \
          like `https://host/v1`: http or https, a host, no user, password or query",
        ),
        (
            "https://acme.example/v1",
            "https://me:pw@acme.example",
            "4: providers.acme.base_url: must be \
          an address like `https://host/v1`: http or https, a host, no user, password or query",
        ),
        (
            "kind = \"loopback\"",
            "kind = \"loopback\"\nmax_connections = 0",
            "7: providers.house.max_connections: must be a whole number from 1 to 1000000000000000",
        ),
    ]);
}

/// A price per token, per thousand, or a million times too high: in any kind of token and any tier.
#[test]
fn a_price_of_the_wrong_unit_is_refused_wherever_it_stands() {
    let entry = |rates: &str, tier: &str| {
        let tiers = format!("[{{ above_input_tokens = 1_000, {tier} }}]");
        let price = format!("price = {{ currency = \"USD\", {rates}, tiers = {tiers} }}");
        message(&SOUND.replace(
            "price = { currency = \"USD\", input = 1.00, output = 5.00, cache_read = 0.10 }",
            &price,
        ))
    };
    let kinds = ["input", "output", "cache_read", "cache_write", "reasoning"];
    let rates = |odd: &str, price: &str| {
        let rate = |kind: &&str| format!("{kind} = {}", if *kind == odd { price } else { "3" });
        kinds.iter().map(rate).collect::<Vec<_>>().join(", ")
    };
    let fine = rates("", "");
    assert_eq!(entry(&fine, &fine), "loads");
    for kind in kinds {
        for price in ["0.000003", "0.0009", "1000.01", "3_000_000", "15_000", "0"] {
            for (found, place) in [
                (entry(&rates(kind, price), &fine), format!("price.{kind}")),
                (entry(&fine, &rates(kind, price)), format!("price.tiers[0].{kind}")),
            ] {
                let told = format!("models.haiku.{place}: {} is outside", price.replace('_', ""));
                assert!(found.contains(&told), "{kind} {price}: {found}");
            }
        }
        assert_eq!(entry(&rates(kind, "0.001"), &rates(kind, "1000")), "loads", "the band's ends");
    }
}

#[test]
fn prices() {
    let band =
        "is outside 0.001 to 1000: prices are per million tokens, not per token or per thousand";
    check(&[
        (
            "currency = \"USD\", ",
            "",
            "14: models.haiku.price: a price needs its currency, as in `currency = \"USD\"`",
        ),
        (
            "\"USD\"",
            "\"usd\"",
            "14: models.haiku.price.currency: `usd` is not a currency: write its \
          three capital letters, as in `USD`",
        ),
        (
            "input = 1.00",
            "input = 0.000001",
            &format!("14: models.haiku.price.input: 0.000001 {band}"),
        ),
        ("input = 1.00", "input = 1001", &format!("14: models.haiku.price.input: 1001 {band}")),
        ("input = 1.00", "input = 0", &format!("14: models.haiku.price.input: 0 {band}")),
        ("input = 1.00", "input = -1.5", &format!("14: models.haiku.price.input: -1.5 {band}")),
        (
            "input = 1.00",
            "input = 1e-1",
            "14: models.haiku.price.input: `1e-1` is not exact: write a \
          plain decimal number with at most six decimals",
        ),
        (
            "input = 1.00",
            "input = nan",
            "14: models.haiku.price.input: `nan` is not exact: write a \
          plain decimal number with at most six decimals",
        ),
        (
            "input = 1.00",
            "input = 0.0750001",
            "14: models.haiku.price.input: `0.0750001` is not \
          exact: write a plain decimal number with at most six decimals",
        ),
        (
            "input = 1.00",
            "input = \"1.00\"",
            "14: models.haiku.price.input: must be a decimal number, not text",
        ),
        (
            "cache_read = 0.10",
            "tiers = [{ above_input_tokens = 9, input = 2, output = 9 }, \
          { above_input_tokens = 9, input = 3, output = 9 }]",
            "14: models.haiku.price.tiers[1]: tiers must rise: 9 does not come after 9",
        ),
    ]);
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_their_lines() {
    let text = SOUND
        .replace("kind = \"loopback\"", "kind = \"loop\"")
        .replace("grade = \"small\"", "grad = \"small\"")
        .replace("[pins]", "[pins]\nlarge = [\"scribe\"]");
    assert_eq!(
        message(&text),
        "models.toml:6: providers.house.kind: `loop` is not allowed here; there is anthropic, \
         openai-compatible, bedrock, ollama, loopback\n\
         models.toml:7: models.haiku.grade: is missing\n\
         models.toml:10: models.haiku.grad: unknown key, did you mean `grade`?\n\
         models.toml:27: pins.large[0]: `scribe` is of grade medium, below large"
    );
}

#[test]
fn a_key_pasted_into_a_catalog_is_never_echoed() {
    for line in [
        "api_key = \"sk-123\"",
        "api_key_env = \"sk-123\"",
        "token = \"sk-123\"",
        "api_key_env = [\"sk-123\"]",
        "apikey_env = \"sk-123\"",
    ] {
        let found = message(&SOUND.replace("api_key_env = \"ACME_KEY\"", line));
        assert!(found != "loads" && !found.contains("sk-"), "{found}");
    }
}

#[test]
fn no_slip_of_the_hand_makes_the_loader_panic() {
    for at in 0..SOUND.len() {
        let (before, after) = SOUND.split_at(at);
        for text in [
            before.to_owned(),
            format!("{before}{}", &after[1..]),
            format!("{before}é{after}"),
            format!("{before}\n{after}"),
            format!("{before}[{after}"),
            format!("{before}\"{after}"),
        ] {
            for line in message(&text).lines().filter(|line| *line != "loads") {
                assert!(line.starts_with("models.toml:"), "{line}");
            }
        }
    }
}
