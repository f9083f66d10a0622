//! Many readings as columns: what a decoder yields and the journal holds.

use std::borrow::Cow;
use std::sync::Arc;

use super::{MeasureName, Micros, Origin, SensorId};

/// Readings in order of arrival, as columns. Sensors and measures are interned
/// once per batch; a reading costs no heap object of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    sensors: Vec<SensorId>,
    measures: Vec<MeasureName>,
    sensor_of: Vec<u32>,
    at: Vec<i64>,
    /// End of each reading's values in `measure_of` and `values`.
    ends: Vec<u32>,
    measure_of: Vec<u32>,
    values: Vec<f64>,
    origins: Vec<Arc<Origin>>,
    /// One more than the index of each reading's origin, 0 for none; empty as
    /// long as no reading has one.
    origin_of: Vec<u32>,
}

/// One reading of a batch.
#[derive(Debug, Clone, Copy)]
pub struct ReadingRef<'a> {
    batch: &'a Batch,
    row: usize,
}

impl Batch {
    /// Adds a sensor to the table of the batch; the caller interns.
    pub fn add_sensor(&mut self, id: SensorId) -> u32 {
        self.sensors.push(id);
        u32::try_from(self.sensors.len() - 1).expect("a body of 32 MiB names fewer than 2^32 ids")
    }

    /// Adds a measure to the table of the batch; the caller interns.
    pub fn add_measure(&mut self, name: MeasureName) -> u32 {
        self.measures.push(name);
        u32::try_from(self.measures.len() - 1)
            .expect("a body of 32 MiB names fewer than 2^32 measures")
    }

    /// Adds an origin to the table of the batch; the caller interns.
    pub fn add_origin(&mut self, origin: Arc<Origin>) -> u32 {
        self.origins.push(origin);
        u32::try_from(self.origins.len() - 1)
            .expect("a body of 32 MiB names fewer than 2^32 origins")
    }

    /// Appends one value of the reading that [`Batch::finish_reading`] ends.
    pub fn push_value(&mut self, measure: u32, value: f64) {
        debug_assert!((measure as usize) < self.measures.len());
        self.measure_of.push(measure);
        self.values.push(value);
    }

    /// Values pushed since the last reading ended.
    #[must_use]
    pub fn open_values(&self) -> usize {
        self.values.len() - self.ends.last().map_or(0, |end| *end as usize)
    }

    /// Ends a reading without an origin: the values pushed since the last one
    /// are its measures.
    pub fn finish_reading(&mut self, sensor: u32, at: Micros) {
        self.finish_reading_from(sensor, at, None);
    }

    /// Ends a reading that came under `origin`, an index of [`Batch::origins`].
    pub fn finish_reading_from(&mut self, sensor: u32, at: Micros, origin: Option<u32>) {
        debug_assert!((sensor as usize) < self.sensors.len());
        if let Some(origin) = origin {
            debug_assert!((origin as usize) < self.origins.len());
            self.origin_of.resize(self.at.len(), 0);
            self.origin_of.push(origin + 1);
        } else if !self.origin_of.is_empty() {
            self.origin_of.push(0);
        }
        self.sensor_of.push(sensor);
        self.at.push(at.get());
        self.ends
            .push(u32::try_from(self.values.len()).expect("a batch has fewer than 2^32 values"));
    }

    /// Forgets the values pushed since the last reading ended.
    pub fn abandon_reading(&mut self) {
        let end = self.ends.last().map_or(0, |end| *end as usize);
        self.measure_of.truncate(end);
        self.values.truncate(end);
    }

    /// The batch without the readings that `keep` is false for: itself where it
    /// keeps all.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(ReadingRef<'_>) -> bool) -> Cow<'_, Self> {
        if self.readings().all(&keep) {
            return Cow::Borrowed(self);
        }
        let mut kept = Self {
            sensors: self.sensors.clone(),
            measures: self.measures.clone(),
            origins: self.origins.clone(),
            ..Self::default()
        };
        for reading in self.readings().filter(|reading| keep(*reading)) {
            for (measure, value) in reading.indexed_values() {
                kept.push_value(measure, value);
            }
            let (sensor, origin) = (reading.sensor_index(), reading.origin_index());
            kept.finish_reading_from(sensor, reading.at(), origin);
        }
        Cow::Owned(kept)
    }

    /// Number of readings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether there is no reading.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Number of values over all readings.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// Bytes the batch takes in memory, near enough to bound queues by.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts: usize = self.sensors.iter().map(|s| s.as_str().len() + 32).sum();
        let names: usize = self.measures.iter().map(|m| m.as_str().len() + 32).sum();
        let origins: usize = self.origins.iter().map(|o| o.bytes() + 64).sum();
        texts
            + names
            + origins
            + self.at.len() * 16
            + self.values.len() * 12
            + self.origin_of.len() * 4
    }

    /// The interned sensors.
    #[must_use]
    pub fn sensors(&self) -> &[SensorId] {
        &self.sensors
    }

    /// The interned measures.
    #[must_use]
    pub fn measures(&self) -> &[MeasureName] {
        &self.measures
    }

    /// The interned origins.
    #[must_use]
    pub fn origins(&self) -> &[Arc<Origin>] {
        &self.origins
    }

    /// The readings in order of arrival.
    pub fn readings(&self) -> impl ExactSizeIterator<Item = ReadingRef<'_>> {
        (0..self.at.len()).map(|row| ReadingRef { batch: self, row })
    }

    /// The readings sensor by sensor, those of one sensor in order of arrival.
    pub fn readings_by_sensor(&self) -> impl ExactSizeIterator<Item = ReadingRef<'_>> {
        // Counted, then placed: a stable sort in linear time.
        let mut place_of = vec![0usize; self.sensors.len() + 1];
        for sensor in &self.sensor_of {
            place_of[*sensor as usize + 1] += 1;
        }
        for sensor in 1..place_of.len() {
            place_of[sensor] += place_of[sensor - 1];
        }
        let mut rows = vec![0usize; self.at.len()];
        for (row, sensor) in self.sensor_of.iter().enumerate() {
            let place = &mut place_of[*sensor as usize];
            rows[*place] = row;
            *place += 1;
        }
        rows.into_iter().map(|row| ReadingRef { batch: self, row })
    }
}

impl<'a> ReadingRef<'a> {
    /// Index of its sensor in [`Batch::sensors`].
    #[must_use]
    pub fn sensor_index(self) -> u32 {
        self.batch.sensor_of[self.row]
    }

    /// Its sensor.
    #[must_use]
    pub fn sensor(self) -> &'a SensorId {
        &self.batch.sensors[self.sensor_index() as usize]
    }

    /// Its instant.
    #[must_use]
    pub fn at(self) -> Micros {
        Micros::new(self.batch.at[self.row]).expect("only checked instants enter a batch")
    }

    /// Index of its origin in [`Batch::origins`], where it has one.
    #[must_use]
    pub fn origin_index(self) -> Option<u32> {
        let index = self.batch.origin_of.get(self.row).copied().unwrap_or(0);
        index.checked_sub(1)
    }

    /// Its origin, where its protocol has one.
    #[must_use]
    pub fn origin(self) -> Option<&'a Arc<Origin>> {
        self.origin_index()
            .map(|index| &self.batch.origins[index as usize])
    }

    /// Its values, with the index of each measure in [`Batch::measures`].
    pub fn indexed_values(self) -> impl ExactSizeIterator<Item = (u32, f64)> + 'a {
        let start = match self.row {
            0 => 0,
            row => self.batch.ends[row - 1] as usize,
        };
        let end = self.batch.ends[self.row] as usize;
        let measures = &self.batch.measure_of[start..end];
        measures
            .iter()
            .copied()
            .zip(self.batch.values[start..end].iter().copied())
    }

    /// Its values by measure.
    pub fn values(self) -> impl ExactSizeIterator<Item = (&'a MeasureName, f64)> {
        let batch = self.batch;
        self.indexed_values()
            .map(move |(measure, value)| (&batch.measures[measure as usize], value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_come_out_in_order_with_their_values() {
        let mut batch = Batch::default();
        let sensor = batch.add_sensor(SensorId::new("S1").unwrap());
        let temp = batch.add_measure(MeasureName::new("temp").unwrap());
        let humidity = batch.add_measure(MeasureName::new("humidity").unwrap());
        batch.push_value(temp, 1.0);
        batch.push_value(humidity, 2.0);
        batch.finish_reading(sensor, Micros::new(7).unwrap());
        batch.push_value(temp, 9.0);
        batch.abandon_reading();
        batch.push_value(temp, 3.0);
        assert_eq!(batch.open_values(), 1);
        batch.finish_reading(sensor, Micros::new(5).unwrap());

        let read: Vec<_> = batch
            .readings()
            .map(|r| {
                let values: Vec<_> = r.values().map(|(m, v)| (m.as_str(), v)).collect();
                (r.sensor().as_str(), r.at().get(), values)
            })
            .collect();
        assert_eq!(
            read,
            [
                ("S1", 7, vec![("temp", 1.0), ("humidity", 2.0)]),
                ("S1", 5, vec![("temp", 3.0)]),
            ]
        );
        assert_eq!((batch.len(), batch.value_count()), (2, 3));

        let other = batch.add_sensor(SensorId::new("S2").unwrap());
        batch.push_value(temp, 4.0);
        batch.finish_reading(other, Micros::new(6).unwrap());
        batch.push_value(temp, 5.0);
        batch.finish_reading(sensor, Micros::new(4).unwrap());
        let at = |r: ReadingRef<'_>| r.at().get();
        assert_eq!(
            batch.readings_by_sensor().map(at).collect::<Vec<_>>(),
            [7, 5, 4, 6]
        );
        assert_eq!(batch.readings().map(at).collect::<Vec<_>>(), [7, 5, 6, 4]);

        assert!(matches!(batch.filtered(|_| true), Cow::Borrowed(_)));
        let late = batch.filtered(|reading| reading.at().get() > 5);
        assert_eq!((late.len(), late.value_count()), (2, 3));
        assert_eq!(late.readings().next().unwrap().at().get(), 7);
    }
}
