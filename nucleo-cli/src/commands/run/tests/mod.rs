//! Noise and near-valid documents into inputs, templates and results files; the checks are in
//! `checks`.

mod checks;

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::input::Lines;
use super::results::Results;
use crate::kit;

#[test]
fn seeds_of_the_fuzzer() {
    kit::replay("input", checks::input);
    kit::replay("template", checks::template);
    kit::replay("results", checks::results);
}

proptest! {
    #![proptest_config(kit::cases(256))]

    #[test]
    fn any_bytes_as_an_input(bytes in kit::noise()) {
        checks::input(&bytes);
    }

    #[test]
    fn near_inputs(bytes in kit::near("input")) {
        checks::input(&bytes);
    }

    #[test]
    fn any_bytes_as_a_template(bytes in kit::noise()) {
        checks::template(&bytes);
    }

    #[test]
    fn near_templates(bytes in kit::near("template")) {
        checks::template(&bytes);
    }

    #[test]
    fn any_bytes_as_results(bytes in kit::noise()) {
        checks::results(&bytes);
    }

    #[test]
    fn near_results(bytes in kit::near("results")) {
        checks::results(&bytes);
    }
}

#[test]
fn a_results_file_cut_at_any_byte_is_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let path = folder.path().join("results.jsonl");
    let line = |index: usize| {
        format!(
            "{{\"index\":{index},\"status\":\"answered\",\"answer\":\"ä\",\"cost\":\"0.01 USD\"}}\n"
        )
    };
    let (text, whole) = (line(0) + &line(1), line(0).len());
    for cut in whole..=text.len() {
        std::fs::write(&path, &text.as_bytes()[..cut]).expect("it can be written");
        let (mut results, earlier) = Results::resume(&path).expect("a cut line is no error");
        let again = serde_json::from_str(&line(2)).expect("a line of results");
        results.write(&again).expect("it can be written");
        drop(results);
        let (_, later) = Results::resume(&path).expect("whole lines");
        let mut expected = earlier.answered.clone();
        expected.insert(2);
        assert_eq!(later.answered, expected, "cut at {cut}");
        assert_eq!(earlier.answered.len(), 1 + usize::from(cut + 1 >= text.len()), "cut at {cut}");
    }
}

#[test]
fn a_line_without_end_is_not_kept() {
    let long = [&b"{\"text\": \"a\"}\n"[..], &[b'x'; 40_000], b"\n{\"text\": \"b\"}"].concat();
    let lines = |skip| Lines::new(&long[..], None, skip).bytes_max(1_000);
    let told: Vec<_> = lines(BTreeSet::new()).map(|line| line.question.unwrap_err()).collect();
    let why = "line 2: longer than 1000 bytes: write one object a line";
    assert_eq!((told.len(), told[1].to_string().as_str()), (3, why));
    let rest: Vec<_> = lines(BTreeSet::from([1])).map(|line| line.index).collect();
    assert_eq!(rest, [0, 2]);
}
