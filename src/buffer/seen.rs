//! When the sensors of the buffer were last heard of, and what they say of
//! themselves.

use crate::model::{Micros, SensorId, Tags};

use super::{Buffer, SensorHours, lock};

/// When a sensor was last heard of, and what it says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SensorSeen {
    /// Which sensor.
    pub sensor: SensorId,
    /// Time of receipt of its latest reading.
    pub last_seen: Micros,
    /// The tags it sent, the newest text of each key.
    pub attributes: Tags,
    /// Whether the store has `attributes`.
    pub attributes_told: bool,
}

impl Buffer {
    /// When a sensor of the buffer was last heard of, and its attributes.
    #[must_use]
    pub fn seen_one(&self, sensor: &SensorId) -> Option<SensorSeen> {
        let shard = self.shard(sensor);
        let hours = shard.sensors.get(sensor)?;
        Some(hours.seen(sensor))
    }

    /// When the sensors of the buffer with an id above `after` were last heard
    /// of, and their attributes, ordered by id.
    #[must_use]
    pub fn seen(&self, after: Option<&SensorId>) -> Vec<SensorSeen> {
        self.seen_where(after, |_| true)
    }

    /// The same of those of which the store was not told all of it.
    #[must_use]
    pub fn seen_untold(&self, after: Option<&SensorId>) -> Vec<SensorSeen> {
        self.seen_where(after, |hours| {
            !(hours.last_seen_stored && hours.attributes_told())
        })
    }

    fn seen_where(
        &self,
        after: Option<&SensorId>,
        is_asked: impl Fn(&SensorHours) -> bool,
    ) -> Vec<SensorSeen> {
        let mut seen = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            seen.extend(
                shard
                    .sensors
                    .iter()
                    .filter(|(id, hours)| after.is_none_or(|after| *id > after) && is_asked(hours))
                    .map(|(id, hours)| hours.seen(id)),
            );
        }
        seen.sort_by(|a, b| a.sensor.cmp(&b.sensor));
        seen
    }
}

impl SensorHours {
    /// All that is known of the sensor `id`.
    fn seen(&self, id: &SensorId) -> SensorSeen {
        let labels = self.labels.as_ref();
        SensorSeen {
            sensor: id.clone(),
            last_seen: self.last_seen,
            attributes: labels.map_or_else(Tags::default, |l| l.attributes().clone()),
            attributes_told: self.attributes_told(),
        }
    }

    pub(super) fn attributes_told(&self) -> bool {
        self.labels.as_ref().is_none_or(|l| !l.is_untold())
    }
}
