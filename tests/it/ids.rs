//! Ids of traces and spans: hex in and out, held against the number parser of the standard library.

use proptest::prelude::*;
use taco_trace::model::id::number_of_hex;
use taco_trace::model::{OtelId as _, SpanId, TraceId};

#[test]
fn id_has_all_its_digits_and_is_not_zero() {
    let id = TraceId::of_hex("00000000000000008A6c2e5b90d417aa").unwrap();
    assert_eq!(id.to_string(), "00000000000000008a6c2e5b90d417aa");
    assert_eq!(format!("{:>18}", SpanId::of_hex("00000000000000a1").unwrap()), "  00000000000000a1");
    for wrong in ["", "a1", "0000000000000000", "00000000000000a", "00000000000000a10", "00000000000000g1", "٠٠٠٠٠٠٠a"]
    {
        assert_eq!(SpanId::of_hex(wrong), None, "{wrong}");
    }
    assert_eq!(TraceId::of_hex(&"0".repeat(32)), None);
    assert_eq!(SpanId::of_number(u128::from(u64::MAX)).map(SpanId::number), Some(u64::MAX));
    assert_eq!(SpanId::of_number(u128::from(u64::MAX) + 1), None);
}

#[test]
fn more_digits_than_an_id_has_are_no_number() {
    assert_eq!(number_of_hex(&[b'f'; 32]), Some(u128::MAX));
    assert_eq!(number_of_hex(&[b'f'; 33]), None);
    assert_eq!(number_of_hex(b""), None);
}

proptest! {
    #[test]
    fn ids_come_back_as_they_went(number in 1..=u128::MAX, span in 1..=u64::MAX) {
        let trace = TraceId::of_number(number).unwrap();
        prop_assert_eq!(trace.to_string(), format!("{number:032x}"));
        prop_assert_eq!(TraceId::of_hex(&trace.to_string().to_uppercase()), Some(trace));
        let id = SpanId::of_number(span.into()).unwrap();
        prop_assert_eq!(id.to_string(), format!("{span:016x}"));
        prop_assert_eq!(SpanId::of_hex(&id.to_string()), Some(id));
        prop_assert_eq!(trace < TraceId::of_number(number / 2 + 1).unwrap(), number < number / 2 + 1);
    }

    #[test]
    fn digits_are_read_as_the_standard_library_does(text in "[0-9a-fA-Fg-i +-]{0,33}") {
        let plain = !text.is_empty() && text.len() <= 32 && !text.starts_with(['+', '-']);
        let expected = plain.then(|| u128::from_str_radix(&text, 16).ok()).flatten();
        prop_assert_eq!(number_of_hex(text.as_bytes()), expected);
    }
}
