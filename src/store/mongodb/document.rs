//! Buckets as documents: the way in. Field names and their order are here.

use std::collections::BTreeMap;

use ::mongodb::bson::raw::{CString, cstr};
use ::mongodb::bson::{DateTime, RawBson, RawDocumentBuf};

use super::readings_array::readings;
use crate::bucket::{Computed, Elements, Stats};
use crate::model::{
    BucketKey, HourStart, MeasureName, SensorId, escape_field, escape_id, sum_field,
};
use crate::store::BucketVersion;

/// Microseconds a second.
const MICROS_PER_SECOND: u32 = 1_000_000;

/// `_id` of a part: `<escaped sensor id>|<hour>`, `#<part>` behind it from the
/// second part on.
pub(super) fn part_id(sensor: &SensorId, hour: HourStart, part: u32) -> String {
    let id = escape_id(sensor);
    match part {
        0 => format!("{id}|{hour}"),
        part => format!("{id}|{hour}#{part}"),
    }
}

/// An hour as a BSON date.
pub(super) fn hour_date(hour: HourStart) -> DateTime {
    DateTime::from_millis(hour.millis())
}

/// Seconds into the hour: whole ones as int32, others as the double nearest to
/// the microsecond (its error is below 1e-12 s, so rounding gives it back).
pub(super) fn offset_to_sec(offset: u32) -> RawBson {
    if offset.is_multiple_of(MICROS_PER_SECOND) {
        let seconds = offset / MICROS_PER_SECOND;
        RawBson::Int32(i32::try_from(seconds).expect("an hour has 3,600 seconds"))
    } else {
        RawBson::Double(f64::from(offset) / f64::from(MICROS_PER_SECOND))
    }
}

/// A count: int32, which every shell shows as a plain number, or int64 where
/// it does not fit.
pub(super) fn count_number(count: u64) -> RawBson {
    match i32::try_from(count) {
        Ok(count) => RawBson::Int32(count),
        Err(_) => RawBson::Int64(i64::try_from(count).unwrap_or(i64::MAX)),
    }
}

/// The part's number as int32, int64 beyond it.
pub(super) fn part_number(part: u32) -> RawBson {
    count_number(u64::from(part))
}

/// A field's name for the encoder.
pub(super) fn field(name: String) -> CString {
    CString::try_from(name).expect("names hold no control characters, so no nul")
}

/// The whole document of a new part.
pub(super) fn new_part(
    key: &BucketKey,
    version: BucketVersion,
    elements: &Elements,
    computed: &Computed,
) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(cstr!("_id"), part_id(&key.sensor, key.hour, version.part));
    document.append(cstr!("sensorId"), key.sensor.as_str());
    document.append(cstr!("hour"), hour_date(key.hour));
    document.append(cstr!("part"), part_number(version.part));
    document.append(cstr!("rev"), version.rev);
    document.append(cstr!("by"), version.by);
    document.append(cstr!("count"), count_number(computed.count));
    document.append(cstr!("readings"), readings(elements));
    append_computed(&mut document, computed);
    document
}

/// What an update sets beside the readings it pushes.
pub(super) fn set_fields(version: BucketVersion, computed: &Computed) -> RawDocumentBuf {
    let mut set = RawDocumentBuf::new();
    set.append(cstr!("rev"), version.rev);
    set.append(cstr!("by"), version.by);
    set.append(cstr!("count"), count_number(computed.count));
    append_computed(&mut set, computed);
    set
}

fn append_computed(document: &mut RawDocumentBuf, computed: &Computed) {
    for (name, stats) in &computed.measures {
        document.append(field(sum_field(name)), stats.sum.value());
    }
    document.append(cstr!("computed"), computed_document(&computed.measures));
}

fn computed_document(measures: &BTreeMap<MeasureName, Stats>) -> RawDocumentBuf {
    measures
        .iter()
        .map(|(name, stats)| {
            let mut fields = RawDocumentBuf::new();
            fields.append(cstr!("count"), count_number(stats.count));
            fields.append(cstr!("sum"), stats.sum.value());
            fields.append(cstr!("min"), stats.min);
            fields.append(cstr!("max"), stats.max);
            (field(escape_field(name).into_owned()), fields)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::Document;
    use proptest::prelude::*;

    use super::super::decode::{DecodedPart, decode_part, sec_to_offset};
    use super::*;
    use crate::bucket::Merge;
    use crate::model::Micros;
    use crate::store::size::{document_overhead, element_bytes};

    fn offset_back(offset: u32) -> Option<u32> {
        match offset_to_sec(offset) {
            RawBson::Int32(sec) => sec_to_offset(f64::from(sec)),
            RawBson::Double(sec) => sec_to_offset(sec),
            _ => None,
        }
    }

    #[test]
    fn every_sampled_microsecond_of_an_hour_survives_as_seconds() {
        // A prime step meets every residue; the ends are dense.
        let sampled = (0..3_600_000_000u32).step_by(7_919);
        let ends = (0..5_000).chain(3_599_995_000..3_600_000_000);
        for offset in sampled.chain(ends) {
            assert_eq!(offset_back(offset), Some(offset));
        }
    }

    #[test]
    fn seconds_that_are_no_microsecond_of_the_hour_are_refused() {
        for sec in [-0.5, 3600.0, 3600.5, 0.000_000_5, f64::NAN, f64::INFINITY] {
            assert_eq!(sec_to_offset(sec), None, "{sec}");
        }
        assert_eq!(sec_to_offset(-0.0), Some(0));
    }

    #[test]
    fn fields_stand_in_the_order_that_is_described() {
        let temp = MeasureName::new("temp").unwrap();
        let mut merge = Merge::default();
        merge.add(0, [(&temp, 24.1)]);
        let document = document_of("S1", 0, &merge);
        let names: Vec<_> = document.iter().map(|f| f.unwrap().0.as_str()).collect();
        assert_eq!(
            names,
            [
                "_id", "sensorId", "hour", "part", "rev", "by", "count", "readings", "sumTemp",
                "computed"
            ]
        );
    }

    #[test]
    fn what_does_not_decode_is_named() {
        let temp = MeasureName::new("temp").unwrap();
        let mut merge = Merge::default();
        merge.add(1_500_000, [(&temp, 24.1)]);
        let good = Document::try_from(&document_of("S1", 1, &merge)).unwrap();
        let broken = |edit: fn(&mut Document)| {
            let mut document = good.clone();
            edit(&mut document);
            let raw = RawDocumentBuf::try_from(&document).unwrap();
            decode_part(&raw).unwrap_err().to_string()
        };
        for (edit, told) in [
            (
                (|d| drop(d.insert("rev", "x"))) as fn(&mut Document),
                "rev is no whole number",
            ),
            (|d| drop(d.remove("hour")), "hour is no date"),
            (|d| drop(d.insert("part", 2)), "_id does not belong"),
            (|d| drop(d.insert("count", -1)), "count is no whole number"),
            (|d| drop(d.insert("readings", 1)), "readings is no array"),
            (
                |d| d.get_array_mut("readings").unwrap().push(1.into()),
                "readings.1 is no document",
            ),
            (
                |d| {
                    let mut reading = Document::new();
                    reading.insert("sec", 3600);
                    d.get_array_mut("readings").unwrap().push(reading.into());
                },
                "readings.1 has a sec",
            ),
            (
                |d| {
                    let stats = d.get_document_mut("computed").unwrap();
                    drop(stats.get_document_mut("temp").unwrap().remove("max"));
                },
                "computed.temp has no max",
            ),
        ] {
            let message = broken(edit);
            assert!(
                message.contains("document \"S1|1970-01-01T01#1\""),
                "{message}"
            );
            assert!(message.contains(told), "{message}");
        }
    }

    fn document_of(id: &str, part: u32, merge: &Merge) -> RawDocumentBuf {
        let key = BucketKey {
            sensor: SensorId::new(id).unwrap(),
            hour: HourStart::from_hours(1),
        };
        let version = BucketVersion {
            part,
            rev: 12,
            by: i64::MAX,
        };
        let elements = merge.elements();
        new_part(&key, version, elements, &merge.computed(0, elements.len()))
    }

    proptest! {
        #[test]
        fn a_bucket_survives_as_a_document(
            id in "[^\\p{Cc}]{1,12}",
            names in proptest::collection::btree_set("[a-zA-Z$.%é_]{1,8}|sec|sum", 1..6),
            readings in proptest::collection::vec(
                (0u32..3_600_000_000, proptest::collection::vec((0usize..6, -1e300..1e300), 1..5)),
                0..40,
            ),
            hour in Micros::MIN.hour().hours()..Micros::MAX.hour().hours(),
            part in prop_oneof![0u32..3, Just(u32::MAX)],
            rev in 1i64.., by: i64,
        ) {
            let Ok(sensor) = SensorId::new(&id) else { return Ok(()) };
            let names: Vec<_> = names.iter().filter_map(|n| MeasureName::new(n).ok()).collect();
            let mut merge = Merge::default();
            for (offset, values) in &readings {
                let values: BTreeMap<_, _> =
                    values.iter().map(|(n, v)| (&names[n % names.len()], *v)).collect();
                merge.add(*offset, values);
            }
            let elements = merge.elements();
            let computed = merge.computed(0, elements.len());
            let key = BucketKey { sensor, hour: HourStart::from_hours(hour) };
            let version = BucketVersion { part, rev, by };
            let document = new_part(&key, version, elements, &computed);

            let DecodedPart { key: key_back, part } = decode_part(&document).unwrap();
            prop_assert_eq!(&key_back, &key);
            prop_assert_eq!(part.version, version);
            prop_assert_eq!(part.full, false);
            prop_assert_eq!(part.stray_fields, Vec::<String>::new());
            prop_assert_eq!(&part.elements, elements);
            prop_assert_eq!(part.computed.count, computed.count);
            for (name, stats) in &computed.measures {
                let back = &part.computed.measures[name];
                prop_assert_eq!((back.count, back.min, back.max), (stats.count, stats.min, stats.max));
                prop_assert_eq!(back.sum.value(), stats.sum.value());
            }

            // The estimate never falls short, and does not waste parts.
            let overhead = document_overhead(&key, computed.measures.keys());
            let estimate = overhead + elements.iter().map(element_bytes).sum::<usize>();
            let real = document.as_bytes().len();
            prop_assert!(estimate >= real, "{estimate} for {real}");
            prop_assert!(estimate <= real * 3 / 2 + 64, "{estimate} for {real}");
            prop_assert_eq!(part.bytes, real);
        }
    }
}
