//! Documents of `sensors`: field names, the way in and the way out.
//!
//! An attribute whose text is a number stands in `attrs` twice, as `{k, v: text}`
//! and as `{k, v: double}`: texts and numbers are apart in one index, so it
//! answers equality and prefixes of texts and ranges of numbers. Only the texts
//! are read back.

use std::collections::BTreeMap;

use ::mongodb::bson::{Bson, DateTime, Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc};

use super::document::hour_date;
use super::failure::corrupt;
use crate::model::{
    HourStart, Keep, MeasureName, Micros, RecentReading, Retention, SensorDetails, SensorId,
    SiteCopy, SiteId, Tags, attribute_number, escape_field, unescape_field,
};
use crate::store::{RecordVersion, StoreError, StoredRecent, StoredSensor};

pub(super) const MICROS_PER_MILLI: i64 = 1000;
const MILLIS_PER_HOUR: i64 = 3_600_000;

/// An instant as a BSON date, finer digits cut.
pub(super) fn date(at: Micros) -> DateTime {
    DateTime::from_millis(at.get().div_euclid(MICROS_PER_MILLI))
}

/// Attributes as texts, `{k, v}` each.
pub(super) fn texts(attributes: &Tags) -> RawArrayBuf {
    let pairs = attributes.iter().map(|(k, v)| rawdoc! { "k": k, "v": v });
    pairs.collect()
}

/// Those of them that are numbers, as numbers.
pub(super) fn numbers(attributes: &Tags) -> RawArrayBuf {
    let numbers = attributes
        .iter()
        .filter_map(|(k, v)| Some(rawdoc! { "k": k, "v": attribute_number(v)? }));
    numbers.collect()
}

/// `recent`: newest first; microseconds below the millisecond stand apart, where
/// there are any.
pub(super) fn recent(readings: &[RecentReading]) -> RawArrayBuf {
    let reading = |reading: &RecentReading| {
        let mut document = rawdoc! { "at": date(reading.at) };
        let micros = reading.at.get().rem_euclid(MICROS_PER_MILLI);
        if micros != 0 {
            let micros = i32::try_from(micros).expect("a millisecond has 1,000 microseconds");
            document.append(::mongodb::bson::raw::cstr!("us"), micros);
        }
        let mut values = RawDocumentBuf::new();
        for (name, value) in &reading.values {
            values.append(
                super::document::field(escape_field(name).into_owned()),
                *value,
            );
        }
        document.append(::mongodb::bson::raw::cstr!("v"), values);
        document
    };
    readings.iter().map(reading).collect()
}

/// What a sensor carries of its site.
pub(super) fn site_copy(copy: &SiteCopy) -> Document {
    let mut document = doc! { "id": copy.id.as_str() };
    for (name, value) in [("name", &copy.name), ("city", &copy.city)] {
        if let Some(value) = value {
            document.insert(name, &**value);
        }
    }
    document.insert("rev", copy.rev);
    document
}

/// `retention`; `None` where nothing is said.
pub(super) fn retention(retention: Retention) -> Option<Document> {
    let mut document = Document::new();
    for (name, keep) in [("hours", retention.hours), ("readings", retention.readings)] {
        let value = match keep {
            None => continue,
            Some(Keep::Forever) => Bson::String("forever".to_owned()),
            Some(Keep::Seconds(seconds)) => Bson::Int64(i64::try_from(seconds).unwrap_or(i64::MAX)),
        };
        document.insert(name, value);
    }
    (!document.is_empty()).then_some(document)
}

/// What people say of a sensor, but for its site and its attributes; `None` where
/// they say nothing.
pub(super) fn details(details: &SensorDetails) -> [(&'static str, Option<Bson>); 4] {
    let text = |text: &Option<Box<str>>| text.as_deref().map(Bson::from);
    let units: Document = details
        .units
        .iter()
        .map(|(name, unit)| (escape_field(name).into_owned(), Bson::from(&**unit)))
        .collect();
    [
        ("name", text(&details.name)),
        ("model", text(&details.model)),
        ("units", (!units.is_empty()).then(|| Bson::from(units))),
        ("retention", retention(details.retention).map(Bson::from)),
    ]
}

/// Reads the document of a sensor.
pub(super) fn decode(document: &Document) -> Result<StoredSensor, StoreError> {
    let id = document.get_str("_id").unwrap_or_default();
    let bad = |reason: &str| corrupt(format!("sensor {id:?}"), reason);
    let last_seen = match document.get("lastSeen") {
        None => None,
        Some(seen) => Some(micros(seen, 0).ok_or_else(|| bad("lastSeen is no date"))?),
    };
    let attributes =
        attributes(document).ok_or_else(|| bad("attrs is no list of {k: text, v: text}"))?;
    let raw_dropped_before = match document.get("rawDroppedBefore") {
        None => None,
        Some(before) => Some(hour(before).ok_or_else(|| bad("rawDroppedBefore is no hour"))?),
    };
    Ok(StoredSensor {
        id: SensorId::new(id).map_err(|_| bad("_id is no sensor id"))?,
        last_seen,
        details: decode_details(document, &attributes)
            .map_err(|field| bad(&format!("{field} is unreadable")))?,
        attributes,
        version: version(document, "rev", "by").map_err(|()| bad("rev or by is no integer"))?,
        recent: StoredRecent {
            version: version(document, "recentRev", "recentBy")
                .map_err(|()| bad("recentRev or recentBy is no integer"))?,
            readings: decode_recent(document)
                .ok_or_else(|| bad("recent is no list of {at: date, v: {measure: number}}"))?,
        },
        raw_dropped_before,
    })
}

/// A version in two fields; `None` where there is none.
pub(super) fn version(
    document: &Document,
    rev: &str,
    by: &str,
) -> Result<Option<RecordVersion>, ()> {
    match (document.get(rev), document.get(by)) {
        (None, None) => Ok(None),
        (Some(rev), Some(by)) => match (integer(rev), integer(by)) {
            (Some(rev), Some(by)) => Ok(Some(RecordVersion { rev, by })),
            _ => Err(()),
        },
        _ => Err(()),
    }
}

pub(super) fn integer(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some(i64::from(*number)),
        Bson::Int64(number) => Some(*number),
        // Shells write small numbers as doubles.
        Bson::Double(number) if number.fract() == 0.0 && number.abs() <= 9e15 => {
            Some(*number as i64)
        }
        _ => None,
    }
}

fn micros(date: &Bson, more: i64) -> Option<Micros> {
    let millis = date.as_datetime()?.timestamp_millis();
    let micros = millis.checked_mul(MICROS_PER_MILLI)?.checked_add(more)?;
    Micros::new(micros).ok()
}

fn hour(date: &Bson) -> Option<HourStart> {
    let millis = date.as_datetime()?.timestamp_millis();
    let hour = HourStart::from_hours(i32::try_from(millis.div_euclid(MILLIS_PER_HOUR)).ok()?);
    (hour_date(hour).timestamp_millis() == millis).then_some(hour)
}

fn attributes(document: &Document) -> Option<Tags> {
    let Some(attrs) = document.get("attrs") else {
        return Some(Tags::default());
    };
    let mut pairs = Vec::new();
    for pair in attrs.as_array()? {
        let pair = pair.as_document()?;
        let key = pair.get_str("k").ok()?;
        match pair.get("v")? {
            Bson::String(text) => pairs.push((key, text.as_str())),
            // The number of a text beside it.
            Bson::Double(_) | Bson::Int32(_) | Bson::Int64(_) => {}
            _ => return None,
        }
    }
    Some(Tags::new(pairs))
}

fn decode_details(document: &Document, attributes: &Tags) -> Result<SensorDetails, &'static str> {
    let text = |name: &'static str| optional_text(document, name);
    let mut units = BTreeMap::new();
    if let Some(listed) = document.get("units") {
        for (field, unit) in listed.as_document().ok_or("units")? {
            let name: MeasureName = unescape_field(field).ok_or("units")?;
            units.insert(name, unit.as_str().ok_or("units")?.into());
        }
    }
    let site = document.get("site").map(decode_copy);
    let set: Vec<&str> = match document.get("attrsSet") {
        None => Vec::new(),
        Some(keys) => {
            let keys = keys.as_array().ok_or("attrsSet")?;
            let keys: Option<Vec<&str>> = keys.iter().map(Bson::as_str).collect();
            keys.ok_or("attrsSet")?
        }
    };
    let set = set
        .into_iter()
        .filter_map(|key| Some((key, attributes.get(key)?)));
    Ok(SensorDetails {
        name: text("name")?,
        model: text("model")?,
        units,
        site: site.transpose()?,
        attributes: Tags::new(set),
        retention: decode_retention(document)?,
    })
}

/// A text that may not be there.
pub(super) fn optional_text(
    document: &Document,
    name: &'static str,
) -> Result<Option<Box<str>>, &'static str> {
    match document.get(name) {
        None | Some(Bson::Null) => Ok(None),
        Some(Bson::String(text)) => Ok(Some(text.as_str().into())),
        Some(_) => Err(name),
    }
}

fn decode_copy(copy: &Bson) -> Result<SiteCopy, &'static str> {
    let copy = copy.as_document().ok_or("site")?;
    Ok(SiteCopy {
        id: SiteId::new(copy.get_str("id").map_err(|_| "site.id")?).map_err(|_| "site.id")?,
        name: optional_text(copy, "name")?,
        city: optional_text(copy, "city")?,
        rev: copy.get("rev").and_then(integer).ok_or("site.rev")?,
    })
}

/// `retention` of a sensor or a site.
pub(super) fn decode_retention(document: &Document) -> Result<Retention, &'static str> {
    let Some(stored) = document.get("retention") else {
        return Ok(Retention::default());
    };
    let stored = stored.as_document().ok_or("retention")?;
    let keep = |name: &str| match stored.get(name) {
        None => Ok(None),
        Some(Bson::String(text)) if text == "forever" => Ok(Some(Keep::Forever)),
        Some(value) => integer(value)
            .and_then(|seconds| u64::try_from(seconds).ok())
            .map(|seconds| Some(Keep::Seconds(seconds)))
            .ok_or("retention"),
    };
    Ok(Retention {
        hours: keep("hours")?,
        readings: keep("readings")?,
    })
}

fn decode_recent(document: &Document) -> Option<Vec<RecentReading>> {
    let Some(readings) = document.get("recent") else {
        return Some(Vec::new());
    };
    let reading = |reading: &Bson| {
        let reading = reading.as_document()?;
        let more = reading.get("us").map_or(Some(0), integer)?;
        let mut values = Vec::new();
        for (field, value) in reading.get_document("v").ok()? {
            let value = match value {
                Bson::Double(number) => *number,
                other => integer(other)? as f64,
            };
            values.push((unescape_field(field)?, value));
        }
        values.sort_by(|a: &(MeasureName, f64), b| a.0.cmp(&b.0));
        Some(RecentReading {
            at: micros(reading.get("at")?, more)?,
            values,
        })
    };
    readings.as_array()?.iter().map(reading).collect()
}
