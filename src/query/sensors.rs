//! Which sensors there are.

use std::collections::BTreeMap;

use super::{Completeness, Query, unless_away};
use crate::model::{Micros, SensorId};
use crate::store::{SensorSeen, StoreError};

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorsAnswer {
    /// Whether it may miss sensors.
    pub completeness: Completeness,
    /// Ordered by id, at most as many as asked for.
    pub sensors: Vec<SensorSeen>,
    /// Whether more follow.
    pub more: bool,
}

impl Query {
    /// At most `limit` sensors with an id above `after`, those that only the
    /// buffer knows included.
    ///
    /// # Errors
    /// What the store says, unless it is away.
    pub async fn sensors(
        &self,
        after: Option<&SensorId>,
        limit: usize,
    ) -> Result<SensorsAnswer, StoreError> {
        let mut completeness = self.completeness();
        let buffered = self.buffer.seen(after);
        let stored = match unless_away(self.store.sensors(after, limit + 1).await)? {
            Some(stored) => stored,
            None => {
                completeness = Completeness::StoreAway;
                Vec::new()
            }
        };
        let mut seen: BTreeMap<SensorId, Micros> = BTreeMap::new();
        for sensor in stored.into_iter().chain(buffered) {
            let last_seen = seen.entry(sensor.sensor).or_insert(sensor.last_seen);
            *last_seen = (*last_seen).max(sensor.last_seen);
        }
        let more = seen.len() > limit;
        let sensors = seen
            .into_iter()
            .take(limit)
            .map(|(sensor, last_seen)| SensorSeen { sensor, last_seen })
            .collect();
        Ok(SensorsAnswer {
            completeness,
            sensors,
            more,
        })
    }
}
