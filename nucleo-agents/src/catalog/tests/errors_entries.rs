//! Load errors of models, limits, quotas and pins, with their exact words.

use super::errors::{SOUND, check, message};

#[test]
fn model_references_and_words() {
    check(&[
        (
            "provider = \"acme\"",
            "provider = \"acne\"",
            "8: models.haiku.provider: there is no provider `acne` in this catalog, did you mean `acme`?",
        ),
        (
            "quota = \"shared\"",
            "quota = \"common\"",
            "21: models.scribe.quota: there is no quota `common` in this catalog; there is shared",
        ),
        (
            "quota = \"shared\"",
            "quota = \"shared\"\nlimits = { max_concurrent = 2 }",
            "15: models.scribe: give limits or quota, not both",
        ),
        (
            "grade = \"small\"",
            "grade = \"smal\"",
            "10: models.haiku.grade: `smal` is not allowed here, did you mean `small`?",
        ),
        (
            "grade = \"small\"",
            "grade = 3",
            "10: models.haiku.grade: must be text, not a whole number",
        ),
        ("wire_id = \"haiku-1\"", "wire_id = \" \"", "9: models.haiku.wire_id: must not be empty"),
    ]);
}

#[test]
fn model_numbers() {
    check(&[
        (
            "context = 200_000",
            "context = 0",
            "11: models.haiku.context: must be a whole number from 1 to 1000000000000000",
        ),
        (
            "context = 200_000",
            "context = -5",
            "11: models.haiku.context: must be a whole number from 1 to 1000000000000000",
        ),
        (
            "context = 200_000",
            "context = 99_999_999_999_999_999_999",
            "11: models.haiku.context: must be a whole number from 1 to 1000000000000000",
        ),
        (
            "context = 200_000",
            "context = 2e5",
            "11: models.haiku.context: must be a whole number, not a decimal number",
        ),
        (
            "context = 200_000",
            "context = \"200k\"",
            "11: models.haiku.context: must be a whole number, not text",
        ),
        (
            "context = 200_000",
            "context = 8_000",
            "12: models.haiku.max_output: 64000 tokens of output don't fit a context of 8000",
        ),
    ]);
}

#[test]
fn model_choices() {
    check(&[
        (
            "grade = \"small\"",
            "grade = \"small\"\nsettle = \"give\"",
            "11: models.haiku.settle: `give` is not allowed here; there is actual, keep",
        ),
        (
            "grade = \"small\"",
            "grade = \"small\"\nreserve = \"learnt\"",
            "11: models.haiku.reserve: `learnt` is not allowed here, did you mean `learned`?",
        ),
        (
            "grade = \"small\"",
            "grade = \"small\"\nstatus = \"closed\"",
            "11: models.haiku.status: closed needs its reason: `status = { closed = \"why\" }`",
        ),
        (
            "grade = \"small\"",
            "grade = \"small\"\ncounter = \"gpt\"",
            "11: models.haiku.counter: `gpt` is not allowed here; there is openai, anthropic, other, loopback, bytes",
        ),
        (
            "provider = \"house\"",
            "provider = \"acme\"",
            "22: models.scribe.loopback: only a model of a loopback provider has one",
        ),
        (
            "[80, 200]",
            "[200, 80]",
            "23: models.scribe.loopback.first_token_ms: must be two whole \
          numbers, the smaller first, as in `[80, 200]`",
        ),
        (
            "[80, 200]",
            "80",
            "23: models.scribe.loopback.first_token_ms: must be a list, not a whole number",
        ),
        (
            "first_token_ms = [80, 200]",
            "faults_permille = { reset = 600, keep_alife = 1 }",
            "23: models.scribe.loopback.faults_permille.keep_alife: unknown key, did you mean `keep_alive`?",
        ),
        (
            "first_token_ms = [80, 200]",
            "quota_permille = 1_001",
            "23: models.scribe.loopback.quota_permille: must be a whole number from 1 to 1000",
        ),
        (
            "first_token_ms = [80, 200]",
            "enforced = \"by_minute\"",
            "23: models.scribe.loopback.enforced: `by_minute` is not allowed here; there is as_stated, by_second",
        ),
        (
            "first_token_ms = [80, 200]",
            "faults_permille = { reset = 600, stall = 401 }",
            "23: models.scribe.loopback.faults_permille: faults add up to 1001 of 1000 requests",
        ),
        (
            "[models.haiku]",
            "[models]\nhaiku = 1\n[other]",
            "8: models.haiku: must be a table, not a whole number\n\
             9: other: unknown key; there is providers, models, quotas, pins",
        ),
    ]);
}

#[test]
fn limits_and_quotas() {
    check(&[
        (
            "requests_per_minute = 4_000",
            "requests_per_minute = 0",
            "13: models.haiku.limits.\
          requests_per_minute: must be a whole number from 1 to 1000000000000000",
        ),
        (
            "tokens_per_minute = 100_000",
            "tokens_per_minute = 1_000_000_000_000_001",
            "25: quotas.shared.tokens_per_minute: must be a whole number from 1 to 1000000000000000",
        ),
        (
            "tokens_per_minute = 100_000",
            "tokens_per_minute = 100_000\nburst_s = 7200",
            "26: quotas.shared.burst_s: must be a whole number from 1 to 3600",
        ),
        (
            "tokens_per_minute = 100_000",
            "tokens_per_minute = 100_000\nzone = \"UTC\"",
            "26: quotas.shared.zone: has no effect without a limit per day",
        ),
        (
            "tokens_per_minute = 100_000",
            "max_concurrent = 3\nburst_s = 1",
            "26: quotas.shared.burst_s: has no effect without a limit per minute or second",
        ),
        (
            "tokens_per_minute = 100_000",
            "tokens_per_day = 100_000\nzone = \"in the east\"",
            "26: quotas.shared.zone: must be a time zone, as in `UTC` or `Europe/Zurich`",
        ),
        (
            "800_000",
            "4_090",
            "13: models.haiku.limits.output_tokens_per_minute: haiku.output_tokens \
          can hold 4083, less than the 4096 that `haiku` reserves by default: raise the limit or its \
          burst_s, or lower max_output",
        ),
    ]);
}

#[test]
fn bursts_and_pins() {
    check(&[
        (
            "tokens_per_minute = 100_000",
            "tokens_per_minute = 100_000\nburst_s = 1",
            "25: quotas.shared.tokens_per_minute: shared.tokens can hold 1500, less than the 4000 that \
          `scribe` reserves by default: raise the limit or its burst_s, or lower max_output",
        ),
        (
            "tokens_per_minute = 100_000",
            "tokens_per_day = 3_999",
            "25: quotas.shared.tokens_per_day: \
          shared.tokens_per_day can hold 3999, less than the 4000 that `scribe` reserves by default: \
          raise the limit or its burst_s, or lower max_output",
        ),
        (
            "small = [\"haiku\", \"scribe\"]",
            "medium = [\"scribe\", \"haiku\"]",
            "27: pins.medium[1]: `haiku` is of grade small, below medium",
        ),
        ("\"scribe\"]", "\"haiku\"]", "27: pins.small[1]: `haiku` is pinned twice"),
        (
            "\"scribe\"]",
            "\"scrib\"]",
            "27: pins.small[1]: there is no model `scrib` in this catalog, did you mean `scribe`?",
        ),
        (
            "small = [\"haiku\", \"scribe\"]",
            "small = \"haiku\"",
            "27: pins.small: must be a list, not text",
        ),
    ]);
    let shared = SOUND.replace("[models.haiku]", "[models.shared]").replace("\"haiku\", ", "");
    assert_eq!(
        message(&shared),
        "models.toml:24: quotas.shared: a model has this name too, so their accounts would share \
         theirs: rename one"
    );
}
