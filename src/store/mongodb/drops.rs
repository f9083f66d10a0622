//! Whole hours that go, or their readings, by ranges of the index.

use ::mongodb::bson::raw::cstr;
use ::mongodb::bson::{RawDocumentBuf, rawdoc};

use super::connection::Connection;
use super::document::hour_date;
use super::indexes::{BUCKETS, SENSORS, hours_index};
use super::newest::{bounds_key, bounds_of};
use super::plain::{delete, update};
use crate::model::{HourStart, SensorId};
use crate::store::{SensorHoursRange, StoreError};

/// The oldest hour of each sensor, from the index alone.
pub(super) async fn oldest_hours(
    connection: &Connection,
    sensors: &[SensorId],
) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
    if sensors.is_empty() {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let aggregate = || {
        let aggregate = ready.buckets.aggregate(bounds_of(sensors, 1));
        aggregate
            .hint(::mongodb::options::Hint::Keys(hours_index()))
            .batch_size(1_000_000)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(aggregate).await?;
    let mut oldest = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        let key = bounds_key(cursor.current())?;
        oldest.push((key.sensor, key.hour));
    }
    oldest.sort_unstable();
    Ok(oldest)
}

fn hours(range: &SensorHoursRange) -> RawDocumentBuf {
    rawdoc! {
        "sensorId": range.sensor.as_str(),
        "hour": { "$gte": hour_date(range.hours.from), "$lt": hour_date(range.hours.to) },
    }
}

/// Removes the documents of these hours.
pub(super) async fn drop_hours(
    connection: &Connection,
    ranges: &[SensorHoursRange],
) -> Result<u64, StoreError> {
    let ranges = ranges.iter().filter(|range| !range.hours.is_empty());
    let statements: Vec<_> = ranges
        .map(|range| rawdoc! { "q": hours(range), "limit": 0 })
        .collect();
    delete(connection, BUCKETS, statements).await
}

/// Drops the readings of these hours, then notes how far in the sensors.
pub(super) async fn drop_readings(
    connection: &Connection,
    ranges: &[SensorHoursRange],
    by: i64,
) -> Result<u64, StoreError> {
    let ranges: Vec<&SensorHoursRange> = ranges.iter().filter(|r| !r.hours.is_empty()).collect();
    let drops = ranges.iter().map(|range| {
        let mut with_readings = hours(range);
        with_readings.append(cstr!("readings"), rawdoc! { "$exists": true });
        rawdoc! {
            "q": with_readings,
            "u": {
                "$unset": { "readings": "" },
                "$set": { "rawDropped": true, "by": by },
                "$inc": { "rev": 1_i64 },
            },
            "multi": true,
        }
    });
    let dropped = update(connection, BUCKETS, drops.collect()).await?;
    let notes = ranges.iter().map(|range| {
        rawdoc! {
            "q": { "_id": range.sensor.as_str() },
            "u": { "$max": { "rawDroppedBefore": hour_date(range.hours.to) } },
            "upsert": true,
        }
    });
    update(connection, SENSORS, notes.collect()).await?;
    Ok(dropped)
}
