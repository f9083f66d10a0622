//! Loading buckets and reading hours.

use std::collections::{BTreeMap, HashMap};

use ::mongodb::bson::{DateTime, Document, doc};

use super::connection::Connection;
use super::decode::{DecodedPart, decode_part, decode_summary};
use super::document::hour_date;
use super::failure::corrupt;
use super::indexes::hours_projection;
use crate::model::{BucketKey, HourRange, SensorId};
use crate::store::{HourSummary, StoreError, StoredBucket, StoredPart};

/// Keys of one find: its filter, at up to 200 bytes a key, stays a small
/// fraction of the 16 MB that a command may have.
const KEYS_PER_FIND_MAX: usize = 10_000;

/// Documents of one batch; a reply ends at 16 MB all the same.
const BATCH_DOCUMENTS: u32 = 1_000_000;

/// How often a bucket is read again when its parts do not fit together.
const READS_AGAIN_MAX: usize = 3;

/// Loads buckets, in the order of `keys`.
pub(super) async fn load(
    connection: &Connection,
    keys: &[BucketKey],
) -> Result<Vec<Option<StoredBucket>>, StoreError> {
    let mut found = HashMap::with_capacity(keys.len());
    for keys in keys.chunks(KEYS_PER_FIND_MAX) {
        for (key, parts) in find_parts(connection, keys).await? {
            let bucket = match join(key, parts) {
                Ok(bucket) => bucket,
                Err(torn) => load_again(connection, torn).await?,
            };
            found.insert(bucket.key.clone(), bucket);
        }
    }
    Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
}

/// Parts that do not make a bucket.
#[derive(Debug)]
pub(super) struct Torn {
    pub(super) key: BucketKey,
    reason: &'static str,
}

/// Joins the parts of a bucket. A part is closed before the next one opens, so
/// an open one before the last was read in an older state than the last.
pub(super) fn join(key: BucketKey, mut parts: Vec<StoredPart>) -> Result<StoredBucket, Torn> {
    parts.sort_by_key(|part| part.version.part);
    let numbers = parts.iter().map(|part| part.version.part);
    if !numbers.eq(0..u32::try_from(parts.len()).unwrap_or(u32::MAX)) {
        let reason = "has parts that do not count up from 0";
        return Err(Torn { key, reason });
    }
    if parts.iter().rev().skip(1).any(|part| !part.full) {
        let reason = "has an open part before its last";
        return Err(Torn { key, reason });
    }
    Ok(StoredBucket { key, parts })
}

/// Reads a bucket until its parts fit together.
pub(super) async fn load_again(
    connection: &Connection,
    torn: Torn,
) -> Result<StoredBucket, StoreError> {
    let mut torn = torn;
    for _ in 0..READS_AGAIN_MAX {
        let keys = std::slice::from_ref(&torn.key);
        let Some((key, parts)) = find_parts(connection, keys).await?.into_iter().next() else {
            break;
        };
        match join(key, parts) {
            Ok(bucket) => return Ok(bucket),
            Err(still) => torn = still,
        }
    }
    Err(corrupt(format!("bucket \"{}\"", torn.key), torn.reason))
}

async fn find_parts(
    connection: &Connection,
    keys: &[BucketKey],
) -> Result<HashMap<BucketKey, Vec<StoredPart>>, StoreError> {
    let mut parts: HashMap<BucketKey, Vec<StoredPart>> = HashMap::new();
    if keys.is_empty() {
        return Ok(parts);
    }
    let ready = connection.ready().await?;
    let filter = keys_filter(keys);
    let find = || {
        let find = ready.buckets.find(filter.clone());
        find.batch_size(BATCH_DOCUMENTS)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    while connection.bounded(cursor.advance()).await? {
        let DecodedPart { key, part } = decode_part(cursor.current())?;
        parts.entry(key).or_default().push(part);
    }
    Ok(parts)
}

/// Exactly the parts of `keys`: one branch per hour or per sensor, whichever
/// are fewer. A flush has few hours of many sensors, a query the opposite.
fn keys_filter(keys: &[BucketKey]) -> Document {
    let mut by_hour: BTreeMap<DateTime, Vec<&str>> = BTreeMap::new();
    let mut by_sensor: BTreeMap<&str, Vec<DateTime>> = BTreeMap::new();
    for key in keys {
        let (sensor, hour) = (key.sensor.as_str(), hour_date(key.hour));
        by_hour.entry(hour).or_default().push(sensor);
        by_sensor.entry(sensor).or_default().push(hour);
    }
    let mut branches: Vec<Document> = if by_hour.len() < by_sensor.len() {
        by_hour
            .into_iter()
            .map(|(hour, sensors)| doc! { "sensorId": { "$in": sensors }, "hour": hour })
            .collect()
    } else {
        by_sensor
            .into_iter()
            .map(|(sensor, hours)| doc! { "sensorId": sensor, "hour": { "$in": hours } })
            .collect()
    };
    match branches.len() {
        1 => branches.remove(0),
        _ => doc! { "$or": branches },
    }
}

/// Computed fields of the hours of `sensors`, from the index alone.
pub(super) async fn hours(
    connection: &Connection,
    sensors: &[SensorId],
    hours: HourRange,
) -> Result<Vec<HourSummary>, StoreError> {
    if sensors.is_empty() || hours.is_empty() {
        return Ok(Vec::new());
    }
    let ready = connection.ready().await?;
    let mut ids: Vec<&str> = sensors.iter().map(SensorId::as_str).collect();
    ids.sort_unstable();
    ids.dedup();
    let filter = doc! {
        "sensorId": { "$in": ids },
        "hour": { "$gte": hour_date(hours.from), "$lt": hour_date(hours.to) },
    };
    let find = || {
        let find = ready.buckets.find(filter.clone());
        find.projection(hours_projection())
            .sort(doc! { "sensorId": 1, "hour": 1, "part": 1 })
            .batch_size(BATCH_DOCUMENTS)
            .read_concern(ready.at_one_instant())
    };
    let mut cursor = connection.bounded_read(find).await?;
    let mut summaries: Vec<HourSummary> = Vec::new();
    while connection.bounded(cursor.advance()).await? {
        let part = decode_summary(cursor.current())?;
        match summaries.last_mut() {
            Some(hour) if hour.key == part.key => {
                hour.version = part.version;
                hour.computed.merge(&part.computed);
            }
            _ => summaries.push(HourSummary {
                key: part.key,
                version: part.version,
                computed: part.computed,
            }),
        }
    }
    Ok(summaries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::{Computed, Elements};
    use crate::model::HourStart;
    use crate::store::BucketVersion;

    fn key(id: &str, hour: i32) -> BucketKey {
        BucketKey {
            sensor: SensorId::new(id).unwrap(),
            hour: HourStart::from_hours(hour),
        }
    }

    fn part(number: u32, full: bool) -> StoredPart {
        StoredPart {
            version: BucketVersion {
                part: number,
                rev: 1,
                by: 1,
            },
            full,
            raw_dropped: false,
            bytes: 0,
            computed: Computed::default(),
            stray_fields: Vec::new(),
            elements: Elements::default(),
        }
    }

    #[test]
    fn parts_join_in_order_where_all_but_the_last_are_closed() {
        let joined = |parts| join(key("A", 1), parts);
        let bucket = joined(vec![part(1, false), part(0, true)]).unwrap();
        assert_eq!(bucket.version().part, 1);
        assert!(joined(vec![part(0, true)]).is_ok());
        let torn = joined(vec![part(0, false), part(1, false)]).unwrap_err();
        assert_eq!(torn.reason, "has an open part before its last");
        let torn = joined(vec![part(1, false)]).unwrap_err();
        assert_eq!(torn.reason, "has parts that do not count up from 0");
    }

    #[test]
    fn keys_are_found_by_hour_or_by_sensor_whichever_is_less() {
        let date = |hour| hour_date(HourStart::from_hours(hour));
        assert_eq!(
            keys_filter(&[key("A", 1), key("B", 1)]),
            doc! { "sensorId": { "$in": ["A", "B"] }, "hour": date(1) }
        );
        assert_eq!(
            keys_filter(&[key("A", 1), key("A", 2)]),
            doc! { "sensorId": "A", "hour": { "$in": [date(1), date(2)] } }
        );
        assert_eq!(
            keys_filter(&[key("A", 1), key("B", 2)]),
            doc! { "$or": [
                { "sensorId": "A", "hour": { "$in": [date(1)] } },
                { "sensorId": "B", "hour": { "$in": [date(2)] } },
            ] }
        );
    }
}
