//! When sensors were last heard of: `lastSeen` in `sensors`, `_id` being the
//! sensor id as it is. A BSON date has milliseconds; finer digits are cut.

use ::mongodb::bson::{DateTime, Document, RawDocumentBuf, doc, rawdoc};

use super::connection::Connection;
use super::failure::{corrupt, unavailable};
use super::indexes::SENSORS;
use super::reply::UpdateReply;
use super::statement::{split, update_command};
use crate::model::{Micros, SensorId};
use crate::store::{SensorSeen, StoreError};

const MICROS_PER_MILLI: i64 = 1000;

/// How often statements are repeated that met another process making the same
/// sensor at the same moment.
const TRIES_MAX: usize = 3;

/// Raises `lastSeen`; `$max` never moves it back.
pub(super) async fn touch(connection: &Connection, seen: &[SensorSeen]) -> Result<(), StoreError> {
    if seen.is_empty() {
        return Ok(());
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
    Ok(())
}

fn statement(seen: &SensorSeen) -> RawDocumentBuf {
    let millis = seen.last_seen.get().div_euclid(MICROS_PER_MILLI);
    rawdoc! {
        "q": { "_id": seen.sensor.as_str() },
        "u": { "$max": { "lastSeen": DateTime::from_millis(millis) } },
        "upsert": true,
    }
}

/// At most `limit` sensors above `after`, ordered by id. Strings compare as
/// bytes, as the collection has no collation.
pub(super) async fn sensors(
    connection: &Connection,
    after: Option<&SensorId>,
    limit: usize,
) -> Result<Vec<SensorSeen>, StoreError> {
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
            .projection(doc! { "lastSeen": 1 })
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

fn decode(document: &Document) -> Result<SensorSeen, StoreError> {
    let id = document.get_str("_id").unwrap_or_default();
    let bad = |reason: &str| corrupt(format!("sensor {id:?}"), reason);
    let last_seen = document
        .get_datetime("lastSeen")
        .ok()
        .and_then(|date| date.timestamp_millis().checked_mul(MICROS_PER_MILLI))
        .and_then(|micros| Micros::new(micros).ok());
    Ok(SensorSeen {
        sensor: SensorId::new(id).map_err(|_| bad("_id is no sensor id"))?,
        last_seen: last_seen.ok_or_else(|| bad("lastSeen is no date"))?,
    })
}
