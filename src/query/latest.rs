//! The newest reading of sensors: from the newest readings in their records, one
//! small document each; from their newest buckets only where a record has none.

use std::collections::BTreeMap;

use super::{Completeness, Query, unless_away};
use crate::bucket::RecentList;
use crate::flush::newest_readings;
use crate::model::{MeasureName, Micros, RecentReading, SensorId};
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
    /// The newest reading of each of `sensors` (distinct).
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn latest(&self, sensors: &[SensorId]) -> Result<LatestAnswer, StoreError> {
        let mut completeness = self.completeness();
        // Before the records are read: what moves there in between is in both.
        let buffered: Vec<Vec<RecentReading>> = sensors
            .iter()
            .map(|sensor| self.buffer.recent_candidates(sensor))
            .collect();
        let stored = match unless_away(self.stored_newest(sensors).await)? {
            Some(stored) => stored,
            None => {
                completeness = Completeness::StoreAway;
                BTreeMap::new()
            }
        };
        let latest = |(sensor, buffered): (&SensorId, Vec<RecentReading>)| {
            let mut newest = RecentList::new(1);
            if let Some(stored) = stored.get(sensor) {
                newest.extend(stored);
            }
            newest.extend(&buffered);
            let newest = newest.readings().pop();
            let latest = newest.map(|RecentReading { at, values }| Latest { at, values });
            (sensor.clone(), latest)
        };
        let sensors = sensors.iter().zip(buffered).map(latest).collect();
        Ok(LatestAnswer {
            completeness,
            sensors,
        })
    }

    /// The newest readings that the store has, at least one of each sensor that
    /// has any.
    async fn stored_newest(
        &self,
        sensors: &[SensorId],
    ) -> Result<BTreeMap<SensorId, Vec<RecentReading>>, StoreError> {
        let records = self.store.sensors(sensors).await?;
        let mut newest = BTreeMap::new();
        // An older hourglass made these, or only people know them.
        let mut without = Vec::new();
        for record in records {
            match record.recent.version {
                Some(_) => {
                    newest.insert(record.id, record.recent.readings);
                }
                None => without.push(record.id),
            }
        }
        let readings = newest_readings(&*self.store, &without, 1).await?;
        newest.extend(without.into_iter().zip(readings));
        Ok(newest)
    }
}
