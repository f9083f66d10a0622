//! The cap on distinct sensors: refuses new ones, never a known one.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use ahash::RandomState;

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
    /// Those of `ids` that no durable batch has yet, with the bodies under way
    /// that brought them.
    unsettled: HashMap<u64, u32>,
    is_complete: bool,
}

/// The sensors that one body was the first to bring. Told to
/// [`SensorCap::settle`] or [`SensorCap::forget`] once its end is known; where
/// it never is (the client hung up while its batch was written), they stay.
#[derive(Debug, Default)]
pub struct Admission {
    ids: Vec<u64>,
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

    /// Whether readings of `sensor` may come in; a new one has its place
    /// afterwards, as long as `admission` is not forgotten.
    #[must_use]
    pub fn admit(&self, sensor: &SensorId, admission: &mut Admission) -> bool {
        let id = self.hasher.hash_one(sensor.as_str());
        let read = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if read.ids.contains(&id) && !read.unsettled.contains_key(&id) {
            return true;
        }
        drop(read);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        if known.ids.contains(&id) {
            if let Some(bodies) = known.unsettled.get_mut(&id) {
                *bodies += 1;
                admission.ids.push(id);
            }
            return true;
        }
        if known.is_complete && known.ids.len() >= self.sensors_max {
            return false;
        }
        known.ids.insert(id);
        known.unsettled.insert(id, 1);
        admission.ids.push(id);
        true
    }

    /// The body's batch is durable: its sensors are known from now on.
    pub fn settle(&self, admission: &Admission) {
        if admission.ids.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for id in &admission.ids {
            known.unsettled.remove(id);
        }
    }

    /// Nothing of the body was taken: what only it brought gives up its place.
    pub fn forget(&self, admission: &Admission) {
        if admission.ids.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for id in &admission.ids {
            // What is settled meanwhile, by another body, stays.
            let Some(bodies) = known.unsettled.get_mut(id) else {
                continue;
            };
            *bodies -= 1;
            if *bodies == 0 {
                known.unsettled.remove(id);
                known.ids.remove(id);
            }
        }
    }

    /// Notes sensors that were known before, whatever the cap.
    pub fn learn<'a>(&self, sensors: impl IntoIterator<Item = &'a SensorId>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for sensor in sensors {
            let id = self.hasher.hash_one(sensor.as_str());
            known.unsettled.remove(&id);
            known.ids.insert(id);
        }
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

    fn admit(cap: &SensorCap, id: &str) -> bool {
        let mut admission = Admission::default();
        let admitted = cap.admit(&sensor(id), &mut admission);
        cap.settle(&admission);
        admitted
    }

    #[test]
    fn new_sensors_are_refused_at_the_cap_and_known_ones_never() {
        let cap = SensorCap::new(2);
        cap.learn([&sensor("old")]);
        cap.all_known();
        assert!(admit(&cap, "a"));
        assert!(!admit(&cap, "b"));
        assert!(admit(&cap, "a") && admit(&cap, "old"));
        cap.learn([&sensor("b")]);
        assert!(admit(&cap, "b") && cap.is_reached());
    }

    #[test]
    fn nothing_is_refused_before_the_known_ones_are_learnt() {
        let cap = SensorCap::new(1);
        assert!(admit(&cap, "a") && admit(&cap, "b"));
        cap.all_known();
        assert!(!admit(&cap, "c"));
        assert!(admit(&cap, "b"));
        assert_eq!(cap.known(), 2);
    }

    #[test]
    fn what_only_refused_bodies_brought_gives_up_its_place() {
        let cap = SensorCap::new(2);
        cap.all_known();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Admission::default());
        assert!(cap.admit(&sensor("a"), &mut first) && cap.admit(&sensor("b"), &mut first));
        assert!(cap.admit(&sensor("a"), &mut second) && cap.admit(&sensor("b"), &mut third));
        cap.forget(&first);
        assert_eq!(cap.known(), 2);
        cap.settle(&second);
        cap.forget(&third);
        assert_eq!(cap.known(), 1);
        assert!(admit(&cap, "a") && admit(&cap, "c") && !admit(&cap, "b"));
    }

    #[test]
    fn a_sensor_that_another_body_made_durable_stays() {
        let cap = SensorCap::new(1);
        cap.all_known();
        let [mut first, mut second] = [(); 2].map(|()| Admission::default());
        assert!(cap.admit(&sensor("a"), &mut first) && cap.admit(&sensor("a"), &mut second));
        cap.settle(&second);
        cap.forget(&first);
        assert!(admit(&cap, "a") && !admit(&cap, "b"));
    }
}
