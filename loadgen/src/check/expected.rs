//! What a server must hold after a run, and what it may: bits per reading of the
//! sampled sensors, the rest computed from the fleet.

use std::collections::{BTreeMap, BTreeSet};

use super::bits::Bits;
use crate::fleet::{Fleet, Reading};
use crate::plan::Plan;

/// Microseconds in an hour.
pub(crate) const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// What was sent of some sensors.
#[derive(Debug)]
pub struct Expected<'a> {
    /// The fleet it was sent by.
    pub fleet: &'a Fleet,
    sensors: BTreeMap<u32, Sensor>,
}

#[derive(Debug)]
struct Sensor {
    /// What must be there.
    sent: Bits,
    /// What may be there: it was sent and not acknowledged. None of `sent`.
    unsure: Bits,
    /// What of it is there.
    found: Bits,
}

/// What must be answered for one measure of an hour, exact in tenths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) sum: i64,
    pub(crate) magnitude: i64,
    pub(crate) min: i64,
    pub(crate) max: i64,
}

/// What must be answered for an hour.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ExpectedHour {
    pub(crate) count: u64,
    /// In the order of the fleet's measures.
    pub(crate) measures: Vec<Exact>,
}

impl<'a> Expected<'a> {
    /// After the first so many batches of the plan, of which those with the numbers
    /// given (from 0) were not acknowledged.
    #[must_use]
    pub fn new(
        fleet: &'a Fleet,
        sampled: &BTreeSet<u32>,
        batches: u64,
        unacknowledged: &BTreeSet<u64>,
    ) -> Self {
        let empty = || Bits::below(fleet.ticks());
        let sensor = |sensor: &u32| {
            let [sent, unsure, found] = [empty(), empty(), empty()];
            let of_it = Sensor {
                sent,
                unsure,
                found,
            };
            (*sensor, of_it)
        };
        let mut sensors: BTreeMap<u32, Sensor> = sampled.iter().map(sensor).collect();
        for (number, batch) in (0..batches).zip(Plan::new(fleet)) {
            let unsure = unacknowledged.contains(&number);
            for reading in batch.readings {
                if let Some(sensor) = sensors.get_mut(&reading.sensor) {
                    let bits = match unsure {
                        true => &mut sensor.unsure,
                        false => &mut sensor.sent,
                    };
                    bits.insert(reading.tick);
                }
            }
        }
        // Acknowledged once is acknowledged: a copy that was not takes nothing away.
        for sensor in sensors.values_mut() {
            sensor.unsure.remove_all(&sensor.sent);
        }
        Self { fleet, sensors }
    }

    /// How many readings of a sensor may be there or not.
    pub(crate) fn unsure(&self, sensor: u32) -> u64 {
        self.sensors.get(&sensor).map_or(0, |s| s.unsure.count())
    }

    /// The readings of a sensor that must or may be there, in order of time; whether
    /// each must.
    pub(crate) fn candidates(&self, sensor: u32) -> impl Iterator<Item = (Reading, bool)> {
        let of_it = self.sensors.get(&sensor).into_iter();
        of_it.flat_map(move |of_it| {
            let ticks = of_it.sent.union(&of_it.unsure);
            ticks.map(move |tick| (Reading { sensor, tick }, of_it.sent.contains(tick)))
        })
    }

    /// Of what may be there exactly this is.
    pub(crate) fn settle(&mut self, sensor: u32, found: &[Reading]) {
        if let Some(of_it) = self.sensors.get_mut(&sensor) {
            of_it.found.clear();
            for reading in found {
                of_it.found.insert(reading.tick);
            }
        }
    }

    /// The readings of a sensor that must be there, with what was found of the
    /// others, in order of time.
    pub(crate) fn readings(&self, sensor: u32) -> impl Iterator<Item = Reading> {
        let of_it = self.sensors.get(&sensor).into_iter();
        of_it
            .flat_map(|of_it| of_it.sent.union(&of_it.found))
            .map(move |tick| Reading { sensor, tick })
    }

    /// The hours of a sensor, by their start in microseconds since the epoch.
    pub(crate) fn hours(&self, sensor: u32) -> BTreeMap<i64, ExpectedHour> {
        let mut hours: BTreeMap<i64, ExpectedHour> = BTreeMap::new();
        for reading in self.readings(sensor) {
            let hour = hours
                .entry(hour_of(self.fleet.instant(reading)))
                .or_default();
            hour.count += 1;
            for measure in 0..self.fleet.measures.len() {
                let tenths = self.fleet.tenths(reading, measure);
                match hour.measures.get_mut(measure) {
                    Some(exact) => exact.add(tenths),
                    None => hour.measures.push(Exact::of(tenths)),
                }
            }
        }
        hours
    }

    /// The whole hours around a sensor's readings: first hour inside, first hour
    /// outside.
    pub(crate) fn range(&self, sensor: u32) -> (i64, i64) {
        let at = |tick| self.fleet.instant(Reading { sensor, tick });
        let (first, last) = (at(0), at(self.fleet.ticks() - 1));
        (hour_of(first), hour_of(last) + MICROS_PER_HOUR)
    }
}

impl Exact {
    fn of(tenths: i64) -> Self {
        Self {
            sum: tenths,
            magnitude: tenths.abs(),
            min: tenths,
            max: tenths,
        }
    }

    fn add(&mut self, tenths: i64) {
        self.sum += tenths;
        self.magnitude += tenths.abs();
        self.min = self.min.min(tenths);
        self.max = self.max.max(tenths);
    }
}

fn hour_of(micros: i64) -> i64 {
    micros.div_euclid(MICROS_PER_HOUR) * MICROS_PER_HOUR
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::small;

    #[test]
    fn late_and_doubled_batches_leave_the_same_hours() {
        let (calm, all) = (small(), BTreeSet::from([0, 1, 2]));
        let messy = Fleet {
            late: 0.1,
            duplicates: 0.3,
            ..small()
        };
        let calm = Expected::new(&calm, &all, u64::MAX, &BTreeSet::new());
        let messy = Expected::new(&messy, &all, u64::MAX, &BTreeSet::new());
        for sensor in all {
            assert_eq!(calm.hours(sensor), messy.hours(sensor));
            assert_eq!(messy.readings(sensor).count(), 1000);
        }
    }

    #[test]
    fn a_run_that_ended_early_is_expected_to_that_batch() {
        let fleet = small();
        let expected = Expected::new(&fleet, &BTreeSet::from([0]), 3, &BTreeSet::new());
        let ticks: Vec<u64> = expected.readings(0).map(|reading| reading.tick).collect();
        assert_eq!(ticks, (0..10).collect::<Vec<u64>>());
    }

    #[test]
    fn what_was_not_acknowledged_may_be_there() {
        let fleet = small();
        let unacknowledged = BTreeSet::from([1]);
        let mut expected = Expected::new(&fleet, &BTreeSet::from([0]), 3, &unacknowledged);
        // Places 10 to 19 of three sensors in turn.
        let unsure: Vec<u64> = expected
            .candidates(0)
            .filter_map(|(reading, must)| (!must).then_some(reading.tick))
            .collect();
        assert_eq!((unsure, expected.unsure(0)), (vec![4, 5, 6], 3));
        let ticks = |expected: &Expected<'_>| -> Vec<u64> {
            expected.readings(0).map(|reading| reading.tick).collect()
        };
        assert_eq!(ticks(&expected), [0, 1, 2, 3, 7, 8, 9]);
        expected.settle(0, &[Reading { sensor: 0, tick: 5 }]);
        assert_eq!(ticks(&expected), [0, 1, 2, 3, 5, 7, 8, 9]);
        assert_eq!(
            expected
                .hours(0)
                .values()
                .map(|hour| hour.count)
                .sum::<u64>(),
            8
        );
    }

    #[test]
    fn a_copy_that_was_not_acknowledged_takes_nothing_away() {
        let fleet = Fleet {
            duplicates: 1.0,
            ..small()
        };
        // Every batch is sent again, eight batches later.
        let unacknowledged = (0..8).collect();
        let all = BTreeSet::from([0, 1, 2]);
        let expected = Expected::new(&fleet, &all, u64::MAX, &unacknowledged);
        for sensor in all {
            assert_eq!(expected.unsure(sensor), 0);
            assert_eq!(expected.readings(sensor).count(), 1000);
        }
    }
}
