//! Records of sensors: what is told and put, what is read by id.

use std::ops::Bound;

use fjall::{Guard, OwnedWriteBatch, Readable, Slice, Snapshot};

use super::database::Database;
use super::errors::{corrupt, library};
use super::index::{self, EntryRange};
use super::keys::read_sensor_id;
use super::recent_record;
use super::round::Fence;
use super::sensor_record;
use crate::model::{ATTRIBUTES_MAX, Micros, SensorId, Tags};
use crate::store::{
    SensorPut, SensorTold, StoreError, StoredRecent, StoredSensor, UnreadSensor, WriteOutcome,
};

/// What a sensor's record is called in errors.
const RECORD: &str = "the record";

/// What a list of `sensors` gave.
pub(super) fn read_sensor(guard: Guard) -> Result<StoredSensor, StoreError> {
    read_each(guard)?.map_err(|unread| unread.error)
}

/// The same, each by itself: the outer error is the library's.
fn read_each(guard: Guard) -> Result<Result<StoredSensor, UnreadSensor>, StoreError> {
    let (key, record) = guard.into_inner().map_err(library)?;
    let id = read_sensor_id(&key);
    let read = match &id {
        Some(id) => decode(id.clone(), &record),
        None => Err(corrupt(RECORD, &key, "its key is no sensor")),
    };
    Ok(read.map_err(|error| UnreadSensor { id, error }))
}

fn decode(id: SensorId, record: &Slice) -> Result<StoredSensor, StoreError> {
    let key = id.clone();
    sensor_record::decode(id, record)
        .map_err(|damage| corrupt(RECORD, key.as_str().as_bytes(), damage))
}

impl Database {
    /// Takes in what is told, as [`Store::touch`](crate::store::Store::touch) says.
    pub(super) fn touch(&self, told: &[SensorTold]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.round(
            told,
            |told| &told.sensor,
            |snapshot, batch, told| self.stage_told(snapshot, batch, told),
        )
    }

    fn stage_told(
        &self,
        snapshot: &Snapshot,
        batch: &mut OwnedWriteBatch,
        told: &SensorTold,
    ) -> Result<bool, StoreError> {
        let old = self.sensor(snapshot, &told.sensor)?;
        if let Some(recent) = &told.recent {
            // Readings of a record that is gone are none, as for whoever reads it.
            let stored = match old {
                Some(_) => self.recent(snapshot, &told.sensor)?.version,
                None => None,
            };
            match Fence::check(stored, recent.expect, recent.target) {
                Fence::Holds => {}
                Fence::IsIn => return Ok(true),
                Fence::Fails => return Ok(false),
            }
            let record = recent_record::encode(recent.target, &recent.readings);
            batch.insert(&self.recents, told.sensor.as_str(), record);
        }
        let mut new = old
            .clone()
            .unwrap_or_else(|| StoredSensor::blank(told.sensor.clone()));
        new.last_seen = new.last_seen.max(told.last_seen);
        let sent = not_set(&told.attributes, &new.details.attributes);
        new.attributes.merge(&sent, ATTRIBUTES_MAX);
        self.stage_sensor(batch, old.as_ref(), &new);
        Ok(true)
    }

    /// Puts what people say, as [`Store::put_sensors`](crate::store::Store::put_sensors)
    /// says.
    pub(super) fn put_sensors(&self, puts: &[SensorPut]) -> Result<Vec<WriteOutcome>, StoreError> {
        self.round(
            puts,
            |put| &put.id,
            |snapshot, batch, put| self.stage_put(snapshot, batch, put),
        )
    }

    fn stage_put(
        &self,
        snapshot: &Snapshot,
        batch: &mut OwnedWriteBatch,
        put: &SensorPut,
    ) -> Result<bool, StoreError> {
        let old = self.sensor(snapshot, &put.id)?;
        let mut new = old
            .clone()
            .unwrap_or_else(|| StoredSensor::blank(put.id.clone()));
        match Fence::check(new.version, put.expect, put.target) {
            Fence::Holds => {}
            Fence::IsIn => return Ok(true),
            Fence::Fails => return Ok(false),
        }
        let set_before = std::mem::replace(&mut new.details, put.details.clone()).attributes;
        let set = &new.details.attributes;
        let goes = |key: &str| {
            set_before.get(key).is_some()
                || set.get(key).is_some()
                || put.attributes_removed.iter().any(|gone| **gone == *key)
        };
        let room = ATTRIBUTES_MAX.saturating_sub(set.len());
        let stays = new.attributes.iter().filter(|(key, _)| !goes(key));
        let stays = stays.take(room);
        new.attributes = Tags::new(stays.chain(set.iter()));
        new.version = Some(put.target);
        // The copy may have been rewritten since the caller read it.
        let copy_before = old.as_ref().and_then(|old| old.details.site.as_ref());
        if let (Some(before), Some(copy)) = (copy_before, &mut new.details.site)
            && before.id == copy.id
            && before.rev > copy.rev
        {
            *copy = before.clone();
        }
        self.stage_sensor(batch, old.as_ref(), &new);
        Ok(true)
    }

    /// Puts the record `new` in place of `old` with its entries in the index.
    pub(super) fn stage_sensor(
        &self,
        batch: &mut OwnedWriteBatch,
        old: Option<&StoredSensor>,
        new: &StoredSensor,
    ) {
        if old == Some(new) {
            return;
        }
        index::update(batch, &self.index, old, new);
        batch.insert(&self.sensors, new.id.as_str(), sensor_record::encode(new));
    }

    /// The record of a sensor, without its recent readings.
    pub(super) fn sensor(
        &self,
        snapshot: &Snapshot,
        id: &SensorId,
    ) -> Result<Option<StoredSensor>, StoreError> {
        let record = snapshot.get(&self.sensors, id.as_str()).map_err(library)?;
        record.map(|record| decode(id.clone(), &record)).transpose()
    }

    fn recent(&self, snapshot: &Snapshot, id: &SensorId) -> Result<StoredRecent, StoreError> {
        let record = snapshot.get(&self.recents, id.as_str()).map_err(library)?;
        let decode = |record: Slice| {
            recent_record::decode(&record)
                .map_err(|damage| corrupt("the recent readings", id.as_str().as_bytes(), damage))
        };
        Ok(record.map(decode).transpose()?.unwrap_or_default())
    }

    /// Records with all they hold, ordered by id.
    pub(super) fn sensors(&self, mut ids: Vec<SensorId>) -> Result<Vec<StoredSensor>, StoreError> {
        ids.sort_unstable();
        ids.dedup();
        let snapshot = self.snapshot();
        let mut sensors = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(mut sensor) = self.sensor(&snapshot, &id)? {
                sensor.recent = self.recent(&snapshot, &id)?;
                sensors.push(sensor);
            }
        }
        Ok(sensors)
    }

    /// A page of all records, each by itself.
    pub(super) fn each_sensor(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<Vec<Result<StoredSensor, UnreadSensor>>, StoreError> {
        let from = after.map_or(Bound::Unbounded, |id| Bound::Excluded(id.as_str()));
        let snapshot = self.snapshot();
        let all = snapshot.range::<&str, _>(&self.sensors, (from, Bound::Unbounded));
        all.take(limit).map(read_each).collect()
    }

    /// How many sensors were heard of, but not at `since` or later.
    pub(super) fn count_silent(
        &self,
        since: Micros,
        among: Option<Vec<SensorId>>,
    ) -> Result<u64, StoreError> {
        let snapshot = self.snapshot();
        let Some(mut among) = among else {
            let silent = EntryRange::silent(since, None);
            return self.count_entries(&snapshot, &silent, usize::MAX);
        };
        among.sort_unstable();
        among.dedup();
        let mut count = 0;
        for id in among {
            let sensor = self.sensor(&snapshot, &id)?;
            let seen = sensor.and_then(|sensor| sensor.last_seen);
            count += u64::from(seen.is_some_and(|seen| seen < since));
        }
        Ok(count)
    }
}

/// The tags that a sensor sends but for keys that people set.
fn not_set(sent: &Tags, set: &Tags) -> Tags {
    if set.is_empty() {
        return sent.clone();
    }
    Tags::new(sent.iter().filter(|(key, _)| set.get(key).is_none()))
}
