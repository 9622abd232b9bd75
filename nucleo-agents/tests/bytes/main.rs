//! Any bytes, and near-valid ones, into everything this crate reads: catalogs, answers of servers,
//! typed answers of models, headers.
//!
//! The checks (one file each) are the fuzz targets' too; `kit` makes the bytes. What a fuzzer finds
//! is put into `fuzz/seeds/` and is a test from then on.

mod answers;
mod catalog;
mod exchange;
mod headers;
#[path = "../../../nucleo-core/tests/bytes/kit.rs"]
mod kit;

use exchange::Wire;
use proptest::prelude::*;

#[test]
fn seeds_of_the_fuzzer() {
    kit::replay("answers", answers::check);
    kit::replay("catalog", catalog::check);
    kit::replay("headers", headers::check);
    kit::replay("messages", |bytes| exchange::check(Wire::Messages, bytes));
    kit::replay("openai", |bytes| exchange::check(Wire::Chat, bytes));
}

proptest! {
    #![proptest_config(kit::cases(128))]

    #[test]
    fn any_bytes_as_a_catalog(bytes in kit::noise()) {
        catalog::check(&bytes);
    }

    #[test]
    fn any_bytes_as_an_exchange(bytes in kit::noise()) {
        exchange::check(Wire::Chat, &bytes);
        exchange::check(Wire::Messages, &bytes);
    }

    #[test]
    fn any_bytes_as_a_typed_answer(bytes in kit::noise()) {
        answers::check(&bytes);
    }

    #[test]
    fn any_bytes_as_headers(bytes in kit::noise()) {
        headers::check(&bytes);
    }
}

proptest! {
    #![proptest_config(kit::cases(512))]

    #[test]
    fn near_catalogs(bytes in kit::near("catalog")) {
        catalog::check(&bytes);
    }

    #[test]
    fn near_exchanges(bytes in kit::near("openai")) {
        exchange::check(Wire::Chat, &bytes);
    }

    #[test]
    fn near_messages(bytes in kit::near("messages")) {
        exchange::check(Wire::Messages, &bytes);
    }

    #[test]
    fn near_typed_answers(bytes in kit::near("answers")) {
        answers::check(&bytes);
    }

    #[test]
    fn near_headers(bytes in kit::near("headers")) {
        headers::check(&bytes);
    }

    #[test]
    fn keys_pasted_into_a_catalog_are_not_told(key in "[a-zA-Z0-9_.-]{12,60}", word in 0_usize..6) {
        catalog::check_pasted_key(&key, word);
    }
}
