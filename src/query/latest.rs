//! The newest reading of sensors.

use std::collections::BTreeMap;

use super::{Completeness, Query, unless_away};
use crate::bucket::{Elements, join_sorted};
use crate::model::{HourStart, MeasureName, Micros, SensorId, TimeRange};
use crate::store::StoreError;

/// A newest reading.
#[derive(Debug, Clone, PartialEq)]
pub struct Latest {
    /// When.
    pub at: Micros,
    /// All its measures.
    pub values: Vec<(MeasureName, f64)>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LatestAnswer {
    /// Whether it may miss readings.
    pub completeness: Completeness,
    /// In the order asked for; `None` for a sensor without readings.
    pub sensors: Vec<(SensorId, Option<Latest>)>,
}

impl Query {
    /// The newest reading of each of `sensors`.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn latest(&self, sensors: &[SensorId]) -> Result<LatestAnswer, StoreError> {
        let mut completeness = self.completeness();
        let all = TimeRange::ALL.hours();
        let mut candidates: BTreeMap<&SensorId, Vec<(HourStart, Elements)>> = BTreeMap::new();
        for sensor in sensors {
            // Of the buffer only the newest hour can hold the newest reading.
            let newest = self.buffer.snapshot(sensor, all).pop();
            if let Some(hour) = newest {
                let flight = hour.flight.map(|flight| flight.elements);
                let lists = candidates.entry(sensor).or_default();
                lists.extend(flight.map(|elements| (hour.hour, elements)));
                lists.push((hour.hour, hour.pending));
            }
        }
        match unless_away(self.store.newest(sensors).await)? {
            Some(buckets) => {
                for bucket in buckets {
                    let Some(sensor) = sensors.iter().find(|s| **s == bucket.key.sensor) else {
                        continue;
                    };
                    // The store's value of an instant comes before the buffer's.
                    let parts = bucket.parts.into_iter();
                    let hour = bucket.key.hour;
                    let lists = candidates.entry(sensor).or_default();
                    lists.splice(0..0, parts.map(|part| (hour, part.elements)));
                }
            }
            None => {
                completeness = Completeness::StoreAway;
                for sensor in sensors {
                    let held = self.buffer.held(sensor, all);
                    candidates.insert(sensor, held);
                }
            }
        }
        let sensors = sensors.iter().map(|sensor| {
            let latest = candidates.get(sensor).and_then(|lists| newest(lists));
            (sensor.clone(), latest)
        });
        Ok(LatestAnswer {
            completeness,
            sensors: sensors.collect(),
        })
    }
}

fn newest(lists: &[(HourStart, Elements)]) -> Option<Latest> {
    let hour = lists
        .iter()
        .filter(|(_, elements)| !elements.is_empty())
        .map(|(hour, _)| *hour)
        .max()?;
    let of_hour: Vec<&Elements> = lists
        .iter()
        .filter(|(h, _)| *h == hour)
        .map(|(_, elements)| elements)
        .collect();
    let joined = join_sorted(&of_hour);
    let last = joined.get(joined.len().checked_sub(1)?);
    Some(Latest {
        at: hour.at(last.offset),
        values: last.values().map(|(m, v)| (m.clone(), v)).collect(),
    })
}
