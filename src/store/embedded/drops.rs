//! Hours that go: whole, or their readings alone.

use std::ops::Bound;

use fjall::{OwnedWriteBatch, Readable, Snapshot};

use super::database::Database;
use super::errors::library;
use super::hour_record::HourRecord;
use super::keys::{hour_range, sensor_prefix};
use super::read::{decode_hour, decode_key};
use crate::model::{HourStart, SensorId};
use crate::store::{SensorHoursRange, StoreError, StoredSensor};

/// A batch ends with the hour that takes it to this many keys, so that writes
/// are not held up for long, whatever is dropped.
const BATCH_KEYS: usize = 2048;

impl Database {
    /// The oldest hour of each sensor that has one.
    pub(super) fn oldest_hours(
        &self,
        mut sensors: Vec<SensorId>,
    ) -> Result<Vec<(SensorId, HourStart)>, StoreError> {
        sensors.sort_unstable();
        sensors.dedup();
        let snapshot = self.snapshot();
        let mut oldest = Vec::new();
        for sensor in sensors {
            let first = snapshot.prefix(&self.hours, sensor_prefix(&sensor)).next();
            if let Some(guard) = first {
                let key = decode_key(&guard.key().map_err(library)?)?;
                oldest.push((sensor, key.hour));
            }
        }
        Ok(oldest)
    }

    /// Removes hours whole. How many there were.
    pub(super) fn drop_hours(&self, ranges: &[SensorHoursRange]) -> Result<u64, StoreError> {
        let mut dropped = 0;
        for range in ranges {
            dropped += self.each_hour(range, |snapshot, batch, key, _| {
                let keys = self.stage_removal(snapshot, batch, key)?;
                batch.remove(&self.hours, key);
                Ok(keys + 1)
            })?;
        }
        Ok(dropped)
    }

    /// Drops the readings of hours and says so in the records of the sensors.
    /// How many hours had any.
    pub(super) fn drop_readings(
        &self,
        ranges: &[SensorHoursRange],
        by: i64,
    ) -> Result<u64, StoreError> {
        let mut dropped = 0;
        for range in ranges {
            dropped += self.each_hour(range, |snapshot, batch, key, record| {
                let current = decode_hour(key, record)?;
                if current.raw_dropped {
                    return Ok(0);
                }
                let keys = self.stage_removal(snapshot, batch, key)?;
                let next = HourRecord {
                    rev: current.rev + 1,
                    by,
                    elements: 0,
                    chunks: 0,
                    open_chunks: 0,
                    raw_dropped: true,
                    computed: current.computed,
                };
                batch.insert(&self.hours, key, next.encode());
                Ok(keys + 1)
            })?;
            self.note_dropped(range)?;
        }
        Ok(dropped)
    }
}

impl Database {
    /// Walks the hours of `range` in batches. `stage` puts the change of an hour,
    /// by its key and record, into the batch and answers how many keys that
    /// takes. How many hours it changed.
    fn each_hour(
        &self,
        range: &SensorHoursRange,
        stage: impl Fn(&Snapshot, &mut OwnedWriteBatch, &[u8], &[u8]) -> Result<usize, StoreError>,
    ) -> Result<u64, StoreError> {
        let mut changed = 0;
        if range.hours.is_empty() {
            return Ok(changed);
        }
        let (from, to) = hour_range(&range.sensor, range.hours);
        let mut rest = Some(Bound::Included(from));
        while let Some(from) = rest.take() {
            let writer = self.writer()?;
            let snapshot = self.snapshot();
            let mut batch = writer.batch();
            let mut keys = 0;
            for guard in snapshot.range(&self.hours, (from, Bound::Excluded(to.clone()))) {
                let (key, record) = guard.into_inner().map_err(library)?;
                let staged = stage(&snapshot, &mut batch, &key, &record)?;
                changed += u64::from(staged > 0);
                // One that is left as it is was read all the same.
                keys += staged + 1;
                if keys >= BATCH_KEYS {
                    rest = Some(Bound::Excluded(key.to_vec()));
                    break;
                }
            }
            writer.commit(batch)?;
        }
        Ok(changed)
    }

    /// Notes that readings before the end of `range` were dropped.
    fn note_dropped(&self, range: &SensorHoursRange) -> Result<(), StoreError> {
        if range.hours.is_empty() {
            return Ok(());
        }
        let writer = self.writer()?;
        let old = self.sensor(&self.snapshot(), &range.sensor)?;
        let mut new = old
            .clone()
            .unwrap_or_else(|| StoredSensor::blank(range.sensor.clone()));
        new.raw_dropped_before = new.raw_dropped_before.max(Some(range.hours.to));
        let mut batch = writer.batch();
        self.stage_sensor(&mut batch, old.as_ref(), &new);
        writer.commit(batch)
    }
}
