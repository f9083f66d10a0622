//! The cap on distinct measures of a sensor: without one, a device that writes
//! its values into the names would fill documents, memory and every answer.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use ahash::RandomState;

use crate::model::{MeasureName, SensorId};

/// The measures that each sensor sent since the start of the process, as hashes
/// of their names: 8 bytes each, and about 50 a sensor.
///
/// What was sent before the start is not known, so a sensor may have up to
/// twice as many over a restart. Bodies that arrive at the same time may exceed
/// the cap together.
#[derive(Debug)]
pub struct MeasureCap {
    hasher: RandomState,
    known: RwLock<HashMap<u64, Vec<u64>>>,
    measures_max: usize,
}

/// The measures that are new with one body. Told to [`MeasureCap::settle`] once
/// its batch is durable, else dropped.
#[derive(Debug, Default)]
pub struct NewMeasures {
    by_sensor: HashMap<u64, HashSet<u64>>,
}

impl MeasureCap {
    /// A cap of `measures_max` for each sensor.
    #[must_use]
    pub fn new(measures_max: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            known: RwLock::default(),
            measures_max,
        }
    }

    /// Whether `measures` of one reading of `sensor` may come in, all or none;
    /// what is new is noted in `new`. If not, the first that is one too many.
    ///
    /// # Errors
    /// The position of that measure.
    pub fn admit<'m>(
        &self,
        sensor: &SensorId,
        measures: impl Iterator<Item = &'m MeasureName>,
        new: &mut NewMeasures,
    ) -> Result<(), usize> {
        let sensor = self.hasher.hash_one(sensor.as_str());
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&sensor).map_or(&[][..], Vec::as_slice);
        let of_body = new.by_sensor.get(&sensor);
        let mut fresh = Vec::new();
        let taken = known.len() + of_body.map_or(0, HashSet::len);
        for (position, measure) in measures.enumerate() {
            let id = self.hasher.hash_one(measure.as_str());
            let is_known = known.binary_search(&id).is_ok();
            if is_known || of_body.is_some_and(|ids| ids.contains(&id)) {
                continue;
            }
            if taken + fresh.len() >= self.measures_max {
                return Err(position);
            }
            fresh.push(id);
        }
        if !fresh.is_empty() {
            new.by_sensor.entry(sensor).or_default().extend(fresh);
        }
        Ok(())
    }

    /// The body's batch is durable: its measures are known from now on.
    pub fn settle(&self, new: NewMeasures) {
        if new.by_sensor.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for (sensor, ids) in new.by_sensor {
            let known = known.entry(sensor).or_default();
            for id in ids {
                if let Err(place) = known.binary_search(&id) {
                    known.insert(place, id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<MeasureName> {
        let name = |text: &&str| MeasureName::new(text).unwrap();
        names.iter().map(name).collect()
    }

    #[test]
    fn new_measures_beyond_the_cap_are_refused_and_known_ones_are_not() {
        let cap = MeasureCap::new(3);
        let sensor = SensorId::new("S1").unwrap();
        let mut new = NewMeasures::default();
        let mut admit = |measures: &[&str]| {
            let measures = names(measures);
            cap.admit(&sensor, measures.iter(), &mut new)
        };
        assert_eq!(admit(&["a", "b"]), Ok(()));
        assert_eq!(admit(&["a", "c", "d"]), Err(2), "all or none");
        assert_eq!(admit(&["d"]), Ok(()));
        assert_eq!(admit(&["c"]), Err(0));
        cap.settle(new);
        let mut new = NewMeasures::default();
        let known = names(&["a", "b", "d"]);
        assert_eq!(cap.admit(&sensor, known.iter(), &mut new), Ok(()));
        let other = SensorId::new("S2").unwrap();
        assert_eq!(cap.admit(&other, names(&["c"]).iter(), &mut new), Ok(()));
        assert_eq!(cap.admit(&sensor, names(&["c"]).iter(), &mut new), Err(0));
    }

    #[test]
    fn a_body_that_was_refused_leaves_nothing() {
        let cap = MeasureCap::new(1);
        let sensor = SensorId::new("S1").unwrap();
        let refused = &mut NewMeasures::default();
        assert_eq!(cap.admit(&sensor, names(&["a"]).iter(), refused), Ok(()));
        let next = &mut NewMeasures::default();
        assert_eq!(cap.admit(&sensor, names(&["b"]).iter(), next), Ok(()));
    }
}
