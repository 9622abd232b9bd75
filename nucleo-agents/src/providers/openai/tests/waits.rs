//! The wait that a server asks for, in every form, whatever its clock says.

use nucleo_core::Span;

use super::*;

/// What our own clock says in these tests.
const OURS: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

type Headers = &'static [(&'static str, &'static str)];

fn asked(status: u16, headers: Headers) -> Option<Span> {
    let server = InMemory::new(move |_| {
        let mut head = Response::builder().status(status);
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        std::future::ready(Ok(head.body(BodyStream::full("")).unwrap()))
    });
    let config = OpenAiConfig::new("http://h").unwrap();
    let config = config.wall_clock(|| httpdate::parse_http_date(OURS).unwrap());
    let provider = OpenAi::new(config, Arc::new(server));
    let request = ChatRequest::new("m", vec![Message::user("q")], 16);
    let result = provider.call(&request, &mut crate::wire::Unwatched).now_or_never().unwrap();
    result.unwrap_err().retry_after()
}

const AFTER: &str = "retry-after";
const IN_MS: &str = "retry-after-ms";
const DATE: &str = "date";

#[test]
fn every_form_of_a_wait() {
    let secs = |seconds| Some(Span::from_secs(seconds));
    let table: [(Headers, Option<Span>); 19] = [
        (&[], None),
        (&[(AFTER, "3")], secs(3)),
        (&[(AFTER, "0")], secs(0)),
        (&[(AFTER, "0.25")], Some(Span::from_millis(250))),
        (&[(AFTER, "86400")], secs(86_400)),
        (&[(AFTER, "in a while")], None),
        (&[(IN_MS, "1500")], Some(Span::from_millis(1_500))),
        (&[(IN_MS, "0")], secs(0)),
        (&[(IN_MS, "12.5")], Some(Span::from_nanos(12_500_000))),
        (&[(IN_MS, "soon"), (AFTER, "2")], secs(2)),
        (&[(IN_MS, "1500"), (AFTER, "2")], secs(2)),
        // Without the server's date, or with one that can't be read, ours is all there is.
        (&[(AFTER, "Sun, 06 Nov 1994 08:50:37 GMT")], secs(60)),
        (&[(AFTER, "Sun, 06 Nov 1994 08:48:37 GMT")], secs(0)),
        (&[(AFTER, "Sun, 06 Nov 1994 08:50:37 GMT"), (DATE, "today")], secs(60)),
        // Its clock is three hours ahead, or behind: the minute that it means is a minute.
        (
            &[(AFTER, "Sun, 06 Nov 1994 11:50:37 GMT"), (DATE, "Sun, 06 Nov 1994 11:49:37 GMT")],
            secs(60),
        ),
        (
            &[(AFTER, "Sun, 06 Nov 1994 05:50:37 GMT"), (DATE, "Sun, 06 Nov 1994 05:49:37 GMT")],
            secs(60),
        ),
        (
            &[(AFTER, "Mon, 07 Nov 1994 11:49:37 GMT"), (DATE, "Sun, 06 Nov 1994 11:49:37 GMT")],
            secs(86_400),
        ),
        (
            &[(AFTER, "Sun, 06 Nov 1994 11:49:36 GMT"), (DATE, "Sun, 06 Nov 1994 11:49:37 GMT")],
            secs(0),
        ),
        (&[(AFTER, "7"), (DATE, "Sun, 06 Nov 1994 11:49:37 GMT")], secs(7)),
    ];
    for (headers, wait) in table {
        for status in [429, 503, 529, 500] {
            assert_eq!(asked(status, headers), wait, "{status} {headers:?}");
        }
    }
}
