//! What holds for any body.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

/// An item, mostly good, as a value and therefore without a field twice.
fn item() -> impl Strategy<Value = Value> {
    let measure = prop_oneof![
        6 => any::<f64>().prop_map(Value::from),
        3 => (-(1_i64 << 60)..1 << 60).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => "[0-9é\"]{0,3}".prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(Value::Array(vec![])),
    ];
    let name = "[a-c.\\\\\u{e9} ]{0,2}";
    let measures = vec((name, measure), 0..4).prop_map(|m| m.into_iter().collect::<Map<_, _>>());
    let sensor = prop_oneof![9 => "S[0-3\n]", 1 => Just(String::new())];
    let at = prop_oneof![9 => 1_777_000_000_i64..1_777_629_600, 1 => -5_i64..5];
    (sensor, at, measures, any::<bool>()).prop_map(|(sensor, at, measures, nested)| {
        let mut item = Map::new();
        item.insert("sensorId".to_owned(), sensor.into());
        item.insert("ts".to_owned(), at.into());
        if nested {
            item.insert("measures".to_owned(), measures.into());
        } else {
            item.extend(measures);
        }
        item.into()
    })
}

/// The rules once more, without any care for speed or reasons.
fn naive(item: &Value) -> Option<Row> {
    let sensor = item["sensorId"].as_str()?;
    let at = item["ts"].as_i64()? * 1_000_000;
    let bad_sensor = sensor.trim().is_empty() || sensor.contains(char::is_control);
    if bad_sensor || at < context().min_time.get() || at > context().max_time.get() {
        return None;
    }
    let object = item.as_object()?;
    let nested = object.get("measures").and_then(Value::as_object);
    let mut values = Vec::new();
    for (name, value) in nested.unwrap_or(object) {
        if nested.is_none() && (name == "sensorId" || name == "ts") {
            continue;
        }
        let value = match value {
            Value::String(_) | Value::Null => continue,
            Value::Bool(value) => f64::from(u8::from(*value)),
            Value::Number(number) => {
                if number.as_i64().is_some_and(|n| n.unsigned_abs() > 1 << 53) {
                    return None;
                }
                number.as_f64().filter(|value| value.abs() <= 1e300)?
            }
            _ => return None,
        };
        if name.trim().is_empty() {
            return None;
        }
        values.push((name.clone(), value));
    }
    (!values.is_empty()).then(|| (sensor.to_owned(), at - NOW, values))
}

fn sorted(mut rows: Vec<Row>) -> String {
    rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
    format!("{rows:?}")
}

fn lines(items: &[Value]) -> String {
    items.iter().map(|item| format!("{item}\n")).collect()
}

proptest! {
    #[test]
    fn items_are_read_as_a_naive_decoder_reads_them(items in vec(item(), 0..20)) {
        let expected: Vec<Row> = items.iter().filter_map(naive).collect();
        let array = read_json(Value::from(items.clone()).to_string()).unwrap();
        prop_assert_eq!(rows(&array), expected.clone());
        prop_assert_eq!(array.items, items.len() as u64);
        prop_assert_eq!(array.items, array.batch.len() as u64 + array.rejections.total());
        let by_line = read_ndjson(lines(&items));
        prop_assert_eq!(rows(&by_line), expected);
        prop_assert_eq!(by_line.rejections.total(), array.rejections.total());
        prop_assert_eq!(by_line.text_fields_skipped, array.text_fields_skipped);
    }

    #[test]
    fn i05_a_permutation_gives_the_same_readings(
        (items, shuffled) in vec(item(), 0..20).prop_flat_map(|items| {
            (Just(items.clone()), Just(items).prop_shuffle())
        })
    ) {
        let rows_of = |items: &[Value]| sorted(rows(&read_ndjson(lines(items))));
        prop_assert_eq!(rows_of(&items), rows_of(&shuffled));
    }

    #[test]
    fn c20_a_cut_never_costs_an_earlier_line(items in vec(item(), 1..5)) {
        let body = lines(&items);
        let whole = read_ndjson(&body);
        for cut in 0..=body.len() {
            let decoded = read_ndjson(&body.as_bytes()[..cut]);
            let complete = body.as_bytes()[..cut].iter().filter(|b| **b == b'\n').count();
            let expected: Vec<Row> = items[..complete].iter().filter_map(naive).collect();
            // The last line may be whole but for its end.
            let read = rows(&decoded);
            prop_assert!(read.starts_with(&expected));
            prop_assert!(rows(&whole).starts_with(&read));
        }
    }

    #[test]
    fn i09_no_bytes_panic(body in vec(any::<u8>(), 0..200)) {
        let decoded = read_ndjson(&body);
        prop_assert_eq!(decoded.items, decoded.batch.len() as u64 + decoded.rejections.total());
        if let Err(error) = read_json(&body) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn i09_no_json_like_bytes_panic(
        parts in vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d800", "\n", "\r", " ", "-", "0",
                "1", "e", ".", "null", "true", "\"sensorId\":", "\"S1\"", "\"ts\":", "\"ageMs\":",
                "\"measures\":", "\"readings\":", "\"a\":", "1777629600", "é", "\u{feff}",
            ]),
            0..40,
        )
    ) {
        let body = parts.concat();
        let decoded = read_ndjson(&body);
        prop_assert_eq!(decoded.items, decoded.batch.len() as u64 + decoded.rejections.total());
        match read_json(&body) {
            Ok(decoded) => prop_assert!(serde_json::from_str::<&serde_json::value::RawValue>(
                body.trim_start_matches('\u{feff}')
            ).is_ok(), "{:?}", decoded),
            Err(BodyError::InvalidJson { byte, .. } | BodyError::NotUtf8 { byte }) => {
                prop_assert!(byte <= body.len());
            }
            Err(BodyError::Empty | BodyError::WrongShape { .. }) => {}
            Err(error @ BodyError::CsvHeader { .. }) => prop_assert!(false, "{}", error),
        }
    }
}
