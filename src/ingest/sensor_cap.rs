//! The cap on distinct sensors: refuses new ones, never a known one.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{PoisonError, RwLock};

use crate::model::SensorId;

/// The sensors that are known, as hashes of their ids: 16 bytes each, and in a
/// million sensors the chance that a new one passes for a known one is 1 in
/// 10^13 (keyed per process, so nobody can aim at it).
///
/// Until [`SensorCap::all_known`] was told, nothing is refused: the store may
/// be away, and what it knows must not be refused.
#[derive(Debug)]
pub struct SensorCap {
    hasher: RandomState,
    known: RwLock<Known>,
    sensors_max: usize,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashSet<u64>,
    is_complete: bool,
}

impl SensorCap {
    /// A cap of `sensors_max` sensors, none of which is known yet.
    #[must_use]
    pub fn new(sensors_max: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            known: RwLock::default(),
            sensors_max,
        }
    }

    /// Whether readings of `sensor` may come in; a new one is known afterwards.
    #[must_use]
    pub fn admit(&self, sensor: &SensorId) -> bool {
        let id = self.hasher.hash_one(sensor.as_str());
        let read = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if read.ids.contains(&id) {
            return true;
        }
        drop(read);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.is_complete && known.ids.len() >= self.sensors_max {
            return known.ids.contains(&id);
        }
        known.ids.insert(id);
        true
    }

    /// Notes sensors that were known before, whatever the cap.
    pub fn learn<'a>(&self, sensors: impl IntoIterator<Item = &'a SensorId>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let ids = sensors
            .into_iter()
            .map(|sensor| self.hasher.hash_one(sensor.as_str()));
        known.ids.extend(ids);
    }

    /// From now on the cap holds: all that were known before have been learnt.
    pub fn all_known(&self) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.is_complete = true;
    }

    /// Sensors known.
    #[must_use]
    pub fn known(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.ids.len()
    }

    /// The cap.
    #[must_use]
    pub fn sensors_max(&self) -> usize {
        self.sensors_max
    }

    /// Whether a new sensor would be refused.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.is_complete && known.ids.len() >= self.sensors_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sensor(id: &str) -> SensorId {
        SensorId::new(id).unwrap()
    }

    #[test]
    fn new_sensors_are_refused_at_the_cap_and_known_ones_never() {
        let cap = SensorCap::new(2);
        cap.learn([&sensor("old")]);
        cap.all_known();
        assert!(cap.admit(&sensor("a")));
        assert!(!cap.admit(&sensor("b")));
        assert!(cap.admit(&sensor("a")) && cap.admit(&sensor("old")));
        cap.learn([&sensor("b")]);
        assert!(cap.admit(&sensor("b")) && cap.is_reached());
    }

    #[test]
    fn nothing_is_refused_before_the_known_ones_are_learnt() {
        let cap = SensorCap::new(1);
        assert!(cap.admit(&sensor("a")) && cap.admit(&sensor("b")));
        cap.all_known();
        assert!(!cap.admit(&sensor("c")));
        assert!(cap.admit(&sensor("b")));
        assert_eq!(cap.known(), 2);
    }
}
