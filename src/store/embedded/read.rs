//! Reading: every answer comes from one snapshot.

use fjall::{Readable, Slice, Snapshot};

use super::chunk;
use super::database::Database;
use super::errors::{corrupt, library};
use super::hour_record::HourRecord;
use super::keys::{bucket_key, hour_range, read_hour_key, sensor_prefix};
use crate::bucket::Elements;
use crate::model::{BucketKey, HourRange, SensorId};
use crate::store::{HourSummary, StoreError, StoredBucket, StoredPart};

/// What an hour record is called in errors.
const HOUR_RECORD: &str = "the hour record";

/// The hour record under `key`.
pub(super) fn hour_record(
    database: &Database,
    snapshot: &Snapshot,
    key: &[u8],
) -> Result<Option<HourRecord>, StoreError> {
    let record = snapshot.get(&database.hours, key).map_err(library)?;
    record.map(|record| decode_hour(key, &record)).transpose()
}

pub(super) fn decode_hour(key: &[u8], record: &[u8]) -> Result<HourRecord, StoreError> {
    HourRecord::decode(record).map_err(|damage| corrupt(HOUR_RECORD, key, damage))
}

pub(super) fn decode_key(key: &[u8]) -> Result<BucketKey, StoreError> {
    read_hour_key(key).ok_or_else(|| corrupt(HOUR_RECORD, key, "its key names no sensor and hour"))
}

/// The last `count` chunks of an hour with their keys, in order of arrival.
pub(super) fn last_chunks(
    database: &Database,
    snapshot: &Snapshot,
    key: &[u8],
    count: u64,
) -> Result<Vec<(Slice, Slice)>, StoreError> {
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let chunks = snapshot.prefix(&database.chunks, key).rev().take(count);
    let chunks: Result<Vec<_>, _> = chunks.map(fjall::Guard::into_inner).collect();
    let mut chunks = chunks.map_err(library)?;
    chunks.reverse();
    Ok(chunks)
}

/// The whole bucket of an hour record.
pub(super) fn bucket(
    database: &Database,
    snapshot: &Snapshot,
    key: &[u8],
    record: HourRecord,
) -> Result<StoredBucket, StoreError> {
    let bucket_key = decode_key(key)?;
    let mut elements = Elements::default();
    let mut chunks = 0;
    for guard in snapshot.prefix(&database.chunks, key) {
        let (_, chunk) = guard.into_inner().map_err(library)?;
        chunks += 1;
        chunk::decode_into(&chunk, &mut elements).map_err(|damage| {
            let which = format!("chunk {chunks} of {}", record.chunks);
            corrupt(&which, key, damage)
        })?;
    }
    if (chunks, elements.len() as u64) != (record.chunks, record.elements) {
        let reason = format_args!(
            "its hour record counts {} chunks and {} elements, there are {chunks} and {}; \
             restore the store's directory from a backup",
            record.chunks,
            record.elements,
            elements.len()
        );
        return Err(corrupt("the chunks", key, reason));
    }
    Ok(StoredBucket {
        key: bucket_key,
        parts: vec![part(record, elements)],
    })
}

/// The one part of an hour.
pub(super) fn part(record: HourRecord, elements: Elements) -> StoredPart {
    StoredPart {
        version: record.version(),
        full: false,
        raw_dropped: record.raw_dropped,
        bytes: 0,
        computed: record.computed,
        stray_fields: Vec::new(),
        elements,
    }
}

impl Database {
    pub(super) fn load(&self, keys: &[BucketKey]) -> Result<Vec<Option<StoredBucket>>, StoreError> {
        let snapshot = self.snapshot();
        let load = |key: &BucketKey| {
            let key = bucket_key(key);
            let record = hour_record(self, &snapshot, &key)?;
            let bucket = record.map(|record| bucket(self, &snapshot, &key, record));
            bucket.transpose()
        };
        keys.iter().map(load).collect()
    }

    /// Reads hour records only.
    pub(super) fn hours(
        &self,
        mut sensors: Vec<SensorId>,
        hours: HourRange,
    ) -> Result<Vec<HourSummary>, StoreError> {
        let mut summaries = Vec::new();
        if hours.is_empty() {
            return Ok(summaries);
        }
        sensors.sort_unstable();
        sensors.dedup();
        let snapshot = self.snapshot();
        for sensor in sensors {
            let (from, to) = hour_range(&sensor, hours);
            for guard in snapshot.range(&self.hours, from..to) {
                let (key, record) = guard.into_inner().map_err(library)?;
                let record = decode_hour(&key, &record)?;
                summaries.push(HourSummary {
                    key: decode_key(&key)?,
                    version: record.version(),
                    computed: record.computed,
                });
            }
        }
        Ok(summaries)
    }

    pub(super) fn newest(
        &self,
        mut sensors: Vec<SensorId>,
    ) -> Result<Vec<StoredBucket>, StoreError> {
        sensors.sort_unstable();
        sensors.dedup();
        let snapshot = self.snapshot();
        let mut newest = Vec::with_capacity(sensors.len());
        for sensor in sensors {
            let mut hours = snapshot.prefix(&self.hours, sensor_prefix(&sensor));
            if let Some(guard) = hours.next_back() {
                let (key, record) = guard.into_inner().map_err(library)?;
                let record = decode_hour(&key, &record)?;
                newest.push(bucket(self, &snapshot, &key, record)?);
            }
        }
        Ok(newest)
    }
}
