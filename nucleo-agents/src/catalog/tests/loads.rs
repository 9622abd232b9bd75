//! What a sound catalog holds once loaded, and what of it can be called.

use nucleo_core::{Currency, Reserved};

use crate::catalog::{
    Capacity, Catalog, Credentials, Grade, LoadError, NotCallable, Period, ProviderKind, Reserve,
    Settle, Status,
};
use crate::counting::Family;

const FULL: &str = r#"
[models."gpt-4.1"]
provider = "acme"
wire_id = "gpt"
identity = "gpt"
grade = "large"
context = 1_000_000
max_output = 32_768
limits = { requests_per_day = 50, zone = "Asia/Tokyo", requests_per_second = 2, max_concurrent = 7, headroom_ms = 0 }
settle = "keep"
reserve = "learned"
counter = "bytes"
status = { closed = "too dear" }
[models."gpt-4.1".price]
currency = "EUR"
input = 1.25
output = +10
reasoning = 0x0a
"#;

const PROVIDERS: &str = r#"
[providers.acme]
kind = "openai-compatible"
api_key_env = "ACME_KEY"
base_url = "https://acme.example/v1/"
max_connections = 20
[providers.far]
kind = "bedrock"
[providers.filed]
kind = "openai-compatible"
api_key_file = "keys/filed"
"#;

fn entry(id: &str, provider: &str) -> String {
    format!(
        "[models.{id}]\nprovider = \"{provider}\"\nwire_id = \"{id}\"\ngrade = \"small\"\n\
         context = 1000\nmax_output = 100\n"
    )
}

#[test]
fn an_entry_needs_five_keys_and_has_defaults_for_the_rest() {
    let text = format!("{PROVIDERS}{}", entry("plain", "acme"));
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let plain = catalog.model("plain").unwrap();
    assert_eq!(&*plain.identity, "plain");
    assert_eq!((plain.settle, plain.reserve), (Settle::Actual, Reserve::Declared));
    assert_eq!((&plain.status, plain.counter), (&Status::Open, Family::Openai));
    assert_eq!((&plain.limits, &plain.quota, &plain.price), (&None, &None, &None));
    assert_eq!(plain.output_default(), 100);
    assert!(plain.accounts.is_empty() && catalog.accounts().is_empty());
    let acme = catalog.provider("acme").unwrap();
    assert_eq!(acme.base_url.as_deref(), Some("https://acme.example/v1"));
    assert_eq!((acme.kind, acme.max_connections), (ProviderKind::OpenaiCompatible, Some(20)));
}

#[test]
fn every_key_is_read() {
    let hexadecimal = Catalog::parse("m", &format!("{PROVIDERS}{FULL}")).unwrap_err();
    assert!(hexadecimal.to_string().contains("price.reasoning: must be a decimal number"));
    let text = format!("{PROVIDERS}{}", FULL.replace("0x0a", "12.345678"));
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let model = catalog.model("gpt-4.1").unwrap();
    assert_eq!((model.grade, model.counter), (Grade::Large, Family::Bytes));
    assert_eq!((model.settle, model.reserve), (Settle::Keep, Reserve::Learned));
    assert_eq!(model.status, Status::Closed("too dear".into()));
    let price = model.price.as_ref().unwrap();
    assert_eq!(price.currency, "EUR".parse::<Currency>().unwrap());
    assert_eq!(price.base.input, 1_250_000_000_000);
    assert_eq!(price.base.output, 10_000_000_000_000);
    assert_eq!(price.base.reasoning, Some(12_345_678_000_000));
    let accounts = catalog.accounts();
    let told: Vec<_> = accounts.iter().map(|spec| (&*spec.name, &spec.capacity)).collect();
    let daily = Capacity::Daily { quota: 50, zone: "Asia/Tokyo".into() };
    let second = Capacity::Clocked { rate: 2, period: Period::Second, burst: 2 };
    assert_eq!(
        told,
        [
            ("gpt-4.1.requests_per_second", &second),
            ("gpt-4.1.requests_per_day", &daily),
            ("gpt-4.1.concurrent", &Capacity::Permits(7)),
        ]
    );
}

#[test]
fn entries_keep_the_order_of_the_file_and_share_the_accounts_of_a_quota() {
    let mut text = PROVIDERS.to_owned();
    for id in ["zebra", "ant", "mole"] {
        text += &format!("{}quota = \"pool\"\n", entry(id, "acme"));
    }
    text += "[quotas.pool]\nrequests_per_minute = 60\ntokens_per_minute = 6_000\n";
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let ids: Vec<_> = catalog.models().map(|model| &*model.id).collect();
    assert_eq!(ids, ["zebra", "ant", "mole"]);
    for model in catalog.models() {
        assert_eq!(model.accounts, ["pool.requests".into(), "pool.tokens".into()]);
    }
    let specs = catalog.accounts();
    let clocked = |burst, rate| Capacity::Clocked { rate, period: Period::Minute, burst };
    assert_eq!(specs.len(), 2);
    assert_eq!(specs[0].capacity, clocked(59, 60));
    assert_eq!(specs[1].capacity, clocked(5_990, 6_000));
}

#[test]
fn tiers_hold_above_their_bound() {
    let price = "price = { currency = \"USD\", input = 1, output = 4, tiers = [\
                 { above_input_tokens = 200, input = 2, output = 6 }, \
                 { above_input_tokens = 500, input = 3, output = 9 }] }\n";
    let text = format!("{PROVIDERS}{}{price}", entry("tiered", "acme"));
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let price = catalog.model("tiered").unwrap().price.clone().unwrap();
    for (input, per_million) in [(0, 1), (200, 1), (201, 2), (500, 2), (501, 3)] {
        assert_eq!(price.rates(input).input, per_million * nucleo_core::PICO, "{input}");
    }
    let weight = price.weight(&Reserved { input: 300, output: 10 });
    assert_eq!(weight, (300 * 2 + 10 * 6) * nucleo_core::PICO);
}

#[test]
fn callable_or_why_not() {
    let mut text = format!("{PROVIDERS}{}", FULL.replace("0x0a", "10"));
    for (id, provider) in [("open", "acme"), ("away", "far"), ("filed", "filed")] {
        text += &entry(id, provider);
    }
    let catalog = Catalog::parse("/nowhere/models.toml", &text).unwrap();
    let with = |value: Option<&str>| {
        let value = value.map(str::to_owned);
        Credentials::with_variables(&catalog, move |_| value.clone())
    };
    let why = |id, value| match catalog.callable(id, &with(value)) {
        Ok(()) => "yes".to_owned(),
        Err(error) => error.to_string(),
    };
    for (id, value, said) in [
        ("open", Some("k-1\n"), "yes"),
        ("open", None, "environment variable ACME_KEY is not set"),
        ("open", Some("  "), "environment variable ACME_KEY is empty"),
        (
            "open",
            Some("k 1"),
            "environment variable ACME_KEY holds more than a key: one line of visible ASCII is wanted",
        ),
        ("away", None, "this build has no provider of kind `bedrock`"),
        ("gpt-4.1", Some("k"), "closed: too dear"),
        ("filed", None, "key file /nowhere/keys/filed can't be read (entity not found)"),
        ("none", None, "no such model in the catalog"),
    ] {
        assert_eq!(why(id, value), said, "{id}");
    }
    assert_eq!(catalog.callable("none", &with(None)), Err(NotCallable::Unknown));
}

#[test]
fn a_key_file_counts_from_the_catalogs_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.toml");
    std::fs::create_dir(folder.path().join("keys")).unwrap();
    std::fs::write(folder.path().join("keys/filed"), "k-file\n").unwrap();
    std::fs::write(&path, format!("{PROVIDERS}{}", entry("filed", "filed"))).unwrap();
    let catalog = Catalog::load(&path).unwrap();
    let credentials = Credentials::of_process(&catalog);
    assert_eq!(catalog.callable("filed", &credentials), Ok(()));
    assert!(!format!("{credentials:?}").contains("k-file"));
    let missing = Catalog::load(folder.path().join("none.toml")).unwrap_err();
    assert!(matches!(missing, LoadError::Unreadable { .. }), "{missing}");
}

#[test]
fn the_report_is_a_table_and_json() {
    let text = format!("{PROVIDERS}{}{}", FULL.replace("0x0a", "10"), entry("plain", "far"));
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let report = catalog.check(&Credentials::default());
    let lines: Vec<_> = report.to_string().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 4);
    for part in [
        "gpt-4.1",
        "large",
        "2 requests/s, 50 requests/day (Asia/Tokyo), 7 at once",
        "1.25 in, 10.00 out EUR",
        "no: closed: too dear",
    ] {
        assert!(lines[1].contains(part), "{part}: {}", lines[1]);
    }
    assert!(lines[2].ends_with("no: this build has no provider of kind `bedrock`"), "{}", lines[2]);
    assert_eq!(lines[3], "0 of 2 models can be called");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["models"][0]["limits"][1]["name"], "gpt-4.1.requests_per_day");
    assert_eq!(json["models"][0]["not_callable"], "closed: too dear");
}

#[test]
fn the_embedded_catalogs_load() {
    let loopback = Catalog::loopback();
    let report = loopback.check(&Credentials::default());
    assert_eq!(report.callable(), 3, "{report}");
    assert_eq!(loopback.pins(Grade::Small), ["pebble".into()]);
    assert!(Catalog::parse("models.example.toml", Catalog::EXAMPLE).is_ok());
    // What the example shows is what loads once its author has uncommented it.
    let uncommented: String = Catalog::EXAMPLE
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .filter(|line| line.contains(" = ") || line.starts_with('['))
        .map(|line| format!("{line}\n"))
        .collect();
    let catalog = Catalog::parse("models.example.toml", &uncommented).unwrap();
    assert_eq!(catalog.models().count(), 3);
    assert_eq!(catalog.pins(Grade::Small).len(), 2);
}
