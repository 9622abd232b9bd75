//! Picks as data: a catalog in a few words, a request, a history, and the entry expected.

use super::*;
use crate::catalog::{Catalog, Credentials, Grade};
use crate::counting::TextSize;

/// One entry a word: `id:grade:identity:input price[currency]`, pins after `|`, as `small=a,b`.
fn picker(shape: &str) -> Picker {
    let (entries, pins) = shape.split_once('|').unwrap_or((shape, ""));
    let mut text =
        "[providers.house]\nkind = \"loopback\"\n[providers.far]\nkind = \"bedrock\"\n".to_owned();
    for entry in entries.split_whitespace() {
        let parts: Vec<_> = entry.split(':').collect();
        let [id, grade, identity, price] = parts[..] else { panic!("{entry}") };
        let (provider, id) = match id.strip_prefix('!') {
            Some(id) => ("far", id),
            None => ("house", id),
        };
        text += &format!(
            "[models.{id}]\nprovider = \"{provider}\"\nwire_id = \"{id}\"\nidentity = \"{identity}\"\n\
             grade = \"{grade}\"\ncontext = 10_000\nmax_output = 1_000\n"
        );
        let number = price.trim_end_matches(char::is_alphabetic);
        let currency = &price[number.len()..];
        if !number.is_empty() {
            text += &format!(
                "price = {{ currency = \"{currency}\", input = {number}, output = {number} }}\n"
            );
        }
    }
    text += "[pins]\n";
    for pin in pins.split_whitespace() {
        let (grade, ids) = pin.split_once('=').unwrap();
        let ids: Vec<_> = ids.split(',').map(|id| format!("\"{id}\"")).collect();
        text += &format!("{grade} = [{}]\n", ids.join(", "));
    }
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    Picker::new(catalog.into(), &Credentials::default())
}

fn history(words: &str) -> Vec<PastFailure> {
    let failure = |word: &str| {
        let (entry, signal) = word.split_once(':').unwrap();
        let signal = match signal {
            "429" => Signal::RateLimited,
            "529" => Signal::Overloaded,
            "500" => Signal::Transient,
            "cut" => Signal::Truncated,
            "form" => Signal::Correction,
            other => panic!("{other}"),
        };
        PastFailure { entry: entry.into(), signal }
    };
    words.split_whitespace().map(failure).collect()
}

fn request(target: impl Into<Target>) -> Request {
    Request::new(target, TextSize::of_message("Name a colour."))
}

#[test]
fn pins_then_the_cheapest_then_the_next_grade_up() {
    use Grade::{Large, Medium, Micro, Small, Xl};
    for (shape, grade, expected) in [
        ("a:small:a:2USD b:small:b:1USD", Small, "b"),
        ("a:small:a:2USD b:small:b:1USD | small=a", Small, "a"),
        ("a:small:a:2USD b:small:b:1USD | small=a,b", Small, "a"),
        ("!a:small:a:2USD b:small:b:1USD c:small:c:3USD | small=a,c", Small, "c"),
        ("!a:small:a:2USD b:small:b:1USD | small=a", Small, "b"),
        ("a:small:a:1USD b:small:b:1USD", Small, "a"),
        ("a:small:a: b:small:b:900USD", Small, "b"),
        ("a:small:a:9EUR b:small:b:1USD c:small:c:8EUR", Small, "c"),
        ("a:large:a:1USD b:medium:b:5USD", Micro, "b"),
        ("a:large:a:1USD b:medium:b:5USD", Large, "a"),
        ("!a:small:a:1USD b:medium:b:5USD c:medium:c:1USD | medium=b", Small, "b"),
        ("a:large:a:5USD b:small:b:1USD | small=a", Small, "a"),
        ("a:xl:a:1USD b:mega:b:1USD", Medium, "a"),
        ("a:small:a:1USD b:mega:b:1USD", Xl, "b"),
    ] {
        let picked = picker(shape).pick(&request(grade), &[]).unwrap();
        assert_eq!(&*picked.id, expected, "{shape}, {grade}");
    }
}

#[test]
fn a_failed_route_gives_way_to_a_sibling_then_to_the_next_of_its_grade() {
    // Three routes to x, one entry of other weights, one of a higher grade.
    let shape = "a:small:x:1USD b:small:y:2USD c:small:x:3USD d:large:z:9USD | small=a,b";
    for (past, expected) in [
        ("", "a"),
        ("a:429", "a"),
        ("a:cut", "a"),
        ("a:form", "a"),
        ("a:529", "c"),
        ("a:500", "c"),
        ("a:529 c:529", "b"),
        ("a:529 c:form", "c"),
        ("a:529 c:429", "c"),
        ("a:529 c:529 b:529", "a"),
        ("b:529", "a"),
        ("gone:529", "a"),
        ("gone:form", "a"),
    ] {
        let picked = picker(shape).pick(&request(Grade::Small), &history(past)).unwrap();
        assert_eq!(&*picked.id, expected, "{past}");
    }
    let alone = picker("a:small:x:1USD d:large:z:9USD");
    let picked = alone.pick(&request(Grade::Small), &history("a:529 a:529")).unwrap();
    assert_eq!(&*picked.id, "a", "an overload never climbs to a dearer grade");
}

#[test]
fn a_named_model_is_that_one_or_an_error() {
    let picker = picker("a:small:x:1USD b:large:x:9USD !c:small:x:1USD d:small:y:1USD");
    assert_eq!(&*picker.pick(&request("a"), &[]).unwrap().id, "a");
    assert_eq!(&*picker.pick(&request("a"), &history("a:529")).unwrap().id, "b");
    assert_eq!(&*picker.pick(&request("d"), &history("d:529")).unwrap().id, "d");
    for (id, said) in [
        (
            "c",
            "nothing in the catalog serves model `c`: c (this build has no provider of kind `bedrock`)",
        ),
        ("e", "nothing in the catalog serves model `e`: it has no such entry"),
    ] {
        assert_eq!(picker.pick(&request(id), &[]).unwrap_err().to_string(), said);
    }
}

#[test]
fn what_cannot_hold_the_request_is_passed_over() {
    let shape = "a:small:a:1USD b:medium:b:1USD";
    let picker = picker(shape);
    let most = TextSize::of_message(&"x".repeat(4 * (9_000 - 4)));
    let over = TextSize::of_message(&"x".repeat(4 * (9_000 - 4) + 1));
    assert_eq!(&*picker.pick(&Request::new(Grade::Small, most), &[]).unwrap().id, "a");
    let error = picker.pick(&Request::new(Grade::Small, over), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing in the catalog serves grade small or above: a (holds 10000 tokens, the request \
         needs 9001 of input and 1000 of output); b (holds 10000 tokens, the request needs 9001 of \
         input and 1000 of output)"
    );
    // More output than an entry can give is clamped at its ceiling.
    let long = request(Grade::Medium).output(1_001);
    let entry = picker.pick(&long, &[]).unwrap();
    assert_eq!(long.reserved(&entry).output, 1_000);
    assert!(picker.pick(&request(Grade::Small).output(1_000), &[]).is_ok());
    let error = picker.pick(&request(Grade::Mega), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing in the catalog serves grade mega or above: it has no such entry"
    );
}

#[test]
fn what_is_turned_off_is_passed_over_until_it_is_turned_on() {
    let mut picker = picker("a:small:a:1USD b:small:b:2USD");
    picker.turn_off("a", "out of credit");
    assert_eq!(&*picker.pick(&request(Grade::Small), &[]).unwrap().id, "b");
    let error = picker.pick(&request("a"), &[]).unwrap_err();
    assert!(error.to_string().ends_with("a (turned off: out of credit)"), "{error}");
    picker.turn_on("a");
    assert_eq!(&*picker.pick(&request(Grade::Small), &[]).unwrap().id, "a");
}

#[test]
fn the_cheapest_is_the_cheapest_for_this_request() {
    let entry = |id: &str, input: &str, output: &str| {
        format!(
            "[models.{id}]\nprovider = \"house\"\nwire_id = \"{id}\"\ngrade = \"small\"\n\
             context = 100_000\nmax_output = 10_000\n\
             price = {{ currency = \"USD\", input = {input}, output = {output} }}\n"
        )
    };
    let text = format!(
        "[providers.house]\nkind = \"loopback\"\n{}{}",
        entry("reader", "0.1", "10"),
        entry("writer", "1", "1")
    );
    let catalog = Catalog::parse("models.toml", &text).unwrap();
    let picker = Picker::new(catalog.into(), &Credentials::default());
    let long = TextSize::of_message(&"word ".repeat(10_000));
    let id = |request: Request| picker.pick(&request, &[]).unwrap().id.to_string();
    assert_eq!(id(Request::new(Grade::Small, long).output(10)), "reader");
    assert_eq!(id(request(Grade::Small).output(5_000)), "writer");
}
