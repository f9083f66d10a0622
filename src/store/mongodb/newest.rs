//! The newest bucket of many sensors.

use ::mongodb::bson::{Document, RawDocument, doc};

use super::connection::Connection;
use super::failure::corrupt;
use super::indexes::hours_index;
use super::read::load;
use crate::model::{BucketKey, HourStart, SensorId};
use crate::store::{StoreError, StoredBucket};

const MILLIS_PER_HOUR: i64 = 3_600_000;

/// Two round trips whatever the number of sensors: the newest hour of each from
/// the index, then those buckets.
pub(super) async fn newest(
    connection: &Connection,
    sensors: &[SensorId],
) -> Result<Vec<StoredBucket>, StoreError> {
    if sensors.is_empty() {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let aggregate = || {
        let aggregate = ready.buckets.aggregate(bounds_of(sensors, -1));
        aggregate
            .hint(::mongodb::options::Hint::Keys(hours_index()))
            .batch_size(1_000_000)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(aggregate).await?;
    let mut keys = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        keys.push(bounds_key(cursor.current())?);
    }
    keys.sort_unstable();
    Ok(load(connection, &keys)
        .await?
        .into_iter()
        .flatten()
        .collect())
}

/// The index read forwards (1) or backwards (-1): the first key of each sensor is
/// its oldest or newest hour, and the server skips the others.
pub(super) fn bounds_of(sensors: &[SensorId], direction: i32) -> [Document; 3] {
    let ids: Vec<&str> = sensors.iter().map(SensorId::as_str).collect();
    [
        doc! { "$match": { "sensorId": { "$in": ids } } },
        doc! { "$sort": { "sensorId": direction, "hour": direction } },
        doc! { "$group": { "_id": "$sensorId", "hour": { "$first": "$hour" } } },
    ]
}

/// A row of [`bounds_of`].
pub(super) fn bounds_key(row: &RawDocument) -> Result<BucketKey, StoreError> {
    let bad = |field: &str| {
        let what = format!("the buckets of {:?}", row.get_str("_id").unwrap_or("?"));
        corrupt(what, format!("{field} is unreadable"))
    };
    let sensor = row
        .get_str("_id")
        .ok()
        .and_then(|id| SensorId::new(id).ok());
    let hour = row
        .get_datetime("hour")
        .ok()
        .and_then(|date| i32::try_from(date.timestamp_millis().div_euclid(MILLIS_PER_HOUR)).ok());
    Ok(BucketKey {
        sensor: sensor.ok_or_else(|| bad("sensorId"))?,
        hour: HourStart::from_hours(hour.ok_or_else(|| bad("hour"))?),
    })
}
