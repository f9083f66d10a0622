//! Lines, mostly sound: names and values from an alphabet of what is awkward,
//! escaped as the protocol asks or, now and then, not at all.

use proptest::collection::vec;
use proptest::prelude::*;

/// A name or a tag value, escaped or raw.
fn part(specials: &'static str) -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "cpu", "é", "1", "\"", "\\", " ", ",", "=", "#", "i", "\t",
    ]);
    (vec(piece, 1..4), prop::bool::weighted(0.85)).prop_map(move |(pieces, is_escaped)| {
        let text = pieces.concat();
        if !is_escaped {
            return text;
        }
        let mut escaped = String::new();
        for c in text.chars() {
            if specials.contains(c) {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        escaped
    })
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => any::<f64>().prop_map(|value| format!("{value:?}")),
        2 => any::<i64>().prop_map(|value| format!("{value}i")),
        2 => (-(1_i64 << 53)..=1 << 53).prop_map(|value| format!("{value}i")),
        1 => any::<u64>().prop_map(|value| format!("{value}u")),
        3 => prop::sample::select(vec![
            "t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE", "tRuE", "5",
            "5i", "5u", "-5u", "-0.0", "-0", "1e-320", "1e3", "1E+3", "1e", "9007199254740993i",
            "9007199254740993", "NaN", "inf", "1_000", "0x10", ".5", "5.", "-.5", "+1", "+1i", "-",
            ".", "", "i", "1.5i", "1i2", "1 ", "null", "'a'", "1,",
        ]).prop_map(str::to_owned),
        2 => "[a-c\u{e9} ,=\n\\\\\"]{0,6}".prop_map(|text| {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }),
        1 => "[a\\\\\",= ]{0,4}".prop_map(|text| format!("\"{text}\"")),
    ]
}

fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0..4_000_000_000_000_000_000_i64).prop_map(|time| format!(" {time}")),
        2 => Just(String::new()),
        1 => any::<i64>().prop_map(|time| format!(" {time}")),
        1 => prop::sample::select(vec![" ", "  5", " 5 ", " -5", " +5", " 5.0", " 5i", " x", " 5 6"])
            .prop_map(str::to_owned),
    ]
}

/// One line.
pub(super) fn line() -> impl Strategy<Value = String> {
    let tags = vec((part(",= "), part(",= ")), 0..3);
    let fields = vec((part(",= "), value()), 1..4);
    (part(", "), tags, fields, time()).prop_map(|(measurement, tags, fields, time)| {
        let tags: String = tags.iter().map(|(k, v)| format!(",{k}={v}")).collect();
        let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{measurement}{tags} {}{time}", fields.join(","))
    })
}
