//! Every form of the two headers, as tables.

use std::time::Duration;

use super::*;

fn ask(pairs: &[(&'static str, &str)]) -> Option<Span> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.insert(*name, value.parse().unwrap());
    }
    // Sun, 06 Nov 1994 08:49:37 GMT
    retry_after(&headers, SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
}

#[test]
fn every_form_is_read() {
    let plain = |text: &str| ask(&[("retry-after", text)]);
    for (text, wait) in [
        ("3", Some(Span::from_secs(3))),
        (" 3 ", Some(Span::from_secs(3))),
        ("0", Some(Span::ZERO)),
        ("0.25", Some(Span::from_millis(250))),
        ("86400", Some(Span::from_secs(86_400))),
        ("99999999999999999999", Some(Span::MAX)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", Some(Span::from_secs(10))),
        ("Sunday, 06-Nov-94 08:49:47 GMT", Some(Span::from_secs(10))),
        ("Sun Nov  6 08:49:47 1994", Some(Span::from_secs(10))),
        ("Sun, 06 Nov 1994 08:49:00 GMT", Some(Span::ZERO)),
        ("soon", None),
        ("-1", None),
        ("1e3", None),
        ("3s", None),
        ("", None),
        (".5", None),
        ("5.", None),
    ] {
        assert_eq!(plain(text), wait, "{text}");
    }
    assert_eq!(ask(&[]), None);
}

#[test]
fn milliseconds_are_read_and_the_longer_wait_is_kept() {
    let both = |plain, millis| ask(&[("retry-after", plain), ("retry-after-ms", millis)]);
    assert_eq!(ask(&[("retry-after-ms", "1500")]), Some(Span::from_millis(1_500)));
    assert_eq!(ask(&[("retry-after-ms", "0.0000001")]), Some(Span::from_nanos(1)));
    assert_eq!(ask(&[("retry-after", "0.0000000000000000001")]), Some(Span::from_nanos(1)));
    assert_eq!(both("3", "1500"), Some(Span::from_secs(3)));
    assert_eq!(both("1", "1500"), Some(Span::from_millis(1_500)));
    assert_eq!(both("soon", "1500"), Some(Span::from_millis(1_500)));
    assert_eq!(both("2", "later"), Some(Span::from_secs(2)));
}
