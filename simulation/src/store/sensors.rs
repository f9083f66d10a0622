//! The registry of sensors, as far as flushing and queries need it.

use std::collections::BTreeMap;

use hourglass::model::{ATTRIBUTES_MAX, RecentReading, SensorId};
use hourglass::store::{
    SensorCursor, SensorFilter, SensorTold, StoredRecent, StoredSensor, WriteOutcome,
};

/// All records by id.
#[derive(Debug, Default)]
pub(super) struct Sensors {
    records: BTreeMap<SensorId, StoredSensor>,
}

impl Sensors {
    pub(super) fn touch(&mut self, told: &SensorTold) -> WriteOutcome {
        let stored = self.records.get(&told.sensor);
        let version = stored.and_then(|stored| stored.recent.version);
        if let Some(recent) = &told.recent
            && recent.expect != version
        {
            // An earlier try of this very write is told from one of others.
            return match version == Some(recent.target) {
                true => WriteOutcome::Stored,
                false => WriteOutcome::Fenced,
            };
        }
        let record = self.records.entry(told.sensor.clone());
        let record = record.or_insert_with(|| StoredSensor::blank(told.sensor.clone()));
        record.last_seen = record.last_seen.max(told.last_seen);
        record.attributes.merge(&told.attributes, ATTRIBUTES_MAX);
        if let Some(recent) = &told.recent {
            record.recent = StoredRecent {
                version: Some(recent.target),
                readings: recent.readings.clone(),
            };
        }
        WriteOutcome::Stored
    }

    pub(super) fn recents(&self) -> Vec<(SensorId, Vec<RecentReading>)> {
        let records = self.records.values();
        let recent = |stored: &StoredSensor| (stored.id.clone(), stored.recent.readings.clone());
        records.map(recent).collect()
    }

    pub(super) fn get(&self, sensors: &[SensorId]) -> Vec<StoredSensor> {
        let asked = |stored: &&StoredSensor| sensors.contains(&stored.id);
        self.records.values().filter(asked).cloned().collect()
    }

    pub(super) fn find(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Vec<StoredSensor> {
        let mut found: Vec<StoredSensor> = self.records.values().cloned().collect();
        found.retain(|stored| filter.matches(stored));
        let place = |id: &SensorId, last_seen| {
            let last_seen = filter.silent_since.and(last_seen);
            (last_seen, id.clone())
        };
        found.sort_by_key(|stored| place(&stored.id, stored.last_seen));
        if let Some(after) = after {
            let after = place(&after.id, after.last_seen);
            found.retain(|stored| place(&stored.id, stored.last_seen) > after);
        }
        found.truncate(limit);
        for stored in &mut found {
            stored.recent = StoredRecent::default();
        }
        found
    }
}
