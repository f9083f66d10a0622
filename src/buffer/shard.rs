//! What a shard of the buffer knows of its sensors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::model::{Micros, SensorId, Tags};

use super::{SENSOR_BYTES, SensorHours, SensorSeen, Shard, Telling};

impl SensorHours {
    /// Bytes of its place in the buffer beside its buckets.
    pub(super) fn bytes(&self) -> usize {
        let labels = self.labels.as_ref().map_or(0, |labels| labels.bytes());
        SENSOR_BYTES + labels + self.telling.bytes()
    }

    /// All that is known of the sensor `id`.
    pub(super) fn seen(&self, id: &SensorId) -> SensorSeen {
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

impl Shard {
    pub(super) fn sensor(
        &mut self,
        sensor: &SensorId,
        received_at: Micros,
        bytes: &AtomicUsize,
    ) -> &mut SensorHours {
        // As precise as every store keeps it: lists that are ordered by it have
        // one order, wherever it is known.
        let received_at = received_at.whole_millis();
        // `entry` would clone the id of every reading; most are known.
        if !self.sensors.contains_key(sensor) {
            bytes.fetch_add(SENSOR_BYTES, Relaxed);
            let hours = SensorHours {
                last_seen: received_at,
                last_seen_stored: false,
                labels: None,
                telling: Telling::default(),
                hours: BTreeMap::new(),
            };
            self.sensors.insert(sensor.clone(), hours);
        }
        let hours = self
            .sensors
            .get_mut(sensor)
            .expect("it was there or was just inserted");
        if hours.last_seen < received_at {
            hours.last_seen = received_at;
            hours.last_seen_stored = false;
        }
        hours
    }
}
