//! What a server must hold after a run: one bit per reading of the sampled
//! sensors, the rest computed from the fleet.

use std::collections::{BTreeMap, BTreeSet};

use crate::fleet::{Fleet, Reading};
use crate::plan::Plan;

/// Microseconds in an hour.
pub(crate) const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// What was sent of some sensors.
#[derive(Debug)]
pub struct Expected<'a> {
    /// The fleet it was sent by.
    pub fleet: &'a Fleet,
    sent: BTreeMap<u32, Vec<u64>>,
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
    /// After the first so many batches of the plan.
    #[must_use]
    pub fn new(fleet: &'a Fleet, sampled: &BTreeSet<u32>, batches: u64) -> Self {
        let words = usize::try_from(fleet.ticks() / 64 + 1).unwrap_or(0);
        let empty = |sensor: &u32| (*sensor, vec![0; words]);
        let mut sent: BTreeMap<u32, Vec<u64>> = sampled.iter().map(empty).collect();
        let batches = usize::try_from(batches).unwrap_or(usize::MAX);
        for reading in Plan::new(fleet).take(batches).flat_map(|b| b.readings) {
            let word = usize::try_from(reading.tick / 64).unwrap_or(usize::MAX);
            if let Some(bits) = sent.get_mut(&reading.sensor).and_then(|b| b.get_mut(word)) {
                *bits |= 1 << (reading.tick % 64);
            }
        }
        Self { fleet, sent }
    }

    /// The readings of a sensor in order of time.
    pub(crate) fn readings(&self, sensor: u32) -> impl Iterator<Item = Reading> {
        let words = self.sent.get(&sensor).map_or(&[][..], Vec::as_slice);
        (0u64..).zip(words).flat_map(move |(word, bits)| {
            (0..64)
                .filter(move |bit| bits & (1 << bit) != 0)
                .map(move |bit| Reading {
                    sensor,
                    tick: word * 64 + bit,
                })
        })
    }

    /// The hours of a sensor, by their start in microseconds since the epoch.
    pub(crate) fn hours(&self, sensor: u32) -> BTreeMap<i64, ExpectedHour> {
        let mut hours: BTreeMap<i64, ExpectedHour> = BTreeMap::new();
        for reading in self.readings(sensor) {
            let hour = hours
                .entry(hour_of(self.fleet.at(reading.tick)))
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

    /// The whole hours around the run: first hour inside, first hour outside.
    pub(crate) fn range(&self) -> (i64, i64) {
        let last = self.fleet.at(self.fleet.ticks() - 1);
        (hour_of(self.fleet.start), hour_of(last) + MICROS_PER_HOUR)
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
        let calm = Expected::new(&calm, &all, u64::MAX);
        let messy = Expected::new(&messy, &all, u64::MAX);
        for sensor in all {
            assert_eq!(calm.hours(sensor), messy.hours(sensor));
            assert_eq!(messy.readings(sensor).count(), 1000);
        }
    }

    #[test]
    fn a_run_that_ended_early_is_expected_to_that_batch() {
        let fleet = small();
        let expected = Expected::new(&fleet, &BTreeSet::from([0]), 3);
        let ticks: Vec<u64> = expected.readings(0).map(|reading| reading.tick).collect();
        assert_eq!(ticks, (0..10).collect::<Vec<u64>>());
    }
}
