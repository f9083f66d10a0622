//! Documents as buckets: the way out. Numbers are taken in any numeric type, as
//! people edit with shells; anything else that does not fit is
//! [`StoreError::Corrupt`] with `_id` and field.

use std::collections::{BTreeMap, HashMap};

use ::mongodb::bson::{RawArray, RawBsonRef, RawDocument};

use super::document::{hour_date, part_id};
use super::failure::corrupt;
use crate::bucket::{Computed, Elements, Stats, Sum};
use crate::model::{
    BucketKey, HourStart, MeasureName, SensorId, is_sum_field, sum_field, unescape_field,
};
use crate::store::{BucketVersion, StoreError, StoredPart};

const MILLIS_PER_HOUR: i64 = 3_600_000;
const MICROS_PER_HOUR: f64 = 3.6e9;

/// One part and the bucket it belongs to.
#[derive(Debug, PartialEq)]
pub(super) struct DecodedPart {
    /// The bucket.
    pub(super) key: BucketKey,
    /// The part.
    pub(super) part: StoredPart,
}

/// One part without its readings, as the index answers it.
#[derive(Debug, PartialEq)]
pub(super) struct DecodedSummary {
    /// The bucket.
    pub(super) key: BucketKey,
    /// The part's version.
    pub(super) version: BucketVersion,
    /// Its computed fields.
    pub(super) computed: Computed,
}

/// Reads the document of a part.
pub(super) fn decode_part(document: &RawDocument) -> Result<DecodedPart, StoreError> {
    let fields = Fields::read(document)?;
    let what = fields.what();
    let bad = |field: &str, reason: &str| corrupt(&what, format!("{field} {reason}"));
    let summary = fields.summary()?;
    let id = fields.id.ok_or_else(|| bad("_id", "is missing"))?;
    let expected = part_id(&summary.key.sensor, summary.key.hour, summary.version.part);
    if id != expected {
        let reason = format!("does not belong to its sensorId, hour and part ({expected})");
        return Err(bad("_id", &reason));
    }
    let elements = match fields.readings {
        None if fields.raw_dropped => Elements::default(),
        None => return Err(bad("readings", "is no array")),
        Some(readings) => decode_readings(readings).map_err(|(at, reason)| {
            let field = format!("readings.{at}");
            bad(&field, reason)
        })?,
    };
    let stray_fields = fields.stray_sums(&summary.computed);
    Ok(DecodedPart {
        key: summary.key,
        part: StoredPart {
            version: summary.version,
            full: fields.full,
            raw_dropped: fields.raw_dropped,
            bytes: document.as_bytes().len(),
            computed: summary.computed,
            stray_fields,
            elements,
        },
    })
}

/// Reads what the index holds of a part.
pub(super) fn decode_summary(document: &RawDocument) -> Result<DecodedSummary, StoreError> {
    Fields::read(document)?.summary()
}

/// The bucket that a document's fields name, whatever else stands in it.
pub(super) fn decode_key(document: &RawDocument) -> Option<BucketKey> {
    let fields = Fields::read(document).ok()?;
    Some(BucketKey {
        sensor: SensorId::new(fields.sensor?).ok()?,
        hour: whole_hour(fields.hour?)?,
    })
}

/// Top-level fields by name, as they are.
#[derive(Default)]
struct Fields<'a> {
    id: Option<&'a str>,
    sensor: Option<&'a str>,
    hour: Option<i64>,
    part: Option<i64>,
    rev: Option<i64>,
    by: Option<i64>,
    count: Option<i64>,
    readings: Option<&'a RawArray>,
    computed: Option<&'a RawDocument>,
    full: bool,
    raw_dropped: bool,
    sums: BTreeMap<&'a str, Option<f64>>,
}

impl<'a> Fields<'a> {
    fn read(document: &'a RawDocument) -> Result<Self, StoreError> {
        let mut fields = Self::default();
        for field in document.iter() {
            let (name, value) = field.map_err(|error| corrupt(fields.what(), error.to_string()))?;
            match name.as_str() {
                "_id" => fields.id = value.as_str(),
                "sensorId" => fields.sensor = value.as_str(),
                "hour" => fields.hour = value.as_datetime().map(|date| date.timestamp_millis()),
                "part" => fields.part = integer(value),
                "rev" => fields.rev = integer(value),
                "by" => fields.by = integer(value),
                "count" => fields.count = integer(value),
                "readings" => fields.readings = value.as_array(),
                "computed" => fields.computed = value.as_document(),
                "full" => fields.full = value.as_bool() == Some(true),
                "rawDropped" => fields.raw_dropped = value.as_bool() == Some(true),
                other if is_sum_field(other) => {
                    fields.sums.insert(name.as_str(), number(value));
                }
                _ => {}
            }
        }
        Ok(fields)
    }

    /// How an error names the document.
    fn what(&self) -> String {
        match (self.id, self.sensor) {
            (Some(id), _) => format!("document {id:?}"),
            (None, Some(sensor)) => format!("a document of sensor {sensor:?}"),
            (None, None) => "a document".to_owned(),
        }
    }

    fn summary(&self) -> Result<DecodedSummary, StoreError> {
        let bad = |field: &str, reason: &str| corrupt(self.what(), format!("{field} {reason}"));
        let sensor = self
            .sensor
            .and_then(|id| SensorId::new(id).ok())
            .ok_or_else(|| bad("sensorId", "is no sensor id"))?;
        let hour = self
            .hour
            .and_then(whole_hour)
            .ok_or_else(|| bad("hour", "is no date of a whole hour"))?;
        let part = self
            .part
            .and_then(|part| u32::try_from(part).ok())
            .ok_or_else(|| bad("part", "is no whole number from 0"))?;
        let rev = self.rev.ok_or_else(|| bad("rev", "is no whole number"))?;
        let by = self.by.ok_or_else(|| bad("by", "is no whole number"))?;
        let count = self
            .count
            .and_then(|count| u64::try_from(count).ok())
            .ok_or_else(|| bad("count", "is no whole number from 0"))?;
        let measures = self
            .computed
            .ok_or_else(|| bad("computed", "is no document"))
            .and_then(|computed| {
                decode_computed(computed).map_err(|(name, reason)| {
                    let field = format!("computed.{name}");
                    bad(&field, reason)
                })
            })?;
        Ok(DecodedSummary {
            key: BucketKey { sensor, hour },
            version: BucketVersion { part, rev, by },
            computed: Computed { count, measures },
        })
    }

    /// Sums that are missing, differ, or belong to no measure of `computed`.
    fn stray_sums(&self, computed: &Computed) -> Vec<String> {
        let mut expected: BTreeMap<String, f64> = BTreeMap::new();
        for (name, stats) in &computed.measures {
            expected.insert(sum_field(name), stats.sum.value());
        }
        let unknown = self
            .sums
            .keys()
            .filter(|name| !expected.contains_key(**name))
            .map(|name| (*name).to_owned());
        let mut stray: Vec<String> = expected
            .iter()
            .filter(|(name, sum)| self.sums.get(name.as_str()) != Some(&Some(**sum)))
            .map(|(name, _)| name.clone())
            .chain(unknown)
            .collect();
        stray.sort_unstable();
        stray
    }
}

fn decode_computed(
    computed: &RawDocument,
) -> Result<BTreeMap<MeasureName, Stats>, (String, &'static str)> {
    let mut measures = BTreeMap::new();
    for field in computed.iter() {
        let (field, value) = field.map_err(|_| (String::new(), "is no BSON"))?;
        let bad = |reason| (field.as_str().to_owned(), reason);
        let name = unescape_field(field.as_str()).ok_or_else(|| bad("names no measure"))?;
        let stats = value.as_document().ok_or_else(|| bad("is no document"))?;
        let get = |name: &str| stats.get(name).ok().flatten();
        let count = get("count")
            .and_then(integer)
            .and_then(|count| u64::try_from(count).ok())
            .ok_or_else(|| bad("has no count"))?;
        let sum = get("sum")
            .and_then(number)
            .ok_or_else(|| bad("has no sum"))?;
        let min = get("min")
            .and_then(number)
            .ok_or_else(|| bad("has no min"))?;
        let max = get("max")
            .and_then(number)
            .ok_or_else(|| bad("has no max"))?;
        measures.insert(
            name,
            Stats {
                count,
                sum: Sum::from_value(sum),
                min,
                max,
            },
        );
    }
    Ok(measures)
}

fn decode_readings(readings: &RawArray) -> Result<Elements, (usize, &'static str)> {
    let mut names: HashMap<&str, MeasureName> = HashMap::new();
    let mut elements = Elements::default();
    let mut values: Vec<(MeasureName, f64)> = Vec::new();
    for (at, reading) in readings.into_iter().enumerate() {
        let bad = |reason| (at, reason);
        let reading = reading
            .ok()
            .and_then(RawBsonRef::as_document)
            .ok_or_else(|| bad("is no document"))?;
        let mut offset = None;
        values.clear();
        for field in reading.iter() {
            let (field, value) = field.map_err(|_| bad("is no BSON"))?;
            let value = number(value).ok_or_else(|| bad("holds what is no number"))?;
            if field.as_str() == "sec" {
                offset = Some(sec_to_offset(value).ok_or_else(|| {
                    bad("has a sec that is no whole microsecond from 0 to below 3600 s")
                })?);
                continue;
            }
            let name = match names.get(field.as_str()) {
                Some(name) => name.clone(),
                None => {
                    let name = unescape_field(field.as_str())
                        .ok_or_else(|| bad("has a field that names no measure"))?;
                    names.insert(field.as_str(), name.clone());
                    name
                }
            };
            values.push((name, value));
        }
        let offset = offset.ok_or_else(|| bad("has no sec"))?;
        elements.push(offset, values.iter().map(|(name, value)| (name, *value)));
    }
    Ok(elements)
}

/// Microseconds of `sec`, where it is a whole number of them within an hour.
pub(super) fn sec_to_offset(sec: f64) -> Option<u32> {
    let micros = sec * 1e6;
    let whole = micros.round();
    // The product of the nearest double is off by less than 1e-6 of a
    // microsecond; a thousandth tells that from a finer time.
    let fits = (0.0..MICROS_PER_HOUR).contains(&whole) && (micros - whole).abs() < 1e-3;
    fits.then_some(whole as u32)
}

fn whole_hour(millis: i64) -> Option<HourStart> {
    let hour = HourStart::from_hours(i32::try_from(millis.div_euclid(MILLIS_PER_HOUR)).ok()?);
    (hour_date(hour).timestamp_millis() == millis).then_some(hour)
}

/// Any numeric type as a whole number.
pub(super) fn integer(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(i64::from(number)),
        RawBsonRef::Int64(number) => Some(number),
        // Beyond 2^53 a double no longer says which integer it was.
        RawBsonRef::Double(number) if number.fract() == 0.0 && number.abs() <= 9e15 => {
            Some(number as i64)
        }
        _ => None,
    }
}

/// Any numeric type as a finite double.
pub(super) fn number(value: RawBsonRef<'_>) -> Option<f64> {
    match value {
        RawBsonRef::Double(number) if number.is_finite() => Some(number),
        RawBsonRef::Int32(number) => Some(f64::from(number)),
        RawBsonRef::Int64(number) => Some(number as f64),
        _ => None,
    }
}
