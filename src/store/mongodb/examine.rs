//! A document of `buckets` field by field, taking nothing for granted. Pure.

use std::collections::HashSet;

use ::mongodb::bson::{Bson, RawBsonRef, RawDocument};

use super::decode::{decode_key, decode_part, integer, number, sec_to_offset};
use crate::model::{BucketKey, is_sum_field, unescape_field};
use crate::store::{Flaw, StoreError, StoredPart};

/// Microseconds a second.
const MICROS_PER_SECOND: f64 = 1e6;

const NO_NUMBER: &str = "is no number";

/// What a document turned out to be.
#[derive(Debug)]
pub(super) struct Examined {
    /// The bucket that its fields name.
    pub(super) key: Option<BucketKey>,
    /// `None` where reads cannot take it for a part.
    pub(super) part: Option<StoredPart>,
    pub(super) flaws: Vec<Flaw>,
}

/// How a document is called.
pub(super) fn what(document: &RawDocument) -> String {
    match document.get("_id") {
        Ok(Some(RawBsonRef::String(id))) => format!("document {id:?}"),
        Ok(Some(id)) => match Bson::try_from(id) {
            Ok(id) => format!("document {id}"),
            Err(_) => "a document".to_owned(),
        },
        Ok(None) | Err(_) => "a document".to_owned(),
    }
}

/// Looks at every field.
pub(super) fn examine(document: &RawDocument) -> Examined {
    let what = what(document);
    let mut flaws: Vec<Flaw> = unknown(document)
        .into_iter()
        .map(|reason| Flaw::not_understood(&what, reason))
        .collect();
    let part = match decode_part(document) {
        Ok(decoded) => {
            let mut part = decoded.part;
            // A sum that is no number is told once.
            part.stray_fields.retain(|field| {
                !flaws
                    .iter()
                    .any(|f| f.reason == format!("{field} {NO_NUMBER}"))
            });
            Some(part)
        }
        Err(error) => {
            let reason = reason(error);
            // A field that is there and of no known kind is told already.
            let field = reason.split(' ').next().unwrap_or_default();
            if !flaws.iter().any(|flaw| flaw.reason.starts_with(field)) {
                flaws.push(Flaw::damaged(&what, reason));
            }
            None
        }
    };
    if let Ok(readings) = document.get_array("readings")
        && part.is_some()
    {
        let readings = elements(readings.into_iter().flatten());
        flaws.extend(readings.map(|reason| Flaw::damaged(&what, reason)));
    }
    Examined {
        key: decode_key(document),
        part,
        flaws,
    }
}

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Corrupt { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// Fields that are there and that this version does not know, or knows as
/// something else.
fn unknown(document: &RawDocument) -> Vec<String> {
    let mut unknown = Vec::new();
    let mut names = HashSet::new();
    for field in document.iter() {
        let Ok((name, value)) = field else {
            // Decoding tells it.
            break;
        };
        let name = name.as_str();
        if !names.insert(name) {
            unknown.push(format!("{name} stands twice"));
        }
        let wrong = match name {
            // That these are right is a matter of the key.
            "_id" | "sensorId" | "hour" | "part" | "readings" => None,
            "rev" if integer(value).is_some_and(|rev| rev < 1) => Some("is below 1"),
            "rev" | "by" => integer(value).is_none().then_some("is no whole number"),
            "count" => (!is_count(value)).then_some("is no whole number from 0"),
            "full" | "rawDropped" => value.as_bool().is_none().then_some("is no boolean"),
            "computed" => match value.as_document() {
                None => Some("is no document"),
                Some(computed) => {
                    unknown.extend(unknown_of_computed(computed));
                    None
                }
            },
            sum if is_sum_field(sum) => number(value).is_none().then_some(NO_NUMBER),
            _ => Some("is no field that is known here"),
        };
        unknown.extend(wrong.map(|wrong| format!("{name} {wrong}")));
    }
    unknown
}

fn unknown_of_computed(computed: &RawDocument) -> Vec<String> {
    let mut unknown = Vec::new();
    for (field, value) in computed.iter().flatten() {
        let is_measure = unescape_field(field.as_str()).is_some();
        let field = format!("computed.{}", field.as_str());
        if !is_measure {
            unknown.push(format!("{field} names no measure"));
        }
        let Some(stats) = value.as_document() else {
            unknown.push(format!("{field} is no document"));
            continue;
        };
        let mut names = HashSet::new();
        for (name, value) in stats.iter().flatten() {
            let name = name.as_str();
            let wrong = match name {
                _ if !names.insert(name) => Some("stands twice"),
                "count" => (!is_count(value)).then_some("is no whole number from 0"),
                "sum" | "min" | "max" => number(value).is_none().then_some(NO_NUMBER),
                _ => Some("is no field that is known here"),
            };
            unknown.extend(wrong.map(|wrong| format!("{field}.{name} {wrong}")));
        }
    }
    unknown
}

fn is_count(value: RawBsonRef<'_>) -> bool {
    integer(value).is_some_and(|count| count >= 0)
}

/// The first element that no reading is stored as, though it can be read.
fn elements<'a>(readings: impl Iterator<Item = RawBsonRef<'a>>) -> Option<String> {
    for (at, reading) in readings.enumerate() {
        let mut sec = None;
        for (name, value) in reading.as_document()?.iter().flatten() {
            if name.as_str() == "sec" {
                let twice = sec.replace(number(value)?).is_some();
                if twice {
                    return Some(format!("readings.{at} has two instants"));
                }
            }
        }
        let sec = sec?;
        if sec != f64::from(sec_to_offset(sec)?) / MICROS_PER_SECOND {
            return Some(format!(
                "readings.{at}.sec is {sec}, which is not exact to the microsecond"
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use ::mongodb::bson::{Bson, DateTime, Document, RawDocumentBuf, bson, doc};

    use super::*;
    use crate::store::FlawKind;

    fn whole() -> Document {
        doc! {
            "_id": "S1|1970-01-01T01", "sensorId": "S1", "hour": DateTime::from_millis(3_600_000),
            "part": 0, "rev": 1_i64, "by": 5_i64, "count": 1,
            "readings": [{ "sec": 0.000_001, "temp": 2.0 }], "sumTemp": 2.0,
            "computed": { "temp": { "count": 1, "sum": 2.0, "min": 2.0, "max": 2.0 } },
        }
    }

    fn told(document: &Document) -> Vec<(FlawKind, String)> {
        let document = RawDocumentBuf::try_from(document).unwrap();
        let examined = examine(&document);
        let flaws = examined.flaws.into_iter();
        flaws.map(|flaw| (flaw.kind, flaw.reason)).collect()
    }

    #[test]
    fn what_is_stored_has_no_flaw_and_numbers_may_be_of_any_type() {
        assert_eq!(told(&whole()), []);
        let mut edited = whole();
        for (field, value) in [
            ("rev", Bson::Int32(1)),
            ("by", Bson::Double(5.0)),
            ("count", Bson::Int64(1)),
            ("part", Bson::Double(0.0)),
            ("full", Bson::Boolean(false)),
            ("sumTemp", Bson::Int32(2)),
        ] {
            edited.insert(field, value);
        }
        assert_eq!(told(&edited), []);
    }

    /// Field by its path, what it is made, what is told of it.
    fn changed(path: &str, value: Bson) -> Document {
        let mut document = whole();
        let mut fields: Vec<&str> = path.split('/').collect();
        let last = fields.pop().unwrap();
        let mut inner = &mut document;
        for field in fields {
            inner = inner.get_document_mut(field).unwrap();
        }
        inner.insert(last, value);
        document
    }

    #[test]
    fn what_is_unknown_is_told_by_its_field() {
        for (path, value, reason) in [
            (
                "colour",
                bson!("red"),
                "colour is no field that is known here",
            ),
            (
                "summary",
                bson!(1),
                "summary is no field that is known here",
            ),
            ("sumTemp", bson!("2"), "sumTemp is no number"),
            ("full", bson!("yes"), "full is no boolean"),
            ("rawDropped", bson!(1), "rawDropped is no boolean"),
            ("rev", bson!(0), "rev is below 1"),
            ("rev", bson!("1"), "rev is no whole number"),
            ("by", bson!(1.5), "by is no whole number"),
            ("count", bson!(-1), "count is no whole number from 0"),
            ("computed", bson!([]), "computed is no document"),
            ("computed/temp", bson!(1), "computed.temp is no document"),
            ("computed/%", bson!({}), "computed.% names no measure"),
            (
                "computed/temp/avg",
                bson!(1.0),
                "computed.temp.avg is no field that is known here",
            ),
            (
                "computed/temp/min",
                bson!("0"),
                "computed.temp.min is no number",
            ),
            (
                "computed/temp/count",
                bson!(0.5),
                "computed.temp.count is no whole number from 0",
            ),
        ] {
            let expected = (FlawKind::NotUnderstood, reason.to_owned());
            assert_eq!(told(&changed(path, value)), [expected], "{path}");
        }
    }

    #[test]
    fn what_contradicts_itself_or_is_missing_is_damaged() {
        for (path, value, reason) in [
            ("_id", bson!("S1|1970-01-01T02"), "_id does not belong to"),
            ("part", bson!(1), "_id does not belong to"),
            ("sensorId", bson!(7), "sensorId is no sensor id"),
            ("hour", bson!("1970"), "hour is no date of a whole hour"),
            ("readings", bson!("none"), "readings is no array"),
            (
                "readings",
                bson!([{ "sec": 3600, "temp": 1.0 }]),
                "readings.0 has a sec that is no whole microsecond",
            ),
            (
                "readings",
                bson!([{ "sec": 1, "temp": 1.0 }, { "sec": 1.000_000_000_1, "temp": 1.0 }]),
                "readings.1.sec is 1.0000000001, which is not exact",
            ),
        ] {
            let told = told(&changed(path, value));
            let [(FlawKind::Damaged, told)] = &told[..] else {
                panic!("{path}: {told:?}");
            };
            assert!(told.starts_with(reason), "{path}: {told}");
        }
        for field in ["rev", "by", "count", "computed", "readings"] {
            let mut document = whole();
            document.remove(field);
            let told = told(&document);
            assert!(
                matches!(&told[..], [(FlawKind::Damaged, reason)] if reason.starts_with(field)),
                "{field}: {told:?}"
            );
        }
    }

    #[test]
    fn a_field_that_stands_twice_is_told() {
        let mut document = RawDocumentBuf::try_from(&whole()).unwrap();
        document.append(::mongodb::bson::raw::cstr!("full"), true);
        document.append(::mongodb::bson::raw::cstr!("full"), true);
        let flaws = examine(&document).flaws;
        assert!(matches!(&flaws[..], [flaw] if flaw.reason == "full stands twice"));
    }

    #[test]
    fn a_document_whose_fields_cannot_be_read_still_names_its_bucket() {
        let document = RawDocumentBuf::try_from(&changed("count", bson!("1"))).unwrap();
        let examined = examine(&document);
        assert!(examined.part.is_none());
        assert_eq!(examined.key.unwrap().to_string(), "S1|1970-01-01T01");
    }
}
