//! I9: no input panics or costs another item its place; each rejection has an
//! index and a reason; received = accepted + rejected.
//!
//! Method: arbitrary bytes, and good bodies in which some items were damaged.
//! A body must come to what its items come to one by one, in their places; what
//! is accepted goes through the journal's format and the buffer.

use std::sync::Arc;
use std::time::Duration;

use hourglass::buffer::Buffer;
use hourglass::config::BufferSettings;
use hourglass::decode::{DecodeContext, Decoded, Rejections, json, ndjson};
use hourglass::journal::Record;
use hourglass::metrics::Ledger;
use hourglass::model::{Micros, RejectCode};
use hourglass::store::WriterId;
use proptest::collection::vec;
use proptest::prelude::*;

use super::cases;
use crate::support::gate::OpenGate;
use simulation::action::EPOCH;

/// No item depends on those before it.
pub(super) fn gate() -> OpenGate {
    OpenGate(Micros::new(EPOCH).unwrap())
}

pub(super) fn context() -> DecodeContext {
    DecodeContext {
        received_at: Micros::new(EPOCH).unwrap(),
        min_time: Micros::new(946_684_800_000_000).unwrap(),
        max_time: Micros::new(EPOCH + 300_000_000).unwrap(),
        unit: None,
        unit_parameter: "unit",
    }
}

fn read_ndjson(body: &[u8]) -> Decoded {
    ndjson(body, &context(), &mut gate())
}

/// Sensor, instant and values of each accepted reading.
pub(super) fn rows(decoded: &Decoded) -> Vec<String> {
    let readings = decoded.batch.readings();
    let row = readings.map(|reading| {
        let values: Vec<_> = reading.values().collect();
        format!("{:?} {} {values:?}", reading.sensor(), reading.at())
    });
    row.collect()
}

/// Index, code, field and reason of each rejection.
type Refused = (u64, RejectCode, Option<String>, String);

fn refused(decoded: &Decoded) -> Vec<Refused> {
    let rejections = decoded.rejections.first().iter();
    let refused = rejections.map(|r| (r.index, r.code, r.field.clone(), r.detail.clone()));
    refused.collect()
}

/// What holds of any decoded body.
fn check(decoded: &Decoded) -> Result<(), TestCaseError> {
    let rejections = &decoded.rejections;
    prop_assert_eq!(
        decoded.items,
        decoded.batch.len() as u64 + rejections.total()
    );
    let by_code: u64 = rejections.by_code().map(|(_, count)| count).sum();
    prop_assert_eq!(by_code, rejections.total());
    let kept = rejections.first();
    prop_assert_eq!(
        kept.len() as u64,
        rejections.total().min(Rejections::KEPT_MAX as u64)
    );
    prop_assert!(kept.is_sorted_by(|a, b| a.index < b.index));
    prop_assert!(
        kept.iter()
            .all(|r| r.index < decoded.items && !r.detail.is_empty())
    );

    let record = Record::Batch {
        received_at: Micros::new(EPOCH).unwrap(),
        batch: decoded.batch.clone(),
        keyed: None,
    };
    prop_assert_eq!(Record::decode(&record.encode()), Ok(record));
    let ledger = Arc::new(Ledger::default());
    let (settings, writer) = (BufferSettings::default(), WriterId::new(1));
    let buffer = Buffer::new(settings, Arc::clone(&ledger), writer, Some(1000));
    let (items, values) = (
        decoded.batch.len() as u64,
        decoded.batch.value_count() as u64,
    );
    ledger.receive(items);
    ledger.accept(items, values);
    let received_at = Micros::new(EPOCH).unwrap();
    buffer.apply(1, received_at, &decoded.batch, Duration::ZERO);
    prop_assert!(ledger.snapshot(buffer.pending_values()).balances());
    Ok(())
}

/// A body of `items` must come to what they come to alone.
pub(super) fn compare(whole: &Decoded, alone: &[Decoded]) -> Result<(), TestCaseError> {
    check(whole)?;
    let mut expected_rows = Vec::new();
    let mut expected_refused = Vec::new();
    for (index, item) in (0..).zip(alone) {
        prop_assert_eq!(item.items, 1);
        expected_rows.extend(rows(item));
        let refused = refused(item).into_iter();
        expected_refused
            .extend(refused.map(|(_, code, field, detail)| (index, code, field, detail)));
    }
    expected_refused.truncate(Rejections::KEPT_MAX);
    prop_assert_eq!(rows(whole), expected_rows);
    prop_assert_eq!(refused(whole), expected_refused);
    Ok(())
}

/// A good item, as text.
fn good() -> impl Strategy<Value = String> {
    let at = prop_oneof![
        Just(String::new()),
        (0..3600_i64).prop_map(|second| format!(",\"ts\":{}", EPOCH / 1_000_000 - second)),
        Just(",\"ts\":\"2026-05-01T09:59:59.25+00:00\"".to_owned()),
        Just(",\"ageMs\":4200".to_owned()),
    ];
    let fields = prop::sample::select(vec![
        "\"temp\":24.1",
        "\"temp\":1e-3,\"humidity\":50",
        "\"measures\":{\"temp\":true,\"sec\":-0.0}",
        "\"state\":\"text\",\"é\":7",
    ]);
    let sensor = prop::sample::select(vec!["S1", "a|b", "é\\u0041"]);
    (sensor, at, fields).prop_map(|(s, at, f)| format!("{{\"sensorId\":\"{s}\"{at},{f}}}"))
}

/// What is done to an item's bytes: place, kind, byte.
pub(super) type Damage = Vec<(usize, u8, u8)>;

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let tokens = b"{}[],:\"\\-+0e.ntu \t\xff\x00\xc3\r".to_vec();
    let byte = prop_oneof![prop::sample::select(tokens), any::<u8>()];
    let damage = prop_oneof![
        2 => Just(Vec::new()),
        1 => vec((any::<usize>(), 0..3_u8, byte), 1..4),
    ];
    (good(), damage)
        .prop_map(|(item, damage): (String, Damage)| damage_by(item.into_bytes(), damage))
}

/// An item with `damage` done to it, still on one line.
pub(super) fn damage_by(mut bytes: Vec<u8>, damage: Damage) -> Vec<u8> {
    for (place, kind, byte) in damage {
        let place = place % bytes.len();
        match kind {
            0 => bytes[place] = byte,
            1 => bytes.insert(place, byte),
            _ => drop(bytes.remove(place)),
        }
    }
    // A line's end would make two items of it.
    bytes.retain(|byte| *byte != b'\n');
    bytes
}

/// Any JSON value, as text.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "0",
            "-1.5e3",
            "1e999",
            "9007199254740993",
            "\"\"",
            "\"\\ud800\"",
            "\"NaN\"",
            "123456789012345678901234567890",
        ])
        .prop_map(str::to_owned),
        good(),
    ];
    let key = prop::sample::select(vec![
        "sensorId",
        "ts",
        "ageMs",
        "measures",
        "temp",
        "",
        "a.b",
        "\\u0000",
        "temp\\ud800",
    ]);
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let fields = vec((key.clone(), inner.clone()), 0..4).prop_map(|fields| {
            let fields = fields.iter().map(|(k, v)| format!("\"{k}\":{v}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        });
        let list = vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(",")));
        prop_oneof![fields, list]
    })
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn i09_any_bytes_are_answered(body in vec(any::<u8>(), 0..300)) {
        check(&read_ndjson(&body))?;
        match json(&body, &context(), &mut gate()) {
            Ok(decoded) => check(&decoded)?,
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn i09_a_damaged_line_costs_no_other_its_place(lines in vec(damaged(), 1..12)) {
        let blank = |line: &&Vec<u8>| !line.iter().all(|b| b" \t\r".contains(b));
        let lines: Vec<&Vec<u8>> = lines.iter().filter(blank).collect();
        let alone: Vec<Decoded> = lines.iter().map(|line| read_ndjson(line)).collect();
        let body: Vec<u8> = lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect();
        compare(&read_ndjson(&body), &alone)?;
    }

    #[test]
    fn i09_a_bad_item_of_an_array_costs_no_other_its_place(
        items in vec(prop_oneof![good(), any_json()], 1..12),
        is_wrapped in any::<bool>(),
    ) {
        let read = |body: String| json(body.as_bytes(), &context(), &mut gate());
        let alone = items.iter().map(|item| read(format!("[{item}]")).unwrap());
        let body = format!("[{}]", items.join(","));
        let body = if is_wrapped { format!("{{\"readings\":{body}}}") } else { body };
        compare(&read(body).unwrap(), &alone.collect::<Vec<_>>())?;
    }

    /// A JSON body that does not parse is refused whole, with the place.
    #[test]
    fn i09_damaged_json_is_read_as_json_or_refused_whole(items in vec(damaged(), 1..5)) {
        let body = [b"[", &items.join(&b","[..])[..], b"]"].concat();
        match json(&body, &context(), &mut gate()) {
            Ok(decoded) => {
                check(&decoded)?;
                let parsed: Result<&serde_json::value::RawValue, _> = serde_json::from_slice(&body);
                prop_assert!(parsed.is_ok(), "taken though it is not JSON");
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// More are refused than are listed: the list is cut, the counts are not.
#[test]
fn i09_many_bad_items_are_counted_beyond_the_list() {
    let body: String = (0..250)
        .map(|n| match n % 2 {
            0 => "{\"sensorId\":\"S1\"}\n",
            _ => "{\"sensorId\":\"S1\",\"temp\":1}\n",
        })
        .collect();
    let decoded = read_ndjson(body.as_bytes());
    assert_eq!((decoded.items, decoded.batch.len()), (250, 125));
    assert_eq!(decoded.rejections.total(), 125);
    let last = decoded.rejections.first().last().unwrap();
    assert_eq!((decoded.rejections.first().len(), last.index), (100, 198));
}
