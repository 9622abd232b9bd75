//! Money, rates, prices and spans: what is read is what is printed, and nothing is paid twice.

use nucleo_core::spend::{Price, PriceError, Rate, Rates};
use nucleo_core::{Currency, Money, MoneyError, PICO, Reserved, Span, Time, Usage, parse_pico};

use super::draw::Draw;

pub(crate) fn check(bytes: &[u8]) {
    check_text(&String::from_utf8_lossy(bytes));
    let mut draw = Draw::bytes(bytes);
    check_number(&mut draw);
    check_price(&mut draw);
    check_times(&mut draw);
}

fn check_text(text: &str) {
    match text.parse::<Money>() {
        Ok(money) => {
            let printed = money.to_string();
            assert_eq!(printed.parse(), Ok(money), "{text}");
            let json = serde_json::to_string(&money).expect("money is text");
            assert_eq!(serde_json::from_str::<Money>(&json).expect("and read as such"), money);
        }
        Err(MoneyError::Form(said) | MoneyError::Currency(said) | MoneyError::Range(said)) => {
            assert!(text.contains(&said), "`{said}` is not in `{text}`");
        }
        Err(other) => panic!("{other}"),
    }
    if let Ok(pico) = parse_pico(text) {
        let money = Money::from_pico(pico, Currency::USD);
        assert_eq!(money.to_string().parse(), Ok(money), "{text}");
    }
    if let Ok(rate) = text.parse::<Rate>() {
        assert_eq!(Rate::from_pico_per_million(rate.pico_per_million()), Ok(rate), "{text}");
    }
    if let Ok(currency) = text.parse::<Currency>() {
        assert_eq!(currency.code(), text);
    }
}

fn check_number(draw: &mut Draw<'_>) {
    // 24 digits before the point and 12 behind: what can be read.
    let pico = i128::try_from(draw.u128(0..1_000_000_000_000_000_000_000_000 * PICO as u128));
    let pico = pico.expect("1e36 fits") * if draw.bool() { -1 } else { 1 };
    let money = Money::from_pico(pico, Currency::USD);
    assert_eq!(money.to_string().parse(), Ok(money), "{pico}");
    assert_eq!(money.plus(money).and_then(|twice| twice.minus(money)), Ok(money));
    match Rate::from_pico_per_million(pico) {
        Ok(rate) => assert!(rate.pico_per_million() == pico && pico >= 0 && pico % 1_000_000 == 0),
        Err(PriceError::TooFine(told) | PriceError::OutOfRange(told)) => assert_eq!(told, pico),
        Err(other) => panic!("{other}"),
    }
}

fn rate(draw: &mut Draw<'_>) -> Rate {
    // Up to the dearest: a unit for a token.
    let most = [9, 1_000_000_000, 1_000_000_000_000][draw.place(3)];
    let per_token = i128::from(draw.u64(0..=most));
    Rate::from_pico_per_million(per_token * 1_000_000).expect("a rate in range")
}

fn rates(draw: &mut Draw<'_>) -> Rates {
    let mut rates = Rates::new(rate(draw), rate(draw));
    if draw.bool() {
        rates = rates.cache_read(rate(draw));
    }
    if draw.bool() {
        rates = rates.cache_write(rate(draw));
    }
    if draw.bool() {
        rates = rates.reasoning(rate(draw));
    }
    rates
}

/// `whole` in three parts.
fn parts(draw: &mut Draw<'_>, whole: u64) -> [u64; 3] {
    let one = draw.u64(0..=whole);
    let two = draw.u64(0..=whole - one);
    [one, two, whole - one - two]
}

fn check_price(draw: &mut Draw<'_>) {
    let base = rates(draw);
    let mut price = Price::new(Currency::USD, base.clone());
    let mut above = 0;
    for _ in 0..draw.usize(0, 3) {
        let tier = draw.u64(0..100);
        price = match price.clone().tier(tier, rates(draw)) {
            Ok(dearer) => {
                assert!(above == 0 || tier > above);
                above = tier;
                dearer
            }
            Err(error) => {
                assert_eq!(error, PriceError::TierOrder { above_input_tokens: tier });
                price
            }
        };
    }
    let most = [120, 1_000_000, u64::MAX / 4][draw.place(3)];
    let tokens = Reserved { input: draw.u64(0..=most), output: draw.u64(0..=most) };
    let (input, output) = (draw.u64(0..=tokens.input), draw.u64(0..=tokens.output));
    let ([input, cache_write, cache_read], [output, reasoning, _]) =
        (parts(draw, input), parts(draw, output));
    let usage = Usage { input, cache_write, cache_read, output, reasoning };
    let cost = price.cost(&usage).pico();
    assert!(cost <= price.dearest(&tokens).pico(), "{price:?} {tokens:?} {usage:?}");
    // Each kind by itself, at one tier's rates: nothing is paid twice, nothing is free.
    let flat = Price::new(Currency::USD, base);
    let none = Usage::default();
    let each = [
        Usage { input, ..none },
        Usage { cache_write, ..none },
        Usage { cache_read, ..none },
        Usage { output, ..none },
        Usage { reasoning, ..none },
    ];
    let sum: i128 = each.iter().map(|part| flat.cost(part).pico()).sum();
    assert_eq!(flat.cost(&usage).pico(), sum, "{usage:?}");
    let json = serde_json::to_string(&usage).expect("usage is numbers");
    assert_eq!(serde_json::from_str::<Usage>(&json).expect("and read"), usage);
}

fn check_times(draw: &mut Draw<'_>) {
    let (one, two) = (draw.u64(0..=u64::MAX), draw.u64(0..=u64::MAX));
    let (early, late) = (Time::from_nanos(one.min(two)), Time::from_nanos(one.max(two)));
    let span = late.since(early);
    assert_eq!(early.saturating_add(span), late);
    assert_eq!(early.since(late), Span::ZERO);
    assert_eq!(Span::from(span.to_std()), span);
    assert!(Span::from_millis(span.as_millis()) <= span);
    let json = serde_json::to_string(&span).expect("a span is a number");
    assert_eq!(serde_json::from_str::<Span>(&json).expect("and read"), span);
    // Printed as the standard library prints it, to the nanosecond.
    assert_eq!(span.to_string(), format!("{:?}", span.to_std()));
}
