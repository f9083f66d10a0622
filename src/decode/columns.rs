//! A batch being filled: each sensor and measure is looked up, not repeated.

use std::collections::HashSet;
use std::sync::Arc;

use ahash::HashMap;

use crate::model::{Batch, MeasureName, MeasureNameError, Micros, Origin, SensorId, SensorIdError};

/// A measure of the reading at hand.
#[derive(Debug)]
pub(super) enum Measure {
    /// Index in the batch.
    Known(u32),
    /// Checked, and not in the batch yet.
    New(MeasureName),
}

/// A sensor of the reading at hand; see [`Measure`].
#[derive(Debug)]
pub(super) enum Sensor {
    Known(u32),
    New(SensorId),
}

/// Where the reading at hand came from; see [`Measure`].
#[derive(Debug)]
pub(super) enum From {
    Known(u32),
    New(Arc<Origin>),
}

/// The measures that a sensor has in a body. Few are compared one by one, which
/// is cheaper than a hash; many are hashed.
#[derive(Debug, Default)]
struct MeasureSet {
    few: Vec<u32>,
    many: HashSet<u32>,
}

impl MeasureSet {
    const FEW: usize = 8;

    fn contains(&self, measure: u32) -> bool {
        self.few.contains(&measure) || self.many.contains(&measure)
    }

    fn insert(&mut self, measure: u32) {
        if self.few.contains(&measure) {
            return;
        }
        if self.few.len() < Self::FEW {
            self.few.push(measure);
        } else {
            self.many.insert(measure);
        }
    }
}

/// Builds a batch. Only what belongs to an accepted reading enters its tables.
#[derive(Debug, Default)]
pub(super) struct Columns {
    batch: Batch,
    sensors: HashMap<SensorId, u32>,
    measures: HashMap<MeasureName, u32>,
    /// Of the reading before: neighbours mostly share sensor and measures, and
    /// comparing a name is cheaper than hashing it.
    last_sensor: Option<u32>,
    last_origin: Option<u32>,
    last_measures: Vec<u32>,
    /// Which sensor has which measures.
    measures_of: Vec<MeasureSet>,
}

impl Columns {
    /// Checks a sensor's id, unless it is known.
    pub(super) fn sensor(&self, id: &str) -> Result<Sensor, SensorIdError> {
        if let Some(last) = self.last_sensor
            && self.batch.sensors()[last as usize].as_str() == id
        {
            return Ok(Sensor::Known(last));
        }
        match self.sensors.get(id) {
            Some(known) => Ok(Sensor::Known(*known)),
            None => SensorId::new(id).map(Sensor::New),
        }
    }

    /// Checks the name of the measure at `position` of its reading, unless it
    /// is known.
    pub(super) fn measure(&self, position: usize, name: &str) -> Result<Measure, MeasureNameError> {
        if let Some(last) = self.last_measures.get(position)
            && self.batch.measures()[*last as usize].as_str() == name
        {
            return Ok(Measure::Known(*last));
        }
        match self.measures.get(name) {
            Some(known) => Ok(Measure::Known(*known)),
            None => MeasureName::new(name).map(Measure::New),
        }
    }

    /// Whether a reading has a measure that its sensor did not have yet.
    pub(super) fn is_new(&self, sensor: &Sensor, values: &[(Measure, f64)]) -> bool {
        let Sensor::Known(sensor) = sensor else {
            return true;
        };
        let known = &self.measures_of[*sensor as usize];
        values.iter().any(|(measure, _)| match measure {
            Measure::Known(measure) => !known.contains(*measure),
            Measure::New(_) => true,
        })
    }

    /// The id of a sensor.
    pub(super) fn id<'a>(&'a self, sensor: &'a Sensor) -> &'a SensorId {
        match sensor {
            Sensor::Known(index) => &self.batch.sensors()[*index as usize],
            Sensor::New(id) => id,
        }
    }

    /// The name of a measure.
    pub(super) fn name<'a>(&'a self, measure: &'a Measure) -> &'a MeasureName {
        match measure {
            Measure::Known(index) => &self.batch.measures()[*index as usize],
            Measure::New(name) => name,
        }
    }

    /// Appends a reading whose measures are all different.
    pub(super) fn push(
        &mut self,
        sensor: Sensor,
        at: Micros,
        origin: Option<From>,
        values: impl Iterator<Item = (Measure, f64)>,
    ) {
        self.last_measures.clear();
        for (measure, value) in values {
            let measure = match measure {
                Measure::Known(index) => index,
                Measure::New(name) => {
                    let index = self.batch.add_measure(name.clone());
                    self.measures.insert(name, index);
                    index
                }
            };
            self.last_measures.push(measure);
            self.batch.push_value(measure, value);
        }
        let sensor = match sensor {
            Sensor::Known(index) => index,
            Sensor::New(id) => {
                let index = self.batch.add_sensor(id.clone());
                self.sensors.insert(id, index);
                self.measures_of.push(MeasureSet::default());
                index
            }
        };
        self.last_sensor = Some(sensor);
        let known = &mut self.measures_of[sensor as usize];
        for measure in &self.last_measures {
            known.insert(*measure);
        }
        let origin = origin.map(|origin| match origin {
            From::Known(index) => index,
            From::New(origin) => self.batch.add_origin(origin),
        });
        self.last_origin = origin;
        self.batch.finish_reading_from(sensor, at, origin);
    }

    /// Sensor and origin of the reading pushed last.
    pub(super) fn last(&self) -> Option<(u32, Option<u32>)> {
        self.last_sensor.map(|sensor| (sensor, self.last_origin))
    }

    pub(super) fn finish(self) -> Batch {
        self.batch
    }
}
