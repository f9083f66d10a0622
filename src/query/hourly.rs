//! Hourly computed fields. Never loads `readings`, but for a bucket with late
//! data whose stored instants are not in memory (the one cold case).

use std::collections::BTreeMap;

use metrics::counter;

use super::{Completeness, Query, unless_away};
use crate::bucket::{Computed, Elements, Merge};
use crate::buffer::HourSnapshot;
use crate::metrics::names;
use crate::model::{BucketKey, HourRange, HourStart, SensorId};
use crate::store::{BucketVersion, HourSummary, LOADS_AT_ONCE, StoreError, StoredBucket};

/// Snapshots are taken this often at most while flushes move buckets under the
/// query; then the bucket is loaded.
const SNAPSHOTS_MAX: usize = 3;

/// Hours of one sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorHoursAnswer {
    /// Which sensor.
    pub sensor: SensorId,
    /// Its hours that have readings, oldest first.
    pub hours: Vec<(HourStart, Computed)>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct HourlyAnswer {
    /// Whether it may miss readings.
    pub completeness: Completeness,
    /// In the order asked for.
    pub sensors: Vec<SensorHoursAnswer>,
}

type Stored = BTreeMap<HourStart, (BucketVersion, Computed)>;

impl Query {
    /// Computed fields by hour of each of `sensors` (distinct).
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn hourly(
        &self,
        sensors: &[SensorId],
        hours: HourRange,
    ) -> Result<HourlyAnswer, StoreError> {
        let completeness = self.completeness();
        let mut answers = BTreeMap::new();
        let mut open: Vec<SensorId> = sensors.to_vec();
        let mut cold: Vec<(SensorId, Stored, Vec<HourSnapshot>)> = Vec::new();
        for attempt in 1..=SNAPSHOTS_MAX {
            let snapshots: Vec<Vec<HourSnapshot>> = open
                .iter()
                .map(|sensor| self.buffer.snapshot(sensor, hours))
                .collect();
            let summaries = if hours.is_empty() {
                Some(Vec::new())
            } else {
                unless_away(self.store.hours(&open, hours).await)?
            };
            let Some(summaries) = summaries else {
                return Ok(self.hourly_held(sensors, hours));
            };
            let mut stored = by_sensor(summaries);
            let mut moved = Vec::new();
            for (sensor, snapshot) in open.into_iter().zip(snapshots) {
                let stored = stored.remove(&sensor).unwrap_or_default();
                if snapshot.iter().all(|hour| fits(&stored, hour)) {
                    answers.insert(sensor, join(stored, snapshot));
                } else if attempt < SNAPSHOTS_MAX
                    && snapshot.iter().any(|hour| moves(&stored, hour))
                {
                    moved.push(sensor);
                } else {
                    cold.push((sensor, stored, snapshot));
                }
            }
            open = moved;
            if open.is_empty() {
                break;
            }
        }
        for (sensor, stored, snapshot) in cold {
            let loaded = self.join_loaded(&sensor, stored, snapshot).await;
            let Some(hours_of_sensor) = unless_away(loaded)? else {
                return Ok(self.hourly_held(sensors, hours));
            };
            answers.insert(sensor, hours_of_sensor);
        }
        let sensors = sensors.iter().map(|sensor| SensorHoursAnswer {
            sensor: sensor.clone(),
            hours: answers
                .remove(sensor)
                .map(|hours| hours.into_iter().collect())
                .unwrap_or_default(),
        });
        Ok(HourlyAnswer {
            completeness,
            sensors: sensors.collect(),
        })
    }

    /// Joins by identity the hours whose versions did not fit.
    async fn join_loaded(
        &self,
        sensor: &SensorId,
        mut stored: Stored,
        snapshot: Vec<HourSnapshot>,
    ) -> Result<BTreeMap<HourStart, Computed>, StoreError> {
        let (warm, cold): (Vec<_>, Vec<_>) =
            snapshot.into_iter().partition(|hour| fits(&stored, hour));
        let keys: Vec<BucketKey> = cold
            .iter()
            .map(|hour| BucketKey {
                sensor: sensor.clone(),
                hour: hour.hour,
            })
            .collect();
        counter!(names::QUERY_COLD_LOADS_TOTAL).increment(keys.len() as u64);
        let mut joined = Vec::new();
        let mut cold = cold.into_iter();
        for keys in keys.chunks(LOADS_AT_ONCE) {
            let loaded = self.store.load(keys).await?;
            for (hour, bucket) in cold.by_ref().take(keys.len()).zip(loaded) {
                // What waits for such a bucket will expire: its fields stay as they are.
                let has_dropped =
                    |bucket: &StoredBucket| bucket.parts.iter().any(|p| p.raw_dropped);
                if bucket.as_ref().is_some_and(has_dropped) {
                    continue;
                }
                stored.remove(&hour.hour);
                let parts = bucket.iter().flat_map(|bucket| &bucket.parts);
                let flight = hour.flight.as_ref().map(|flight| &flight.elements);
                let lists = parts
                    .map(|part| &part.elements)
                    .chain(flight)
                    .chain([&hour.pending]);
                joined.push((hour.hour, computed_of(lists)));
            }
        }
        let mut hours = join(stored, warm);
        hours.extend(joined);
        Ok(hours)
    }

    /// The same from what the buffer holds alone, for when the store is away.
    #[must_use]
    pub fn hourly_held(&self, sensors: &[SensorId], hours: HourRange) -> HourlyAnswer {
        let sensors = sensors.iter().map(|sensor| SensorHoursAnswer {
            sensor: sensor.clone(),
            hours: self
                .buffer
                .held(sensor, hours)
                .iter()
                .map(|(hour, elements)| (*hour, computed_of([elements])))
                .collect(),
        });
        HourlyAnswer {
            completeness: Completeness::StoreAway,
            sensors: sensors.collect(),
        }
    }
}

fn by_sensor(summaries: Vec<HourSummary>) -> BTreeMap<SensorId, Stored> {
    let mut stored: BTreeMap<SensorId, Stored> = BTreeMap::new();
    for summary in summaries {
        stored
            .entry(summary.key.sensor)
            .or_default()
            .insert(summary.key.hour, (summary.version, summary.computed));
    }
    stored
}

/// How the store's version relates to a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Flight and pending come on top.
    WithoutFlight,
    /// The flight is in; pending comes on top.
    WithFlight,
    /// Somebody else's.
    Unknown,
}

fn fit(stored: &Stored, hour: &HourSnapshot) -> Fit {
    let version = stored.get(&hour.hour).map(|(version, _)| *version);
    let flight = hour.flight.as_ref();
    if version.is_some() && version == flight.map(|flight| flight.target) {
        Fit::WithFlight
    } else if version == hour.stored
        || (version.is_some() && version == flight.and_then(|flight| flight.closing))
    {
        Fit::WithoutFlight
    } else {
        Fit::Unknown
    }
}

fn fits(stored: &Stored, hour: &HourSnapshot) -> bool {
    fit(stored, hour) != Fit::Unknown
}

/// Whether a further snapshot may fit: the hour is known or being written, so
/// a flush probably moved it. An hour the buffer knows nothing of stays so.
fn moves(stored: &Stored, hour: &HourSnapshot) -> bool {
    !fits(stored, hour) && (hour.stored.is_some() || hour.flight.is_some())
}

fn join(stored: Stored, snapshot: Vec<HourSnapshot>) -> BTreeMap<HourStart, Computed> {
    let fits: Vec<Fit> = snapshot.iter().map(|hour| fit(&stored, hour)).collect();
    let mut hours: BTreeMap<HourStart, Computed> = stored
        .into_iter()
        .map(|(hour, (_, computed))| (hour, computed))
        .collect();
    for (hour, fit) in snapshot.into_iter().zip(fits) {
        let computed = hours.entry(hour.hour).or_default();
        if fit == Fit::WithoutFlight
            && let Some(flight) = &hour.flight
        {
            computed.merge(&flight.computed);
        }
        computed.merge(&hour.pending_computed);
    }
    hours
}

/// The computed fields of several lists, joined by identity.
fn computed_of<'a>(lists: impl IntoIterator<Item = &'a Elements>) -> Computed {
    let mut merge = Merge::default();
    for list in lists {
        for element in list.iter() {
            merge.add(element.offset, element.values());
        }
    }
    merge.computed(0, merge.elements().len())
}
