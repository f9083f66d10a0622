//! What is known of sensors: `lastSeen` and `attrs` in `sensors`, `_id` being the
//! sensor id as it is. A BSON date has milliseconds; finer digits are cut.
//!
//! Attributes are merged by key inside the server, in the one update of the
//! document: two processes that tell different keys lose none.

use ::mongodb::bson::{Bson, DateTime, Document, RawArrayBuf, RawDocumentBuf, doc, rawdoc};

use super::connection::Connection;
use super::failure::{corrupt, unavailable};
use super::indexes::SENSORS;
use super::reply::UpdateReply;
use super::statement::{split, update_command};
use crate::model::{ATTRIBUTES_MAX, Micros, SensorId, Tags};
use crate::store::{SensorTold, StoreError, StoredSensor, WriteOutcome};

const MICROS_PER_MILLI: i64 = 1000;

/// How often statements are repeated that met another process making the same
/// sensor at the same moment.
const TRIES_MAX: usize = 3;

/// Raises `lastSeen`, which `$max` never moves back, and merges `attrs`.
pub(super) async fn touch(
    connection: &Connection,
    seen: &[SensorTold],
) -> Result<Vec<WriteOutcome>, StoreError> {
    if seen.is_empty() {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let statements = seen.iter().map(statement).collect();
    for run in split(statements, |s: &RawDocumentBuf| s.as_bytes().len()) {
        let mut tries = 0;
        loop {
            let command = update_command(SENSORS, run.iter().cloned());
            let reply = connection
                .bounded(ready.database.run_raw_command(command))
                .await?;
            let mut reply = UpdateReply::read(&reply)?;
            if let Some((_, error)) = reply.failed.pop_first() {
                return Err(error);
            }
            if reply.duplicates.is_empty() {
                break;
            }
            tries += 1;
            if tries == TRIES_MAX {
                return Err(unavailable(
                    "sensors are being made elsewhere at this moment",
                ));
            }
        }
    }
    Ok(seen.iter().map(|_| WriteOutcome::Stored).collect())
}

fn statement(seen: &SensorTold) -> RawDocumentBuf {
    let millis = seen
        .last_seen
        .unwrap_or(Micros::MIN)
        .get()
        .div_euclid(MICROS_PER_MILLI);
    let last_seen = DateTime::from_millis(millis);
    let id = seen.sensor.as_str();
    if seen.attributes.is_empty() {
        return rawdoc! {
            "q": { "_id": id },
            "u": { "$max": { "lastSeen": last_seen } },
            "upsert": true,
        };
    }
    let change = rawdoc! {
        "$set": {
            "lastSeen": { "$max": ["$lastSeen", last_seen] },
            "attrs": merged_attributes(&seen.attributes),
        },
    };
    rawdoc! { "q": { "_id": id }, "u": [change], "upsert": true }
}

/// An expression: the document's `attrs` with `told` merged in by key, sorted by
/// key. At the bound what is there stays and is updated, and new keys are not
/// taken.
fn merged_attributes(told: &Tags) -> RawDocumentBuf {
    let pairs = told.iter().map(|(k, v)| rawdoc! { "k": k, "v": v });
    let pairs: RawArrayBuf = pairs.collect();
    let told_of_same_key = rawdoc! {
        "$first": {
            "$filter": { "input": "$$told", "as": "t", "cond": { "$eq": ["$$t.k", "$$old.k"] } },
        },
    };
    let updated = rawdoc! {
        "$map": {
            "input": "$$there",
            "as": "old",
            "in": { "$ifNull": [told_of_same_key, "$$old"] },
        },
    };
    let new = rawdoc! {
        "$filter": {
            "input": "$$told",
            "as": "t",
            "cond": { "$not": [{ "$in": ["$$t.k", "$$there.k"] }] },
        },
    };
    let all = rawdoc! { "$concatArrays": [updated, new] };
    let keys_max = i32::try_from(ATTRIBUTES_MAX).unwrap_or(i32::MAX);
    let kept = rawdoc! { "$slice": [all, keys_max] };
    rawdoc! {
        "$let": {
            "vars": {
                "there": { "$cond": [{ "$isArray": "$attrs" }, "$attrs", []] },
                // A literal: a text that begins with `$` is no path here.
                "told": { "$literal": pairs },
            },
            "in": { "$sortArray": { "input": kept, "sortBy": { "k": 1 } } },
        },
    }
}

/// At most `limit` sensors above `after`, ordered by id. Strings compare as
/// bytes, as the collection has no collation.
pub(super) async fn sensors(
    connection: &Connection,
    after: Option<&SensorId>,
    limit: usize,
) -> Result<Vec<StoredSensor>, StoreError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let mut filter = doc! { "lastSeen": { "$type": "date" } };
    if let Some(after) = after {
        filter.insert("_id", doc! { "$gt": after.as_str() });
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let find = || {
        let find = ready.sensors.find(filter.clone());
        find.sort(doc! { "_id": 1 })
            .limit(limit)
            .projection(doc! { "lastSeen": 1, "attrs": 1 })
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let mut sensors = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        let document = cursor.deserialize_current();
        sensors.push(decode(
            &document.map_err(|e| corrupt("a sensor", e.to_string()))?,
        )?);
    }
    Ok(sensors)
}

fn decode(document: &Document) -> Result<StoredSensor, StoreError> {
    let id = document.get_str("_id").unwrap_or_default();
    let bad = |reason: &str| corrupt(format!("sensor {id:?}"), reason);
    let last_seen = document
        .get_datetime("lastSeen")
        .ok()
        .and_then(|date| date.timestamp_millis().checked_mul(MICROS_PER_MILLI))
        .and_then(|micros| Micros::new(micros).ok());
    Ok(StoredSensor {
        id: SensorId::new(id).map_err(|_| bad("_id is no sensor id"))?,
        last_seen: Some(last_seen.ok_or_else(|| bad("lastSeen is no date"))?),
        details: crate::model::SensorDetails::default(),
        version: None,
        recent: crate::store::StoredRecent::default(),
        raw_dropped_before: None,
        attributes: attributes(document)
            .ok_or_else(|| bad("attrs is no list of {k: text, v: text}"))?,
    })
}

fn attributes(document: &Document) -> Option<Tags> {
    let Some(attrs) = document.get("attrs") else {
        return Some(Tags::default());
    };
    let pairs: Option<Vec<_>> = attrs.as_array()?.iter().map(attribute).collect();
    Some(Tags::new(pairs?))
}

fn attribute(pair: &Bson) -> Option<(&str, &str)> {
    let pair = pair.as_document()?;
    Some((pair.get_str("k").ok()?, pair.get_str("v").ok()?))
}
