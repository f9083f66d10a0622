//! Which sensors there are.

use std::collections::BTreeMap;

use super::{Completeness, Query, unless_away};
use crate::buffer::SensorSeen;
use crate::model::{ATTRIBUTES_MAX, Micros, SensorId, Tags};
use crate::store::{SensorCursor, SensorFilter, StoreError};

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
        let cursor = after.map(|id| SensorCursor {
            id: id.clone(),
            last_seen: None,
        });
        let all = SensorFilter::default();
        let found = self.store.find_sensors(&all, cursor.as_ref(), limit + 1);
        let stored = match unless_away(found.await)? {
            Some(stored) => stored
                .into_iter()
                .map(|stored| SensorSeen {
                    sensor: stored.id,
                    last_seen: stored.last_seen.unwrap_or(Micros::MIN),
                    attributes: stored.attributes,
                })
                .collect(),
            None => {
                completeness = Completeness::StoreAway;
                Vec::new()
            }
        };
        let mut seen: BTreeMap<SensorId, (Micros, Tags)> = BTreeMap::new();
        for sensor in stored.into_iter().chain(buffered) {
            let (last_seen, attributes) = seen
                .entry(sensor.sensor)
                .or_insert((sensor.last_seen, Tags::default()));
            *last_seen = (*last_seen).max(sensor.last_seen);
            // What the buffer knows came later, or is the same.
            attributes.merge(&sensor.attributes, ATTRIBUTES_MAX);
        }
        let more = seen.len() > limit;
        let sensors = seen
            .into_iter()
            .take(limit)
            .map(|(sensor, (last_seen, attributes))| SensorSeen {
                sensor,
                last_seen,
                attributes,
            })
            .collect();
        Ok(SensorsAnswer {
            completeness,
            sensors,
            more,
        })
    }
}
