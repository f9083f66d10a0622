//! Lists of sensors: which index answers a filter, and the walk over it.

use std::collections::BTreeMap;
use std::ops::Bound;

use fjall::{Iter, Readable, Snapshot};

use super::database::Database;
use super::errors::{corrupt, library};
use super::index::{self, EntryRange};
use super::sensors::read_sensor;
use crate::model::{Micros, SensorId};
use crate::store::{AttributeFilter, SensorCursor, SensorFilter, StoreError, StoredSensor};

/// Entries that are counted to choose an index, and most that one page gathers
/// to bring them in order.
const GATHERED_MAX: usize = 4096;

/// A way to the sensors that pass a filter.
struct Way {
    entries: EntryRange,
    /// Whether the entries have the order of the list, from the cursor on.
    in_order: bool,
}

/// The ways that the conditions of `filter` open.
fn ways(filter: &SensorFilter, after: Option<&SensorCursor>) -> Vec<Way> {
    let mut ways = Vec::new();
    if let Some(since) = filter.silent_since {
        let after = after.map(|cursor| (cursor.last_seen.unwrap_or(Micros::MIN), &cursor.id));
        ways.push(Way {
            entries: EntryRange::silent(since, after),
            in_order: true,
        });
    }
    // Equal entries are ordered by id, as lists are that ask for no silence.
    let by_id = filter.silent_since.is_none();
    let behind = after.map(|cursor| &cursor.id).filter(|_| by_id);
    if let Some(site) = &filter.site {
        ways.push(Way {
            entries: EntryRange::site(site, behind),
            in_order: by_id,
        });
    }
    for condition in &filter.attributes {
        ways.push(match condition {
            AttributeFilter::Equals { key, text } => Way {
                entries: EntryRange::equal(key, text, behind),
                in_order: by_id,
            },
            AttributeFilter::Prefix { .. } | AttributeFilter::Between { .. } => Way {
                entries: EntryRange::attribute(condition),
                in_order: false,
            },
        });
    }
    ways
}

impl Database {
    /// The sensors that pass `filter`, as
    /// [`Store::find_sensors`](crate::store::Store::find_sensors) says.
    pub(super) fn find_sensors(
        &self,
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        let snapshot = self.snapshot();
        match self.shortest(&snapshot, ways(filter, after))? {
            None => {
                let from = after.map_or(Bound::Unbounded, |cursor| {
                    Bound::Excluded(cursor.id.as_str())
                });
                let all = snapshot.range::<&str, _>(&self.sensors, (from, Bound::Unbounded));
                first(all.map(read_sensor), filter, limit)
            }
            Some(way) if way.in_order => {
                let ids = self.entries(&snapshot, &way.entries);
                let sensors = ids.map(|id| self.listed(&snapshot, &id?));
                first(sensors, filter, limit)
            }
            Some(way) => {
                let ids = self.entries(&snapshot, &way.entries);
                let mut ids = ids.collect::<Result<Vec<_>, _>>()?;
                ids.sort_unstable();
                ids.dedup();
                if filter.silent_since.is_some() {
                    return self.first_by_time(&snapshot, &ids, filter, after, limit);
                }
                let ids = ids
                    .iter()
                    .skip_while(|id| after.is_some_and(|cursor| **id <= cursor.id));
                let sensors = ids.map(|id| self.listed(&snapshot, id));
                first(sensors, filter, limit)
            }
        }
    }

    /// The way with the fewest entries. One whose entries are to be gathered and
    /// are too many is none; where there is none, all sensors are walked by id.
    fn shortest(&self, snapshot: &Snapshot, ways: Vec<Way>) -> Result<Option<Way>, StoreError> {
        let mut shortest: Option<(Way, u64)> = None;
        for way in ways {
            let count = self.count_entries(snapshot, &way.entries, GATHERED_MAX)?;
            if (way.in_order || count < GATHERED_MAX as u64)
                && shortest.as_ref().is_none_or(|(_, fewest)| count < *fewest)
            {
                shortest = Some((way, count));
            }
        }
        Ok(shortest.map(|(way, _)| way))
    }

    /// Of sensors in any order, the first `limit` by time and id behind `after`.
    fn first_by_time(
        &self,
        snapshot: &Snapshot,
        ids: &[SensorId],
        filter: &SensorFilter,
        after: Option<&SensorCursor>,
        limit: usize,
    ) -> Result<Vec<StoredSensor>, StoreError> {
        let after = after.map(|cursor| (cursor.last_seen, cursor.id.clone()));
        let mut found = BTreeMap::new();
        for id in ids {
            let sensor = self.listed(snapshot, id)?;
            let place = (sensor.last_seen, sensor.id.clone());
            if filter.matches(&sensor) && after.as_ref().is_none_or(|after| *after < place) {
                found.insert(place, sensor);
                if found.len() > limit {
                    found.pop_last();
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// The record of a sensor that the index names.
    fn listed(&self, snapshot: &Snapshot, id: &SensorId) -> Result<StoredSensor, StoreError> {
        let sensor = self.sensor(snapshot, id)?;
        sensor.ok_or_else(|| {
            let reason = "the index names it, and there is none; \
                          restore the store's directory from a backup";
            corrupt("the record", id.as_str().as_bytes(), reason)
        })
    }

    /// The sensors of these entries.
    pub(super) fn entries(
        &self,
        snapshot: &Snapshot,
        entries: &EntryRange,
    ) -> impl Iterator<Item = Result<SensorId, StoreError>> + use<> {
        self.walk(snapshot, entries).map(|guard| {
            let entry = guard.key().map_err(library)?;
            index::read_sensor(&entry)
                .ok_or_else(|| corrupt("an entry of the index", &entry, "it names no sensor"))
        })
    }

    /// How many entries there are, at most `max`.
    pub(super) fn count_entries(
        &self,
        snapshot: &Snapshot,
        entries: &EntryRange,
        max: usize,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        for guard in self.walk(snapshot, entries).take(max) {
            guard.key().map_err(library)?;
            count += 1;
        }
        Ok(count)
    }

    fn walk(
        &self,
        snapshot: &Snapshot,
        entries: &EntryRange,
    ) -> std::iter::Flatten<std::option::IntoIter<Iter>> {
        let range = (entries.from.clone(), Bound::Excluded(entries.to.clone()));
        // The library takes no range whose end lies before its beginning.
        let walk = (!entries.is_empty()).then(|| snapshot.range(&self.index, range));
        walk.into_iter().flatten()
    }
}

/// The first `limit` of `sensors` that pass `filter`.
fn first(
    sensors: impl Iterator<Item = Result<StoredSensor, StoreError>>,
    filter: &SensorFilter,
    limit: usize,
) -> Result<Vec<StoredSensor>, StoreError> {
    sensors
        .filter(|sensor| {
            sensor
                .as_ref()
                .map_or(true, |sensor| filter.matches(sensor))
        })
        .take(limit)
        .collect()
}
