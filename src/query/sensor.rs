//! The page of a sensor: its record, which holds its newest readings too, with
//! what the buffer knows laid over it. One document is read.

use super::overlay::tell;
use super::{Completeness, Query, unless_away};
use crate::bucket::RecentList;
use crate::model::{RecentReading, SensorId};
use crate::store::{StoreError, StoredSensor};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorAnswer {
    /// Whether it may miss readings.
    pub completeness: Completeness,
    /// `None` for a sensor that was never heard of nor set up.
    pub sensor: Option<StoredSensor>,
}

impl Query {
    /// A sensor with its newest readings.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn sensor(&self, id: &SensorId) -> Result<SensorAnswer, StoreError> {
        let mut completeness = self.completeness();
        // Before the record is read: what moves there in between is in both.
        let newest = self.buffer.recent_candidates(id);
        let seen = self.buffer.seen_one(id);
        let stored = match unless_away(self.store.sensors(std::slice::from_ref(id)).await)? {
            Some(mut stored) => stored.pop(),
            None => {
                completeness = Completeness::StoreAway;
                None
            }
        };
        let mut sensor = match (stored, &seen) {
            (None, None) => None,
            (stored, _) => Some(stored.unwrap_or_else(|| StoredSensor::blank(id.clone()))),
        };
        if let Some(sensor) = &mut sensor {
            if let Some(seen) = &seen {
                tell(sensor, seen);
            }
            let stored = std::mem::take(&mut sensor.recent.readings);
            sensor.recent.readings = self.joined(&stored, &newest);
        }
        Ok(SensorAnswer {
            completeness,
            sensor,
        })
    }

    /// The newest of both; of an instant that both have, the store's values stay.
    fn joined(&self, stored: &[RecentReading], buffered: &[RecentReading]) -> Vec<RecentReading> {
        let mut list = RecentList::new(self.buffer.recent_readings());
        list.extend(stored);
        list.extend(buffered);
        list.readings()
    }
}
